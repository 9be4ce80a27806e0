/*
 * test_kills.c - SIGKILL, again and again, while messages keep coming: at any
 * moment, or (every third life) at one of the points of fault.h. At the end the
 * business table is asked: none lost, none twice.
 *
 * ONCE_TEST_KILLS says how many, ONCE_TEST_SEED repeats a run.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <fault.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	KILLS = 100,
	PARTITIONS = 4,
	LOAD = 5, /* messages at a time */
	LIFE_MIN_MS = 200,
	LIFE_MAX_MS = 700,
	WAIT_MS = 60000
};

static long read_number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text == NULL ? otherwise : strtol(text, NULL, 10);
}

static void send_for(struct onced_fixture *fixture, int64_t ms)
{
	const struct timespec pause = { 0, 5000000 };
	int64_t deadline_ms = clock_ms() + ms;

	while (clock_ms() < deadline_ms) {
		onced_fixture_send_series(fixture, fixture->sent, LOAD);
		nanosleep(&pause, NULL);
	}
}

/* NULL: this one is killed at some moment. */
static const char *choose_fault(long life, char *fault, size_t size)
{
	static const char *const points[] = {
#define X(name, text) #name,
		FAULT_POINT_TABLE(X)
#undef X
	};
	size_t count = sizeof(points) / sizeof(points[0]);

	if (life % 3 != 0)
		return NULL;
	snprintf(fault, size, "%s:%ld", points[(size_t)random() % count],
		 1 + random() % 8);
	return fault;
}

/* Did this life get anything done? */
static bool has_worked(struct onced_fixture *fixture, int64_t *done)
{
	int64_t now = pg_fixture_get_int64(&fixture->pg,
					   "SELECT count(*) FROM effect");
	bool more = now > *done;

	*done = now;
	return more;
}

START_TEST(a_hundred_kills_under_load_lose_nothing_and_repeat_nothing)
{
	struct onced_options options = {
		.instance_id = "a",
		.batch = "50",
		.crashes = "0", /* none of them is a message's fault */
		.prefilter = onced_both_prefilters(),
	};
	long kills = read_number("ONCE_TEST_KILLS", KILLS);
	long seed = read_number("ONCE_TEST_SEED", (long)time(NULL));
	struct onced_fixture fixture;
	struct onced onced;
	int64_t done = 0;
	long useful = 0;
	char text[64];

	printf("ONCE_TEST_KILLS=%ld ONCE_TEST_SEED=%ld\n", kills, seed);
	srandom((unsigned)seed);
	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, &options);
	for (long i = 0; i < kills; i++) {
		const char *fault = choose_fault(i, text, sizeof(text));

		onced_start(&onced, fault);
		send_for(&fixture,
			 LIFE_MIN_MS + random() % (LIFE_MAX_MS - LIFE_MIN_MS));
		ck_assert(fault != NULL || process_is_running(&onced.process));
		onced_kill(&onced);
		useful += has_worked(&fixture, &done);
	}
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, fixture.sent);
	ck_assert_int_eq(onced_stop(&onced), 0);
	ck_assert_int_ge(useful, kills / 4);
	printf("%lld messages, %ld lives with work done\n",
	       (long long)fixture.sent, useful);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kills");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA) | NEED(REDIS));
	tcase_set_timeout(tests, 400);
	tcase_add_test(
		tests,
		a_hundred_kills_under_load_lose_nothing_and_repeat_nothing);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
