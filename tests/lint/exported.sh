#!/bin/sh
# exported.sh HEADERS LIBRARY: the library exports the functions that its public
# headers declare with ONCE_API, and nothing else.
set -eu
headers=$1
library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Without comments and preprocessor lines, one declaration a line; the name is
# what stands before the first parenthesis. (once_handler is a variable that
# handlers define.)
cat "$headers"/*.h | sed -e '/^[[:space:]]*#/d' -e '/\\$/d' |
	tr '\n\t' '  ' | sed -E 's:/\*([^*]|\*+[^*/])*\*+/: :g' | tr ';' '\n' |
	sed -nE 's/.*ONCE_API +([^(]*[ *])?([a-z0-9_]+) *\(.*/\2/p' |
	sort -u >"$work/declared"
nm -D --defined-only "$library" | awk '{ print $3 }' | sed 's/@.*//' |
	sort -u >"$work/exported"

if [ ! -s "$work/declared" ]; then
	echo "no declaration found in $headers"
	exit 1
fi
if ! diff "$work/declared" "$work/exported"; then
	echo "< declared in a public header, > exported by libonce.so"
	exit 1
fi
