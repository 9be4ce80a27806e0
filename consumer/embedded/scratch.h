/*
 * scratch.h - a directory that is gone when its owner is, however that one
 * ends: a small process of its own waits for that, and removes it.
 *
 * Threads: main; open before other threads start, for it forks.
 */
#ifndef ONCED_SCRATCH_H
#define ONCED_SCRATCH_H

#include <once/types.h>
#include <sys/types.h>

/* A socket's path has 107 bytes; in $TMPDIR if that leaves enough of them, else
 * in /tmp. */
enum {
	SCRATCH_PATH_SIZE = 80
};

struct scratch {
	char path[SCRATCH_PATH_SIZE]; /* others may pass through, not list */
	int leash;                    /* closed: the directory goes */
	pid_t keeper;                 /* 0: none */
};

enum once_status scratch_open(struct scratch *scratch,
			      struct once_error *err) ONCE_MUST_CHECK;
/* Returns when it is removed. All zero: nothing happens. */
void scratch_close(struct scratch *scratch);

#endif
