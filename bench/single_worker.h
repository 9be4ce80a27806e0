/* single_worker.h - one thread of the consumer that people write by hand: its
 * own partitions, its own session. */
#ifndef BENCH_SINGLE_WORKER_H
#define BENCH_SINGLE_WORKER_H

#include "bench.h"
#include "single_transaction.h"

struct single_worker {
	/* in */
	const struct bench *bench;
	int index; /* of BENCH_WORKERS */
	int64_t limit_ns;
	/* out */
	enum once_status status;
	struct once_error err;
	int64_t handled;
	int64_t first_ns;
	int64_t last_ns;
	/* its own */
	rd_kafka_t *rk;
	struct single_transaction transaction;
	int ended_partitions;
};

/* A thread's function; `arg` is the worker. Returns at the limit, at the end of
 * its partitions or at a failure. */
void *single_worker_run(void *arg);

#endif
