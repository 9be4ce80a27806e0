#!/bin/sh
# layering.sh ROOT: an include points down, never up or sideways; a vendor's
# header is included by one module.
set -eu
cd "$1"

faults=0
fault() {
	echo "$1"
	faults=$((faults + 1))
}

# vendor header (a pattern), then the files that may include it. Other folders
# (handlers, examples, tests, bench) may include what they like.
vendors() {
	cat <<-'END'
	librdkafka/*   consumer/source*.[ch] consumer/kafka*.[ch] consumer/embedded*.[ch]
	libpq-fe.h     lib/src/pg*.[ch]
	yaml.h         consumer/yaml_tree.c
	microhttpd.h   consumer/admin*.c
	dlfcn.h        consumer/plugin.c
	xxhash.h       lib/src/hash.c
	openssl/*      lib/src/hash.c
	END
}

# "file header" for each include of the files given.
includes_of() {
	grep -HE '^[[:space:]]*#[[:space:]]*include' "$@" /dev/null |
		sed -E 's/^([^:]*):[^<"]*[<"]([^>"]*)[>"].*/\1 \2/'
}

# Does $1 match one of the patterns that follow?
matches() {
	matched=$1
	shift
	for pattern in "$@"; do
		# shellcheck disable=SC2254 # a pattern is meant
		case $matched in
		$pattern) return 0 ;;
		esac
	done
	return 1
}

check_vendor() {
	set -f
	vendors | while read -r vendor allowed; do
		# shellcheck disable=SC2254,SC2086 # patterns are meant
		case $2 in
		$vendor) matches "$1" $allowed || echo "$allowed" ;;
		esac
	done
	set +f
}

# Which layer has a header: "base", "lib", "consumer", or nothing: a system's or
# a vendor's. A name may be in one layer only, so that it says where it is.
layer_of() {
	case $1 in
	once/*) echo public ;;
	*/*) ;;
	*)
		if [ -e "lib/base/$1" ]; then echo base; fi
		if [ -e "lib/src/$1" ]; then echo lib; fi
		if [ -e "consumer/$1" ]; then echo consumer; fi
		;;
	esac
}

check_layer() {
	case $1:$(layer_of "$2") in
	lib/base/*:lib | lib/base/*:consumer | lib/src/*:consumer | \
		consumer/*:lib)
		fault "$1: includes <$2> of another layer"
		;;
	lib/base/*:public)
		[ "$2" = once/types.h ] ||
			fault "$1: includes <$2>; base knows only once/types.h"
		;;
	esac
}

same_names() {
	find lib/base lib/src consumer -name '*.h' -exec basename {} ';' |
		sort | uniq -d
}

sources=$(find lib consumer -name '*.[ch]' | sort)
# shellcheck disable=SC2086 # a list of files
includes=$(includes_of $sources)
while read -r file header; do
	allowed=$(check_vendor "$file" "$header")
	[ -z "$allowed" ] ||
		fault "$file: includes <$header>, which is for $allowed"
	check_layer "$file" "$header"
done <<END
$includes
END
for name in $(same_names); do
	fault "$name: two layers have a header of that name"
done
[ "$faults" = 0 ]
