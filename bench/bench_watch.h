/* bench_watch.h - a stage, seen from outside while it goes on. */
#ifndef BENCH_WATCH_H
#define BENCH_WATCH_H

#include "stage.h"

/* How many messages are handled by now. Ends the run where none will be any
 * more. */
typedef int64_t handled_f(void *arg);

struct watched {
	handled_f *handled;
	void *arg;
	int64_t messages; /* until when */
	int64_t pause_ns; /* between two looks */
	pid_t program;
};

/* Returns when all messages are handled. */
void bench_watch(const struct bench *bench, const struct watched *watched,
		 struct outcome *ret_outcome);

#endif
