/* workers.c - threads, watched from the one that started them. */
#include "workers.h"

#include "bench_watch.h"
#include "clients.h"

#include <check.h>
#include <unistd.h>

#define LOOK_NS INT64_C(5000000)

struct crew {
	struct worker workers[WORKERS_MAX];
	int count;
};

static void *run(void *arg)
{
	struct worker *worker = arg;

	if (worker->work(worker, &worker->err) != ONCE_OK)
		worker->failed = true;
	return NULL;
}

static void start(struct worker *worker, const struct topic *topic, int index,
		  int count)
{
	ck_assert_msg(clients_open_consumer(topic, index, count, &worker->rk,
					    &worker->err) == ONCE_OK,
		      "%s", worker->err.text);
	ck_assert_int_eq(pthread_create(&worker->thread, NULL, run, worker), 0);
}

static int64_t count_handled(void *arg)
{
	struct crew *crew = arg;
	int64_t sum = 0;

	for (int i = 0; i < crew->count; i++) {
		ck_assert_msg(!crew->workers[i].failed, "%s",
			      crew->workers[i].err.text);
		sum += crew->workers[i].handled;
	}
	return sum;
}

void workers_run(const struct bench *bench, const struct scenario *scenario,
		 const struct topic *topic, work_f *work, int count,
		 int64_t messages, struct outcome *ret_outcome)
{
	struct crew crew = { .count = count };
	const struct watched watched = {
		.handled = count_handled,
		.arg = &crew,
		.messages = messages / count * count,
		.pause_ns = LOOK_NS,
		.program = getpid(),
	};

	for (int i = 0; i < count; i++) {
		crew.workers[i].work = work;
		crew.workers[i].bench = bench;
		crew.workers[i].scenario = scenario;
		crew.workers[i].messages = messages / count;
		start(&crew.workers[i], topic, i, count);
	}
	bench_watch(bench, &watched, ret_outcome);
	for (int i = 0; i < count; i++) {
		pthread_join(crew.workers[i].thread, NULL);
		clients_close_consumer(crew.workers[i].rk);
	}
	ck_assert_int_eq(count_handled(&crew), watched.messages);
}
