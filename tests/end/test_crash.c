/*
 * test_crash.c - SIGKILL at each named point of a message's way, and what a
 * restart makes of it: every message took effect once, none is lost.
 *
 * The idea: the points are a table (fault.h), and the test is a loop over it: a
 * new point is tested from the day it is named.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <fault.h>
#include <signal.h>
#include <stdio.h>

enum {
	WAIT_MS = 30000,
	LOAD = 10 /* messages at a time */
};

static const char *const points[] = {
#define X(name, text) #name,
	FAULT_POINT_TABLE(X)
#undef X
};

enum {
	COUNT_POINTS = sizeof(points) / sizeof(points[0])
};

static void send_until_killed(struct onced *onced)
{
	struct onced_fixture *fixture = onced->fixture;
	int64_t deadline_ms = clock_ms() + WAIT_MS;

	while (process_is_running(&onced->process) && clock_ms() < deadline_ms)
		onced_fixture_send_series(fixture, fixture->sent, LOAD);
	ck_assert_int_eq(onced_wait(onced, 0), 128 + SIGKILL);
}

static void check_that_all_is_done(struct onced *onced)
{
	struct onced_fixture *fixture = onced->fixture;

	onced_fixture_wait_for_all(fixture, WAIT_MS);
	onced_fixture_check_effects(fixture, fixture->sent);
	ck_assert_int_eq(onced_stop(onced), 0);
	for (int i = 0; i < fixture->partitions; i++)
		ck_assert_int_eq(
			kafka_fixture_get_committed(&fixture->kafka, i),
			kafka_fixture_get_end(&fixture->kafka, i));
}

/* C01, at the first and again at the third visit. */
START_TEST(a_kill_at_any_point_loses_nothing_and_repeats_nothing)
{
	struct onced_options options = { .instance_id = "a",
					 .batch = "7",
					 .prefilter = onced_both_prefilters() };
	struct onced_fixture fixture;
	struct onced onced;
	char fault[64];

	onced_fixture_init(&fixture, 2);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send_series(&fixture, 0, LOAD);
	for (int visit = 1; visit <= 3; visit += 2) {
		snprintf(fault, sizeof(fault), "%s:%d", points[_i], visit);
		onced_start(&onced, fault);
		send_until_killed(&onced);
	}
	onced_start(&onced, NULL);
	check_that_all_is_done(&onced);
	onced_fixture_fini(&fixture);
}
END_TEST

/* C01 */
START_TEST(a_handler_that_kills_the_process_is_called_again)
{
	static const struct letter killer[] = { { 0, "killer", "killer", "kill",
						  "v" } };
	struct onced_options options = { .instance_id = "a" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 2);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send_series(&fixture, 0, LOAD);
	onced_fixture_send(&fixture, killer, 1);
	onced_fixture_send_series(&fixture, fixture.sent, LOAD);
	onced_start(&onced, NULL);
	ck_assert_int_eq(onced_wait(&onced, WAIT_MS), 128 + SIGKILL);
	ck_assert_int_lt(onced_fixture_position(&fixture, 0), LOAD / 2 + 1);
	onced_start(&onced, NULL);
	check_that_all_is_done(&onced);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crashes");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA) | NEED(REDIS));
	tcase_add_loop_test(
		tests, a_kill_at_any_point_loses_nothing_and_repeats_nothing, 0,
		COUNT_POINTS);
	tcase_add_test(tests, a_handler_that_kills_the_process_is_called_again);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
