#!/bin/sh
# install.sh BUILD PREFIX LIBDIR CC: install below a temporary root and build a
# handler outside the tree: once with pkg-config alone, once with CMake.
set -eu
build=$1
prefix=$2
libdir=$3
cc=$4
here=$(cd "$(dirname "$0")" && pwd)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
trap 'exit 130' INT TERM

DESTDIR=$root/root cmake --install "$build" >"$root/install.log"
cp -r "$here/outside" "$root/outside"
cd "$root/outside"

# The descriptor is defined; what isn't is libonce's or libc's.
check_plugin() {
	nm -D --defined-only "$1" | grep -q ' once_handler$'
	ldd "$1" >/dev/null
	echo "$2: good"
}

PKG_CONFIG_PATH=$root/root$prefix/$libdir/pkgconfig
PKG_CONFIG_SYSROOT_DIR=$root/root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
# shellcheck disable=SC2046 # a list of options
"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -shared -fPIC \
	-o by_pkg_config.so greet.c \
	$(pkg-config --cflags --libs once) -Wl,--no-undefined
check_plugin by_pkg_config.so pkg-config

cmake -S . -B build -DCMAKE_C_COMPILER="$cc" \
	-DCMAKE_PREFIX_PATH="$root/root$prefix" >cmake.log
cmake --build build >>cmake.log
check_plugin build/greet.so "find_package(once)"
