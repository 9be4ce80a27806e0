/* exit_codes.h - what a process says when it ends. The table of the README. */
#ifndef ONCED_EXIT_CODES_H
#define ONCED_EXIT_CODES_H

#include <once/types.h>

/* clang-format off */
#define EXIT_CODE_TABLE(X)                                                  \
	X(OK,           0, "did what was asked (a drained stop included)")  \
	X(FOUND,        1, "ran and found something")                       \
	X(USAGE,       64, "usage")                                         \
	X(NO_SERVER,   69, "a server could not be reached in time, or a lock is held")          \
	X(BUG,         70, "a bug of ours")                                 \
	X(SLOW_STOP,   74, "stop took longer than shutdown_timeout; nothing is lost") \
	X(FENCED,      76, "fenced: another process has this instance_id")  \
	X(DENIED,      77, "the database role may not do that")             \
	X(CONFIG,      78, "configuration or plugin; don't restart on it")
/* clang-format on */

enum exit_code {
#define X(name, number, text) EXIT_CODE_##name = number,
	EXIT_CODE_TABLE(X)
#undef X
};

enum exit_code exit_code_of(enum once_status status);

#endif
