/*
 * onced_stage.c - onced drains the topic.
 *
 * The idea: it is watched from outside. What is handled is what the rows of
 * once.position say, which move with the effects; they are looked at so seldom
 * that the looking costs nothing.
 */
#include "bench_watch.h"
#include "onced_process.h"

#include <inttypes.h>
#include <stdio.h>

#define LOOK_NS INT64_C(20000000)

struct view {
	struct bench *bench;
	int64_t messages;
	struct onced_process onced;
	int64_t peak_kib;
	struct page first; /* its numbers, a tenth being handled */
};

static int64_t count_handled(void *arg)
{
	static const char handled_sql[] =
		"SELECT coalesce(sum(next_offset), 0)::int8 FROM once.position";
	struct view *view = arg;
	int64_t handled = pg_fixture_get_int64(&view->bench->pg, handled_sql);
	char why[128];

	if (!process_is_running(&view->onced.process)) {
		snprintf(why, sizeof(why),
			 "onced ended after %" PRId64 " messages", handled);
		onced_process_fail(&view->onced, why);
	}
	view->peak_kib = usage_peak_kib(view->onced.process.pid);
	if (handled >= view->messages / 10 && view->first.batched == 0)
		page_read(view->onced.port, &view->first);
	return handled;
}

void stage_onced(struct bench *bench, const struct scenario *scenario,
		 const struct topic *topic, struct outcome *ret_outcome)
{
	struct view view = { .bench = bench, .messages = topic->messages };
	struct watched watched = {
		.handled = count_handled,
		.arg = &view,
		.messages = topic->messages,
		.pause_ns = LOOK_NS,
	};

	onced_process_init(&view.onced, bench, scenario, topic);
	onced_process_start(&view.onced, bench);
	watched.program = view.onced.process.pid;
	bench_watch(bench, &watched, ret_outcome);
	page_read(view.onced.port, &ret_outcome->page);
	page_subtract(&ret_outcome->page, &view.first);
	onced_process_stop(&view.onced);
	ret_outcome->peak_kib = view.peak_kib;
	ret_outcome->booked = topic->different;
}
