/* postgres_programs.h - where PostgreSQL's server programs are installed. */
#ifndef ONCED_POSTGRES_PROGRAMS_H
#define ONCED_POSTGRES_PROGRAMS_H

#include <once/types.h>

enum {
	PROGRAM_PATH_SIZE = 1024
};

/* The directory with `initdb` and `postgres`: $ONCED_PG_BINDIR if that is set,
 * else the newest of Debian's, else the first in PATH. CONFIG: there is none,
 * with what to install. */
enum once_status postgres_programs_find(char directory[PROGRAM_PATH_SIZE],
					struct once_error *err) ONCE_MUST_CHECK;

#endif
