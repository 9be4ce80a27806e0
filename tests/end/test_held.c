/*
 * test_held.c - partitions that are held back, for a moment or for long:
 * nothing is read twice for it, and no transaction waits.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 30000,
	PARTITIONS = 2,
	COUNT = 240,
	WATCH_MS = 1500
};

/* C17: each message is a parcel of its own, its partition held back and
 * released for it. */
START_TEST(a_partition_held_back_a_hundred_times_is_read_once)
{
	struct onced_options options = { .batch = "1" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send_series(&fixture, 0, COUNT);
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, COUNT);
	onced_wait_until_counted(&onced, 1, COUNT);
	ck_assert_int_eq(onced_get_metric(&onced, "onced_consumed_total", NULL),
			 COUNT);
	ck_assert_int_eq(
		onced_get_metric(&onced, "onced_batch_messages_count", NULL),
		COUNT);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Longer than a statement takes, shorter than the shortest pause. */
static int64_t count_waiting_transactions(struct onced_fixture *fixture)
{
	return pg_fixture_get_int64(
		&fixture->pg,
		"SELECT count(*) FROM pg_stat_activity "
		"WHERE datname = current_database() "
		"AND application_name = 'onced' "
		"AND state LIKE 'idle in transaction%' "
		"AND clock_timestamp() - state_change > interval '300 ms'");
}

/* C49 */
START_TEST(a_pause_between_attempts_holds_no_transaction)
{
	static const struct letter letters[] = {
		{ 0, "m1", "b1", "fail", "v" },
	};
	struct onced_options options = { .attempts = "0" };
	struct onced_fixture fixture;
	struct onced onced;
	int64_t end_ms;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_fixture_send(&fixture, letters, 1);
	onced_fixture_wait_for(&fixture,
			       "SELECT (attempts >= 2)::int FROM once.position "
			       "UNION ALL SELECT 0 LIMIT 1",
			       1, WAIT_MS);
	end_ms = clock_ms() + WATCH_MS;
	while (clock_ms() < end_ms)
		ck_assert_int_eq(count_waiting_transactions(&fixture), 0);
	onced_fixture_wait_for(&fixture,
			       "SELECT (attempts >= 6)::int FROM once.position",
			       1, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* C72 */
START_TEST(a_handled_message_that_comes_twenty_times_more_parks_nothing)
{
	static const struct letter letter = { 0, "m1", "b1", NULL, "v" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	for (int i = 0; i < 21; i++)
		onced_fixture_send(&fixture, &letter, 1);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 1);
	ck_assert_int_eq(
		pg_fixture_get_int64(&fixture.pg,
				     "SELECT count(*) FROM once.parked"),
		0);
	onced_wait_until_counted(&onced, 1, fixture.sent);
	ck_assert_int_eq(onced_get_metric(&onced, "onced_backstop_hits_total",
					  "key=\"msg_id\"") +
				 onced_get_metric(&onced,
						  "onced_intercepts_total",
						  "key=\"msg_id\""),
			 20);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

static int64_t count_lines(struct onced *onced, const char *text)
{
	char *log = read_file(onced->log);
	int64_t count = 0;

	for (const char *at = strstr(log, text); at != NULL;
	     at = strstr(at + 1, text))
		count++;
	free(log);
	return count;
}

/* With one attempt, each message that is tried in vain would be dead. */
START_TEST(a_missing_table_holds_its_partitions_until_it_is_there)
{
	struct onced_options options = { .attempts = "1" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_fixture_without_monitor(&fixture);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_fixture_send_series(&fixture, 0, 10);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	pg_fixture_run(&fixture.pg, "ALTER TABLE effect RENAME TO away");
	onced_fixture_send_series(&fixture, 10, 10);
	onced_wait_until_not_ready(&onced, "create the table", WAIT_MS);
	onced_check_not_ready(&onced, WATCH_MS);
	pg_fixture_run(&fixture.pg, "ALTER TABLE away RENAME TO effect");
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_wait_until_ready(&onced, WAIT_MS);
	onced_fixture_check_effects(&fixture, 20);
	ck_assert_int_eq(
		pg_fixture_get_int64(&fixture.pg,
				     "SELECT count(*) FROM once.parked"),
		0);
	ck_assert_int_eq(count_lines(&onced, "cause=environment"), PARTITIONS);
	ck_assert_int_eq(count_lines(&onced, "the partition goes on"),
			 PARTITIONS);
	ck_assert_int_gt(onced_get_metric(&onced, "onced_paused_total",
					  "cause=\"environment\""),
			 PARTITIONS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

static int64_t count_parked(struct onced_fixture *fixture)
{
	return pg_fixture_get_int64(&fixture->pg,
				    "SELECT count(*) FROM once.parked");
}

/* Each start parks so many more, and no more. */
START_TEST(so_many_dead_in_a_row_halt_their_partition_until_a_restart)
{
	static const struct letter dead = { 0, "m", "b", "reject", "v" };
	struct onced_options options = { .route = "    halt_after_dead: 5\n" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, &options);
	for (int i = 0; i < 12; i++)
		onced_fixture_send(&fixture, &dead, 1);
	for (int lives = 1; lives <= 2; lives++) {
		onced_start(&onced, NULL);
		onced_wait_until_not_ready(
			&onced, "5 messages in a row ended dead (rejected)",
			WAIT_MS);
		ck_assert_int_eq(count_parked(&fixture), 5 * lives);
		ck_assert_int_eq(onced_stop(&onced), 0);
	}
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(count_parked(&fixture), 12);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("held back");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests,
		       a_partition_held_back_a_hundred_times_is_read_once);
	tcase_add_test(tests, a_pause_between_attempts_holds_no_transaction);
	tcase_add_test(
		tests,
		a_handled_message_that_comes_twenty_times_more_parks_nothing);
	tcase_add_test(tests,
		       a_missing_table_holds_its_partitions_until_it_is_there);
	tcase_add_test(
		tests,
		so_many_dead_in_a_row_halt_their_partition_until_a_restart);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
