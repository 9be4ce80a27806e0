/* workers.h - the threads of a stage that runs in this process: each with its
 * own consumer of its own partitions. */
#ifndef BENCH_WORKERS_H
#define BENCH_WORKERS_H

#include "stage.h"

#include <pthread.h>

enum {
	WORKERS_MAX = TOPIC_PARTITIONS
};

struct worker;

/* Handle the worker's messages; count them in `handled`. On its own thread. */
typedef enum once_status work_f(struct worker *worker, struct once_error *err);

struct worker {
	work_f *work;
	const struct bench *bench;
	const struct scenario *scenario;
	int64_t messages; /* that it is to handle */
	rd_kafka_t *rk;   /* open */
	_Atomic int64_t handled;
	_Atomic bool failed; /* `err` says how */
	struct once_error err;
	pthread_t thread;
};

/* Let `count` of them (1, 2 or 4) handle that many messages of the topic, the
 * same number each. */
void workers_run(const struct bench *bench, const struct scenario *scenario,
		 const struct topic *topic, work_f *work, int count,
		 int64_t messages, struct outcome *ret_outcome);

#endif
