#!/bin/sh
# headers.sh INCLUDE_DIR CC CXX: each public header compiles alone, as C99 and
# as C++, with all warnings.
set -eu
include=$1
cc=$2
cxx=$3

warnings="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$include"
for header in "$include"/once/*.h; do
	name=once/${header##*/}
	# shellcheck disable=SC2086 # a list of options
	echo "#include <$name>" |
		"$cc" -std=c99 -Wstrict-prototypes $warnings -x c -
	# shellcheck disable=SC2086
	echo "#include <$name>" |
		"$cxx" -std=c++11 $warnings -x c++ -
	echo "$name: good"
done
