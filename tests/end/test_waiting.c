/*
 * test_waiting.c - order: none. A message that fails stands aside, parked until
 * its next attempt, and the partition goes on; whoever is there takes it up.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>

#define COUNT(letters) (sizeof(letters) / sizeof(*(letters)))
#define NO_ORDER "    order: none\n"

enum {
	WAIT_MS = 30000,
	DUE = 40 /* messages that come due together */
};

static int64_t count_parked(struct onced_fixture *fixture, const char *state)
{
	char sql[128];

	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM once.parked WHERE state = '%s'", state);
	return pg_fixture_get_int64(&fixture->pg, sql);
}

START_TEST(a_message_that_fails_stands_aside_and_is_taken_up_again)
{
	static const struct letter letters[] = {
		{ 0, "m1", "b1", "recover", "v" },
		{ 0, "m2", "b2", NULL, "v" },
		{ 0, "m3", "b3", "fail", "v" },
		{ 0, "m4", "b4", NULL, "v" },
	};
	struct onced_options options = { .route = NO_ORDER };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_fixture_send(&fixture, letters, COUNT(letters));
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_wait_for(
		&fixture,
		"SELECT coalesce(max(attempt), 0) FROM effect WHERE msg_id = 'm1'",
		3, WAIT_MS);
	onced_fixture_wait_for(&fixture,
			       "SELECT count(*) FROM once.parked "
			       "WHERE msg_id = 'm3' AND state = 'dead' "
			       "AND attempts = 3 AND cause = 'attempts'",
			       1, WAIT_MS);
	onced_fixture_check_effects(&fixture, 3);
	ck_assert_int_eq(count_parked(&fixture, "waiting"), 0);
	onced_wait_until_counted(&onced, 1, fixture.sent + 4);
	ck_assert_int_eq(
		onced_get_metric(&onced, "onced_postponed_total", NULL), 4);
	ck_assert_int_eq(onced_get_metric(&onced, "onced_resumed_total", NULL),
			 4);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* C68; attempts are counted in the row, whoever makes them. */
START_TEST(a_restart_forgets_no_attempt_and_parks_nothing_twice)
{
	static const struct letter letters[] = {
		{ 0, "m1", "b1", "fail", "v" },
	};
	struct onced_options options = { .route = NO_ORDER };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send(&fixture, letters, COUNT(letters));
	for (int attempts = 1; attempts <= 3; attempts++) {
		onced_start(&onced, NULL);
		onced_fixture_wait_for(
			&fixture,
			"SELECT coalesce(max(attempts), 0) FROM once.parked",
			attempts, WAIT_MS);
		if (attempts < 3)
			onced_kill(&onced);
	}
	ck_assert_int_eq(count_parked(&fixture, "dead"), 1);
	ck_assert_int_eq(count_parked(&fixture, "waiting"), 0);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

static void send_due(struct onced_fixture *fixture)
{
	struct letter letters[DUE];
	char ids[DUE][16];

	for (int i = 0; i < DUE; i++) {
		snprintf(ids[i], sizeof(ids[i]), "m%d", i);
		letters[i] = (struct letter){ i % fixture->partitions, ids[i],
					      ids[i], "recover", "v" };
	}
	onced_fixture_send(fixture, letters, DUE);
}

/* C25 */
START_TEST(two_processes_try_each_message_once_when_many_come_due_together)
{
	static const struct onced_options options[] = {
		{ .name = "one", .instance_id = "one", .route = NO_ORDER },
		{ .name = "two", .instance_id = "two", .route = NO_ORDER },
	};
	struct onced_fixture fixture;
	struct onced onced[2];

	onced_fixture_init(&fixture, 2);
	for (int i = 0; i < 2; i++) {
		onced_init(&onced[i], &fixture, &options[i]);
		onced_start(&onced[i], NULL);
	}
	send_due(&fixture);
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM effect", DUE,
			       WAIT_MS);
	onced_fixture_check_effects(&fixture, DUE);
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM once.parked", 0,
			       WAIT_MS);
	/* Two attempts failed, one succeeded; no process made one more. */
	ck_assert_int_eq(pg_fixture_get_int64(&fixture.pg,
					      "SELECT count(*) FROM effect "
					      "WHERE attempt <> 3"),
			 0);
	onced_wait_until_counted(onced, 2, fixture.sent + 2 * DUE);
	ck_assert_int_eq(
		onced_get_metric(&onced[0], "onced_postponed_total", NULL) +
			onced_get_metric(&onced[1], "onced_postponed_total",
					 NULL),
		2 * DUE);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(onced_stop(&onced[i]), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* A parked message may wait for something, too: that is no attempt. */
START_TEST(a_parked_message_that_pauses_makes_no_attempt)
{
	static const struct letter letters[] = {
		{ 0, "m1", "b1", "broken", "v" },
		{ 0, "m2", "b2", NULL, "v" },
	};
	struct onced_options options = { .route = NO_ORDER };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_fixture_send(&fixture, letters, COUNT(letters));
	onced_fixture_wait_for(&fixture,
			       "SELECT count(*) FROM once.parked "
			       "WHERE state = 'dead'",
			       1, WAIT_MS);
	onced_fixture_put_file(&fixture, "pause");
	pg_fixture_run(
		&fixture.pg,
		"UPDATE once.parked SET state = 'waiting', attempts = 0, "
		"retry_at = now(), "
		"header_values = array_replace(header_values, "
		"'broken'::bytea, 'pause'::bytea)");
	onced_wait_for_log(&onced, "verdict=paused", WAIT_MS);
	ck_assert_int_eq(
		pg_fixture_get_int64(&fixture.pg,
				     "SELECT attempts FROM once.parked"),
		0);
	onced_fixture_remove_file(&fixture, "pause");
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM effect", 2,
			       WAIT_MS);
	ck_assert_int_eq(count_parked(&fixture, "waiting"), 0);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("messages that wait aside");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests,
		       a_message_that_fails_stands_aside_and_is_taken_up_again);
	tcase_add_test(tests,
		       a_restart_forgets_no_attempt_and_parks_nothing_twice);
	tcase_add_test(
		tests,
		two_processes_try_each_message_once_when_many_come_due_together);
	tcase_add_test(tests, a_parked_message_that_pauses_makes_no_attempt);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
