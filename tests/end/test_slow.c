/*
 * test_slow.c - handlers that take longer than a group allows. They run on
 * threads of their own, so the group never notices; and where another member
 * takes the partition away, the database decides whose work counts.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>

enum {
	WAIT_MS = 40000,
	POLL_MS = 6000, /* the least that may be configured */
	LOAD = 10
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
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
