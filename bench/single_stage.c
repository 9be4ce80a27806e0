/*
 * single_stage.c - the threads of the consumer that people write by hand.
 *
 * The idea: its rate is steady, so a share of the messages tells it.
 */
#include "single_stage.h"

#include "single_worker.h"
#include "tables.h"

#include <check.h>
#include <pthread.h>

#define LIMIT_NS INT64_C(15000000000)

static void start(struct single_worker *worker, pthread_t *ret_thread)
{
	ck_assert_int_eq(
		pthread_create(ret_thread, NULL, single_worker_run, worker), 0);
}

/* From the first message of any to the last of any. */
static void add_up(const struct single_worker *workers, struct pace *ret_pace)
{
	int64_t first_ns = workers[0].first_ns;
	int64_t last_ns = workers[0].last_ns;

	ret_pace->messages = 0;
	for (size_t i = 0; i < BENCH_WORKERS; i++) {
		const struct single_worker *worker = &workers[i];

		ck_assert_msg(worker->status == ONCE_OK, "%s",
			      worker->err.text);
		ret_pace->messages += worker->handled;
		if (worker->first_ns < first_ns)
			first_ns = worker->first_ns;
		if (worker->last_ns > last_ns)
			last_ns = worker->last_ns;
	}
	ret_pace->took_ns = last_ns - first_ns;
}

void single_stage_run(struct bench *bench, struct pace *ret_pace)
{
	struct single_worker workers[BENCH_WORKERS] = { 0 };
	pthread_t threads[BENCH_WORKERS];

	tables_empty(bench);
	for (int i = 0; i < BENCH_WORKERS; i++) {
		workers[i].bench = bench;
		workers[i].index = i;
		workers[i].limit_ns = LIMIT_NS;
		start(&workers[i], &threads[i]);
	}
	for (int i = 0; i < BENCH_WORKERS; i++)
		pthread_join(threads[i], NULL);
	add_up(workers, ret_pace);
	tables_check(bench, ret_pace->messages);
}
