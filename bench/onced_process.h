/* onced_process.h - onced as a user runs it: a file, a command, a log. */
#ifndef BENCH_ONCED_PROCESS_H
#define BENCH_ONCED_PROCESS_H

#include "stage.h"

#include <process.h>

struct onced_process {
	struct process process;
	char config[PATH_MAX];
	char log[PATH_MAX];
	int port; /* of its pages */
	/* with a clock; else empty */
	char moments[PATH_MAX]; /* the file */
	char moments_variable[PATH_MAX + 32];
	char preload[PATH_MAX + 16];
	const char *env[3];
};

/* Where the program and the bench's plugin are: `argument` if not NULL, else
 * ONCE_TEST_ONCED, else in the build tree that we were built in. */
void onced_process_find(struct bench *bench, const char *argument);

/* Write its configuration, with a group of its own. */
void onced_process_init(struct onced_process *onced, struct bench *bench,
			const struct scenario *scenario,
			const struct topic *topic);
/* Let it write how long each message took (bench_clock.h). */
void onced_process_add_clock(struct onced_process *onced,
			     const struct bench *bench);
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
