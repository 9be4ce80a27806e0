#!/bin/sh
# banned.sh ROOT: functions that can't be used safely, or not among threads.
set -eu
cd "$1"

banned='strcpy|strcat|stpcpy|strncpy|sprintf|vsprintf|gets|strtok'
banned="$banned|atoi|atol|atoll|atof|gmtime|localtime|ctime|asctime"
banned="$banned|alloca|tmpnam|mktemp|system|setjmp|longjmp"

# Tests are one-threaded programs that may use system().
found=$(find lib consumer handlers examples -name '*.[ch]' -exec \
	grep -nHE "(^|[^A-Za-z0-9_>.])($banned)[[:space:]]*\(" {} + || true)
[ -z "$found" ] && exit 0
echo "banned functions:"
echo "$found"
exit 1
