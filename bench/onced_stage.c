/*
 * onced_stage.c - onced drains the topic.
 *
 * The idea: it is watched from outside. What is handled is what the rows of
 * once.position say, which move with the effects; they are looked at so seldom
 * that the looking costs nothing.
 */
#include "onced_stage.h"

#include "onced_process.h"
#include "tables.h"
#include "usage.h"

#include <clock.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum {
	LOOK_NS = 50000000,
	SILENCE_S = 60 /* without progress: something is wrong */
};

static const char handled_sql[] =
	"SELECT coalesce(sum(next_offset), 0)::int8 FROM once.position";

static void note_memory(struct onced_outcome *outcome, int64_t messages,
			int64_t handled, pid_t pid)
{
	int64_t quarter = handled * QUARTERS / messages;
	int64_t kib = usage_memory_kib(pid);

	if (quarter == QUARTERS)
		quarter--;
	if (kib > outcome->memory_kib[quarter])
		outcome->memory_kib[quarter] = kib;
}

static void fail(struct onced_process *onced, const char *what, int64_t handled)
{
	char why[128];

	snprintf(why, sizeof(why), "onced %s after %" PRId64 " messages", what,
		 handled);
	onced_process_fail(onced, why);
}

/* The clock is started again while not enough is handled. */
static void note_start(const struct bench *bench, int64_t handled,
		       struct onced_process *onced,
		       struct onced_outcome *outcome)
{
	if (handled >= bench->skipped && outcome->pace.messages != 0)
		return;
	outcome->start_ns = clock_ns();
	outcome->pace.messages = bench->messages - handled;
	outcome->processor_s = usage_processor_s(onced->process.pid);
}

static void watch(struct bench *bench, struct onced_process *onced,
		  struct onced_outcome *outcome)
{
	const struct timespec pause = { 0, LOOK_NS };
	int64_t progress_ns = clock_ns();
	int64_t handled = 0;

	while (handled < bench->messages) {
		int64_t before = handled;

		nanosleep(&pause, NULL);
		handled = pg_fixture_get_int64(&bench->pg, handled_sql);
		if (bench->skipped > 0)
			note_start(bench, handled, onced, outcome);
		note_memory(outcome, bench->messages, handled,
			    onced->process.pid);
		if (handled != before)
			progress_ns = clock_ns();
		if (!process_is_running(&onced->process))
			fail(onced, "ended", handled);
		if (clock_ns() - progress_ns > INT64_C(1000000000) * SILENCE_S)
			fail(onced, "stood still", handled);
	}
}

void onced_stage_run(struct bench *bench, int round, const char *how,
		     struct onced_outcome *ret_outcome)
{
	struct onced_process onced;
	struct onced_outcome outcome = { 0 };
	onced_process_init(&onced, bench, round, how);
	tables_empty(bench);
	outcome.start_ns = clock_ns();
	onced_process_start(&onced, bench);
	watch(bench, &onced, &outcome);
	outcome.pace.took_ns = clock_ns() - outcome.start_ns;
	if (outcome.pace.messages == 0)
		outcome.pace.messages = bench->messages;
	outcome.processor_s =
		usage_processor_s(onced.process.pid) - outcome.processor_s;
	onced_process_stop(&onced);
	tables_check(bench, bench->different);
	*ret_outcome = outcome;
}
