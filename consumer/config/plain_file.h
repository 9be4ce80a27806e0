/*
 * plain_file.h - files that a person has named. What is no file (a pipe that
 * nobody writes to, a directory, a device) is refused at once, instead of being
 * waited for.
 */
#ifndef ONCED_PLAIN_FILE_H
#define ONCED_PLAIN_FILE_H

#include <once/types.h>
#include <stdbool.h>
#include <stdio.h>

/* For reading. NULL: `err` says why ("is a directory, not a file"), without the
 * path. What is open already, such as /dev/stdin, may be a pipe. */
FILE *plain_file_open(const char *path, struct once_error *err);

/* Who else can change it? CONFIG: anybody on this machine can change it, or put
 * another in its place. INVALID: a group can, or we are root and it is another
 * user's; a program warns of that. `folder`: that of the file instead of the
 * file, and where a link leads, that one, too. OK also if it can't be looked
 * at. */
enum once_status plain_file_check_writers(const char *path, bool folder,
					  struct once_error *err);

#endif
