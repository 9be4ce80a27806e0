/*
 * test_members.c - a group of processes: members join, leave and die under
 * load, and many send one operation at once.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 40000,
	PARTITIONS = 4,
	LOAD = 5 /* messages at a time */
};

static void start(struct onced *onced, struct onced_fixture *fixture,
		  const char *name)
{
	struct onced_options options = { .name = name };

	onced_init(onced, fixture, &options);
	onced_start(onced, NULL);
}

/* Messages keep coming until the member has its half of the partitions. */
static void send_until_shared(struct onced *onced)
{
	struct onced_fixture *fixture = onced->fixture;
	int64_t deadline_ms = clock_ms() + WAIT_MS;

	while (!onced_has_logged(onced, "msg=\"assigned\" partitions=2") &&
	       clock_ms() < deadline_ms)
		onced_fixture_send_series(fixture, fixture->sent, LOAD);
	ck_assert_int_lt(clock_ms(), deadline_ms);
}

/* C13 */
START_TEST(members_that_come_and_go_lose_nothing_and_repeat_nothing)
{
	struct onced_fixture fixture;
	struct onced first;
	struct onced second;
	struct onced third;

	onced_fixture_init(&fixture, PARTITIONS);
	start(&first, &fixture, "first");
	onced_fixture_send_series(&fixture, 0, LOAD);
	onced_wait_until_ready(&first, WAIT_MS);
	start(&second, &fixture, "second");
	send_until_shared(&second);
	onced_fixture_send_series(&fixture, fixture.sent, 200);
	ck_assert_int_eq(onced_stop(&second), 0);

	start(&third, &fixture, "third");
	send_until_shared(&third);
	onced_fixture_send_series(&fixture, fixture.sent, 200);
	onced_kill(&third);
	onced_fixture_send_series(&fixture, fixture.sent, 200);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, fixture.sent);
	ck_assert_int_eq(onced_stop(&first), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Each member is replaced by a new one while messages come. */
START_TEST(a_rolling_restart_loses_nothing_and_repeats_nothing)
{
	static const char *const names[] = { "one", "two", "three", "four" };
	struct onced_fixture fixture;
	struct onced onced[4];

	onced_fixture_init(&fixture, PARTITIONS);
	start(&onced[0], &fixture, names[0]);
	onced_wait_until_ready(&onced[0], WAIT_MS);
	for (int i = 1; i < 4; i++) {
		start(&onced[i], &fixture, names[i]);
		send_until_shared(&onced[i]);
		ck_assert_int_eq(onced_stop(&onced[i - 1]), 0);
		onced_fixture_send_series(&fixture, fixture.sent, 100);
	}
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, fixture.sent);
	ck_assert_int_eq(onced_stop(&onced[3]), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* C91 */
START_TEST(fifty_producers_of_one_operation_have_one_effect)
{
	enum {
		PRODUCERS = 50
	};
	struct letter letters[PRODUCERS];
	char ids[PRODUCERS][24];
	struct onced_fixture fixture;
	struct onced first;
	struct onced second;

	onced_fixture_init(&fixture, PARTITIONS);
	start(&first, &fixture, "first");
	onced_wait_until_ready(&first, WAIT_MS);
	start(&second, &fixture, "second");
	onced_wait_for_log(&second, "msg=\"assigned\" partitions=2", WAIT_MS);
	for (int i = 0; i < PRODUCERS; i++) {
		snprintf(ids[i], sizeof(ids[i]), "producer-%d", i);
		letters[i] = (struct letter){ i % PARTITIONS, ids[i], "one",
					      NULL, "v" };
	}
	onced_fixture_send(&fixture, letters, PRODUCERS);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 1);
	ck_assert_int_eq(onced_stop(&first), 0);
	ck_assert_int_eq(onced_stop(&second), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* The tables of the handler "outcome". */
static void run_file(struct onced_fixture *fixture, const char *name)
{
	char path[PATH_MAX];
	char *sql;

	snprintf(path, sizeof(path), "%s/%s", getenv("ONCE_TEST_SOURCE"), name);
	sql = read_file(path);
	ck_assert_ptr_nonnull(sql);
	pg_fixture_run(&fixture->pg, sql);
	free(sql);
}

static void send_requests(struct onced_fixture *fixture, size_t count)
{
	static const char value[] =
		"{\"request_no\":\"Q-1\",\"amount\":\"12.00\"}";
	const struct letter request = { 0, "request-1", "Q-1", NULL, value };
	struct letter letters[10];

	for (size_t i = 0; i < count; i++)
		letters[i] = request;
	onced_fixture_send(fixture, letters, count);
	onced_fixture_wait_for_all(fixture, WAIT_MS);
}

/* C90: alone, behind one another, and together in a batch. */
START_TEST(the_same_request_ten_times_has_one_effect_and_ten_answers)
{
	struct onced_options options = { 0 };
	struct onced_fixture fixture;
	char plugin[PATH_MAX];
	struct onced onced;

	snprintf(plugin, sizeof(plugin), "%s/handlers/outcome.so",
		 getenv("ONCE_TEST_BUILD"));
	options.plugin = plugin;
	onced_fixture_init(&fixture, 1);
	run_file(&fixture, "handlers/outcome.sql");
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	for (int i = 0; i < 4; i++)
		send_requests(&fixture, 1);
	send_requests(&fixture, 6);
	ck_assert_int_eq(pg_fixture_get_int64(&fixture.pg,
					      "SELECT count(*) FROM payment"),
			 1);
	ck_assert_int_eq(
		pg_fixture_get_int64(&fixture.pg,
				     "SELECT count(*) FROM reply, payment "
				     "WHERE answer = payment_no::text"),
		10);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("members");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(
		tests,
		members_that_come_and_go_lose_nothing_and_repeat_nothing);
	tcase_add_test(tests,
		       a_rolling_restart_loses_nothing_and_repeats_nothing);
	tcase_add_test(tests, fifty_producers_of_one_operation_have_one_effect);
	tcase_add_test(
		tests,
		the_same_request_ten_times_has_one_effect_and_ten_answers);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
