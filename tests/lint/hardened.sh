#!/bin/sh
# hardened.sh SOURCE GENERATOR CC ONCED: what `make build` makes has the
# protections of cmake/hardening.cmake: the library and the handlers, built here;
# and onced of this build, but for what needs an optimizer.
set -eu
source=$1
generator=$2
cc=$3
program=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

if ! {
	cmake -S "$source" -B "$work" -G "$generator" \
		-DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Release \
		-DBUILD_TESTING=OFF &&
		cmake --build "$work" --target once refund
} >"$work/log" 2>&1; then
	cat "$work/log"
	exit 1
fi

failed=0
# want FILE WHAT PATTERN COMMAND…: the pattern is in what the command says.
want() {
	file=$1
	what=$2
	pattern=$3
	shift 3
	# Not grep -q: it would end before the command has said all.
	if ! "$@" "$file" | grep -E "$pattern" >"$work/found"; then
		echo "${file##*/}: no $what"
		failed=1
	fi
}

library=$work/lib/libonce.so
handler=$work/handlers/refund.so
for file in "$library" "$program" "$handler"; do
	want "$file" "stack protector" '__stack_chk_fail' \
		readelf -W --dyn-syms
	want "$file" "read-only relocations" 'GNU_RELRO' readelf -Wl
	want "$file" "binding of all symbols at the start" \
		'BIND_NOW|FLAGS_1.*NOW' readelf -Wd
	want "$file" "position independence" 'Type: +DYN' readelf -Wh
	want "$file" "stack without code" 'GNU_STACK.* RW +0x' readelf -Wl
done
# The start files that each program begins with have some of their own.
if [ "$(uname -m)" = x86_64 ]; then
	want "$library" "landing pad (CET)" endbr64 \
		objdump -d --disassemble=once_version
	want "$program" "landing pad (CET)" endbr64 \
		objdump -d --disassemble=main
fi
# The handler calls nothing that could be checked.
want "$library" "_FORTIFY_SOURCE" '__[a-z]+(printf|cpy|cat|read)_chk' \
	readelf -W --dyn-syms
exit "$failed"
