/* onced_process.h - onced as a user runs it: a file, a command, a log. */
#ifndef BENCH_ONCED_PROCESS_H
#define BENCH_ONCED_PROCESS_H

#include "stage.h"

#include <process.h>

struct onced_process {
	struct process process;
	char config[PATH_MAX];
	char log[PATH_MAX];
};

/* Where the program and the bench's plugin are: `argument` if not NULL, else
 * ONCE_TEST_ONCED, else in the build tree that we were built in. */
void onced_process_find(struct bench *bench, const char *argument);

/* Write its configuration, with a group of its own. */
void onced_process_init(struct onced_process *onced, struct bench *bench,
			const struct scenario *scenario,
			const struct topic *topic);
/* `onced migrate`, to its end. */
void onced_process_migrate(struct bench *bench);
/* `onced run`. */
void onced_process_start(struct onced_process *onced,
			 const struct bench *bench);
/* SIGTERM, and a clean end. */
void onced_process_stop(struct onced_process *onced);
/* End the run: say `why`, and the end of onced's log. */
void onced_process_fail(struct onced_process *onced, const char *why);

#endif
