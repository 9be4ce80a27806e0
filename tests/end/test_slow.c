/*
 * test_slow.c - handlers that take longer than a group allows. They run on
 * threads of their own, so the group never notices; and where another member
 * takes the partition away, the database decides whose work counts. And batches
 * of many calls, which are cut between two of them.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <time.h>

enum {
	WAIT_MS = 40000,
	POLL_MS = 6000, /* the least that may be configured */
	LOAD = 10,
	CALLS = 60,     /* of 100 ms */
	SLOW_CALLS = 40 /* of 300 ms */
};

static const struct letter slow[] = { { 0, "slow", "slow", "hang", "v" } };

static void wait_for_hanging(struct onced_fixture *fixture)
{
	onced_fixture_send(fixture, slow, 1);
	onced_fixture_wait_for_file(fixture, "hanging", WAIT_MS);
}

/* C14, and C06: while it runs, its age can be seen. */
START_TEST(a_handler_that_takes_three_poll_intervals_loses_no_partition)
{
	struct onced_options options = {
		.property = "max.poll.interval.ms=6000",
		.route = "    timeout: 60s\n",
	};
	struct onced_fixture fixture;
	int64_t end_ms;
	struct onced onced;

	onced_fixture_init(&fixture, 2);
	onced_init(&onced, &fixture, &options);
	onced_fixture_put_file(&fixture, "hang");
	onced_start(&onced, NULL);
	wait_for_hanging(&fixture);
	end_ms = clock_ms() + 3 * POLL_MS;
	while (clock_ms() < end_ms) {
		struct letter letter = { 1, "m", "b", NULL, "v" };

		onced_fixture_send(&fixture, &letter, 1);
		onced_fixture_wait_for(&fixture,
				       "SELECT sum(next_offset) "
				       "FROM once.position",
				       fixture.sent - 1, WAIT_MS);
	}
	ck_assert_int_ge(
		onced_get_metric(&onced,
				 "onced_partition_oldest_inflight_seconds",
				 "partition=\"0\""),
		3 * POLL_MS / 1000 - 2);
	onced_fixture_remove_file(&fixture, "hang");
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 2);
	ck_assert(!onced_has_logged(&onced, "revoked"));
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* C20: the first is asked to let go, doesn't in time, and ends its work when
 * the second has begun with it. */
START_TEST(a_partition_that_is_revoked_under_a_handler_is_handled_once)
{
	struct onced_options options[] = {
		{ .name = "first", .route = "    timeout: 60s\n" },
		{ .name = "second", .route = "    timeout: 60s\n" },
	};
	struct onced_fixture fixture;
	struct onced first;
	struct onced second;

	onced_fixture_init(&fixture, 2);
	onced_init(&first, &fixture, &options[0]);
	onced_init(&second, &fixture, &options[1]);
	onced_fixture_put_file(&fixture, "hang");
	onced_start(&first, NULL);
	onced_wait_until_ready(&first, WAIT_MS);
	wait_for_hanging(&fixture);
	onced_start(&second, NULL);
	onced_wait_for_log(&second, "msg=\"assigned\" partitions=1", WAIT_MS);
	onced_fixture_send_series(&fixture, 0, LOAD);
	onced_fixture_wait_for(&fixture,
			       "SELECT next_offset FROM once.position "
			       "WHERE partition = 1",
			       LOAD / 2, WAIT_MS);
	onced_fixture_remove_file(&fixture, "hang");
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, LOAD + 1);
	onced_wait_until_ready(&first, WAIT_MS);
	onced_wait_until_ready(&second, WAIT_MS);
	ck_assert_int_eq(onced_stop(&first), 0);
	ck_assert_int_eq(onced_stop(&second), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- a batch of many calls, none of which is long ---- */

static int64_t count_effects(struct onced_fixture *fixture)
{
	return pg_fixture_get_int64(&fixture->pg,
				    "SELECT count(*) FROM effect");
}

static void wait_for_effects(struct onced_fixture *fixture, int64_t count)
{
	int64_t end_ms = clock_ms() + WAIT_MS;

	while (count_effects(fixture) < count && clock_ms() < end_ms)
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	ck_assert_int_ge(count_effects(fixture), count);
}

/* A part of what was sent, with the position that goes with it. */
static int64_t check_kept(struct onced_fixture *fixture)
{
	static const char sql[] =
		"SELECT count(*) - (SELECT next_offset FROM once.position) "
		"FROM effect";

	ck_assert_int_eq(pg_fixture_get_int64(&fixture->pg, sql), 0);
	ck_assert_int_lt(count_effects(fixture), CALLS);
	return count_effects(fixture);
}

START_TEST(what_a_slow_batch_has_called_outlives_a_stop_and_a_kill)
{
	struct onced_options options = { .instance_id = "a",
					 .lanes = "1",
					 .shutdown = "2s",
					 .settings = "delay_ms=100" };
	struct onced_fixture fixture;
	int64_t kept;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send_series(&fixture, 0, CALLS);
	onced_start(&onced, NULL);
	wait_for_effects(&fixture, CALLS / 6);
	ck_assert_int_eq(onced_stop(&onced), 0);
	kept = check_kept(&fixture);

	onced_start(&onced, NULL);
	wait_for_effects(&fixture, kept + CALLS / 6);
	onced_kill(&onced);
	check_kept(&fixture);

	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, CALLS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* All of it takes longer than a rebalance waits. */
START_TEST(a_slow_batch_is_cut_for_a_rebalance_and_no_call_was_for_nothing)
{
	struct onced_options options[] = {
		{ .name = "first", .lanes = "1", .settings = "delay_ms=300" },
		{ .name = "second", .lanes = "1", .settings = "delay_ms=300" },
	};
	struct onced_fixture fixture;
	struct onced first;
	struct onced second;

	onced_fixture_init(&fixture, 2);
	onced_init(&first, &fixture, &options[0]);
	onced_init(&second, &fixture, &options[1]);
	onced_fixture_send_series(&fixture, 0, SLOW_CALLS);
	onced_start(&first, NULL);
	wait_for_effects(&fixture, 1);
	ck_assert_int_lt(count_effects(&fixture), SLOW_CALLS);
	onced_start(&second, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, SLOW_CALLS);
	ck_assert(onced_has_logged(&first, "msg=\"revoked\""));
	ck_assert(!onced_has_logged(&first, "didn't end within"));
	ck_assert(
		!onced_has_logged(&first, "isn't where this process left it"));
	ck_assert_int_eq(onced_get_metric(&first, "onced_transactions_total",
					  "result=\"rolled_back\""),
			 0);
	ck_assert_int_eq(onced_stop(&first), 0);
	ck_assert_int_eq(onced_stop(&second), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slow handlers");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(
		tests,
		a_handler_that_takes_three_poll_intervals_loses_no_partition);
	tcase_add_test(
		tests,
		a_partition_that_is_revoked_under_a_handler_is_handled_once);
	tcase_add_test(tests,
		       what_a_slow_batch_has_called_outlives_a_stop_and_a_kill);
	tcase_add_test(
		tests,
		a_slow_batch_is_cut_for_a_rebalance_and_no_call_was_for_nothing);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
