/*
 * bench_watch.c - when the clock starts and stops, and what is read at both
 * times.
 *
 * The idea: one rule for all stages. Both ends of the measured time are looks,
 * each with the number of messages that it saw, so that how often one looks
 * makes no figure wrong.
 */
#include "bench_watch.h"

#include <check.h>
#include <clock.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

enum {
	SILENCE_S = 60 /* without progress: something is wrong */
};

struct look {
	int64_t ns;
	int64_t handled;
	double program_s;
	double postgres_s;
	double kafka_s;
	struct usage_machine machine;
};

static void fill(const struct bench *bench, pid_t program, struct look *look)
{
	look->program_s = usage_processor_s(program);
	look->postgres_s = usage_family_s(bench->postgres);
	look->kafka_s = usage_processor_s(bench->kafka);
	usage_of_machine(&look->machine);
}

static void subtract(const struct look *from, const struct look *to,
		     struct outcome *ret_outcome)
{
	ret_outcome->messages = to->handled - from->handled;
	ret_outcome->took_ns = to->ns - from->ns;
	ret_outcome->program_s = to->program_s - from->program_s;
	ret_outcome->postgres_s = to->postgres_s - from->postgres_s;
	ret_outcome->kafka_s = to->kafka_s - from->kafka_s;
	ret_outcome->machine.all_s = to->machine.all_s - from->machine.all_s;
	ret_outcome->machine.idle_s = to->machine.idle_s - from->machine.idle_s;
	ret_outcome->machine.disk_s = to->machine.disk_s - from->machine.disk_s;
}

/* Keep the look if it is the first one past its mark. */
static bool note(const struct bench *bench, const struct watched *watched,
		 const struct look *look, int64_t mark, struct look *kept)
{
	if (kept->ns != 0 || look->handled < mark)
		return false;
	*kept = *look;
	fill(bench, watched->program, kept);
	return true;
}

static void take_look(const struct watched *watched, struct look *look)
{
	const struct timespec pause = { 0, watched->pause_ns };
	int64_t before = look->handled;
	int64_t progress_ns = look->ns;

	do {
		nanosleep(&pause, NULL);
		look->handled = watched->handled(watched->arg);
		look->ns = clock_ns();
		ck_assert_msg(look->ns - progress_ns <
				      INT64_C(1000000000) * SILENCE_S,
			      "nothing moves after %" PRId64 " messages",
			      look->handled);
	} while (look->handled == before);
}

void bench_watch(const struct bench *bench, const struct watched *watched,
		 struct outcome *ret_outcome)
{
	struct look look = { .ns = clock_ns() };
	struct look from = { 0 };
	struct look to = { 0 };

	while (look.handled < watched->messages) {
		take_look(watched, &look);
		if (!note(bench, watched, &look, watched->messages / 10, &from))
			note(bench, watched, &look, watched->messages * 9 / 10,
			     &to);
	}
	ck_assert_msg(to.ns != 0, "that was too short to be measured; let "
				  "ONCE_BENCH_MESSAGES be more");
	subtract(&from, &to, ret_outcome);
}
