#!/bin/sh
# layering.sh ROOT: an include points down, never up or sideways; a vendor's
# header is included by one module.
set -eu
cd "$1"

# The header, and the files that may include it. Other folders (handlers,
# examples, tests, bench) may include what they like.
vendors='
librdkafka/*	consumer/kafka/* consumer/embedded/broker.c consumer/demo/traffic.c
libpq-fe.h	lib/src/pg* consumer/embedded/database.c
yaml.h		consumer/*yaml_tree.c
microhttpd.h	consumer/*admin*.c
dlfcn.h		consumer/*plugin.c
xxhash.h	lib/src/hash.c
hiredis/*	lib/src/redis_answers.c
curl/*		consumer/client/client.c
jansson.h	consumer/client/* consumer/admin/status_page.c
openssl/*	lib/src/key_template.c lib/src/schema.c'

# Folder of consumer/, and the other ones it may look into. main.c may look into
# commands.
folders='
post
config
numbers
admin
kafka		config numbers post
lanes		config numbers post
embedded	config
run		admin config kafka lanes numbers post upkeep
demo		config embedded
client		config
keys		config
upkeep		config numbers
commands	admin client config demo embedded kafka keys lanes numbers post run
main.c		commands'

# "file header" for each include below lib/ and consumer/.
includes() {
	find lib consumer -name '*.[ch]' -exec \
		grep -HE '^[[:space:]]*#[[:space:]]*include' {} + |
		sed -E 's/^([^:]*):[^<"]*[<"]([^>"]*)[>"].*/\1 \2/' | sort -u
}

headers_of() {
	find "$1" -name '*.h' -exec basename {} ';' | sort -u | tr '\n' ' '
}

# Names alone say where a header is: no two layers have the same.
base=$(headers_of lib/base)
library=$(headers_of lib/src)
daemon=$(headers_of consumer)

# "header folder" for each header of the daemon.
places=$(find consumer config -name '*.[ht]*' |
	sed -E 's#(.*/)?([^/]+)/([^/]+)$#\3 \2#' | tr '\n' ';')

includes | awk -v folders="$folders" -v places="$places" -v vendors="$vendors" -v base="$base" -v library="$library" \
	-v daemon="$daemon" '
	# A pattern with * as a regular expression.
	function expression(pattern) {
		gsub(/\./, "[.]", pattern)
		gsub(/\*/, ".*", pattern)
		return "^" pattern "$"
	}
	function put(names, layer,    count, i, list) {
		count = split(names, list, " ")
		for (i = 1; i <= count; i++) {
			if (list[i] in layer_of)
				fault(list[i] ": a header of that name is in " \
					layer_of[list[i]] " and in " layer)
			layer_of[list[i]] = layer
		}
	}
	function fault(text) {
		print text
		faults++
	}
	function check_vendor(file, header,    i, j, count, field, is_good) {
		for (i = 1; i <= vendor_count; i++) {
			count = split(vendor[i], field, /[ \t]+/)
			if (header !~ expression(field[1]))
				continue
			is_good = 0
			for (j = 2; j <= count; j++)
				is_good += file ~ expression(field[j])
			if (!is_good)
				fault(file ": includes <" header \
					">, which is for " field[2])
		}
	}
	function check_layer(file, header, own,    name, other) {
		name = header
		sub(/.*\//, "", name)
		if (header ~ /^once\//) {
			if (own == "base" && header != "once/types.h")
				fault(file ": includes <" header ">; " \
					"base knows only <once/types.h>")
			return
		}
		other = layer_of[name]
		if (own == "consumer" && other == "consumer")
			check_folder(file, name)
		if (other == "" || other == own || other == "base")
			return
		fault(file ": includes \"" header "\" of " other)
	}
	function check_folder(file, name,    own) {
		own = file
		sub(/^consumer\//, "", own)
		sub(/\/.*/, "", own)
		if (own == place_of[name] || (own, place_of[name]) in may)
			return
		fault(file ": includes \"" name "\" of " place_of[name])
	}
	function read_folders(    i, j, count, lines, field, n) {
		count = split(substr(folders, 2), lines, "\n")
		for (i = 1; i <= count; i++) {
			n = split(lines[i], field, /[ \t]+/)
			for (j = 2; j <= n; j++)
				may[field[1], field[j]] = 1
		}
		count = split(places, lines, ";")
		for (i = 1; i <= count; i++)
			if (split(lines[i], field, " ") == 2)
				place_of[field[1]] = field[2]
	}
	BEGIN {
		read_folders()
		vendor_count = split(substr(vendors, 2), vendor, "\n")
		put(base, "base")
		put(library, "lib")
		put(daemon, "consumer")
	}
	{
		check_vendor($1, $2)
		check_layer($1, $2, $1 ~ /^lib\/base/ ? "base" : \
			$1 ~ /^lib/ ? "lib" : "consumer")
		seen++
	}
	END { exit faults > 0 || seen == 0 }'
