/*
 * test_crashes.c - a message that kills its process is found, and set aside;
 * one that never lets go of it is told of, and cut off.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <http_get.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT(letters) (sizeof(letters) / sizeof(*(letters)))

enum {
	WAIT_MS = 30000,
	MOST_LIVES = 12
};

static const struct letter with_a_killer[] = {
	{ 0, "m1", "b1", NULL, "v" },  { 0, "m2", "b2", NULL, "v" },
	{ 0, "m3", "b3", "die", "v" }, { 0, "m4", "b4", NULL, "v" },
	{ 1, "m5", "b5", NULL, "v" },  { 1, "m6", "b6", NULL, "v" },
};

static bool has_dead_killer(void *arg)
{
	struct onced_fixture *fixture = arg;

	return pg_fixture_get_int64(&fixture->pg,
				    "SELECT count(*) FROM once.parked "
				    "WHERE state = 'dead' "
				    "AND cause = 'crashed'") == 1;
}

/* How often the process had to be started until the killer was parked. */
static int live_until_parked(struct onced *onced)
{
	struct onced_fixture *fixture = onced->fixture;
	int lives = 0;

	while (!has_dead_killer(fixture)) {
		ck_assert_int_lt(++lives, MOST_LIVES);
		onced_start(onced, NULL);
		while (!process_wait(&onced->process, 50) &&
		       !has_dead_killer(fixture))
			;
	}
	return lives;
}

/* C84: two crashes that are known to be its own, after a first one that might
 * have been anybody's. */
START_TEST(a_message_that_kills_its_process_is_parked_and_the_rest_flows)
{
	struct onced_options options = { .instance_id = "a", .lanes = "1" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 2);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send(&fixture, with_a_killer, COUNT(with_a_killer));
	ck_assert_int_eq(live_until_parked(&onced), 4);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 5);
	ck_assert_int_eq(
		pg_fixture_get_int64(&fixture.pg,
				     "SELECT count(*) FROM once.parked "
				     "WHERE msg_id = 'm3' AND crashes = 2 "
				     "AND reason LIKE '2 processes died%'"),
		1);
	ck_assert_int_eq(onced_stop(&onced), 0);
	ck_assert_int_eq(pg_fixture_get_int64(&fixture.pg,
					      "SELECT count(*) FROM "
					      "once.instance WHERE "
					      "once.is_alive(id)"),
			 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* A parked one is always taken alone: its first crash is known already. */
START_TEST(a_parked_message_that_kills_its_process_is_dead_after_as_many)
{
	static const struct letter letters[] = {
		{ 0, "m1", "b1", "reject", "v" },
		{ 0, "m2", "b2", NULL, "v" },
	};
	struct onced_options options = { .instance_id = "a", .lanes = "1" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send(&fixture, letters, COUNT(letters));
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	pg_fixture_run(
		&fixture.pg,
		"UPDATE once.parked SET state = 'waiting', attempts = 0, "
		"retry_at = now(), "
		"header_values = array_replace(header_values, "
		"'reject'::bytea, 'die'::bytea)");
	ck_assert_int_eq(live_until_parked(&onced), 3);
	onced_fixture_check_effects(&fixture, 1);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Put off for long, and nobody's attempt is under way. */
static bool is_put_off(void *arg)
{
	static const struct timespec attempt = { 0, 300000000 };
	struct onced_fixture *fixture = arg;

	pg_fixture_run(&fixture->pg,
		       "UPDATE once.parked SET retry_at = now() + interval "
		       "'1 hour' WHERE retry_at < now() + interval '30 min'");
	nanosleep(&attempt, NULL);
	return pg_fixture_get_int64(&fixture->pg,
				    "SELECT count(*) FROM once.parked "
				    "WHERE retry_at > now() + interval "
				    "'30 min'") == 1;
}

/* Each lane has had it in hand, none has it now; of the process that is killed
 * it is known only that it did nothing. */
START_TEST(an_idle_process_that_is_killed_has_died_of_nothing)
{
	static const struct letter letters[] = {
		{ 0, "m1", "b1", "fail", "v" },
	};
	struct onced_options options = { .instance_id = "a",
					 .lanes = "4",
					 .attempts = "0",
					 .route = "    order: none\n" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send(&fixture, letters, COUNT(letters));
	onced_start(&onced, NULL);
	onced_fixture_wait_for(&fixture,
			       "SELECT count(*) FROM once.parked "
			       "WHERE attempts >= 25",
			       1, WAIT_MS);
	ck_assert(wait_until(is_put_off, &fixture, WAIT_MS));
	onced_kill(&onced);
	pg_fixture_run(&fixture.pg, "UPDATE once.parked SET attempts = 100, "
				    "retry_at = now()");
	onced_start(&onced, NULL);
	onced_fixture_wait_for(&fixture,
			       "SELECT count(*) FROM once.parked "
			       "WHERE state = 'dead' OR attempts > 102",
			       1, WAIT_MS);
	ck_assert_int_eq(
		pg_fixture_get_int64(&fixture.pg,
				     "SELECT count(*) FROM once.parked "
				     "WHERE state = 'waiting' "
				     "AND crashes = 0"),
		1);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* A clean stop, a rebalance, a lost connection: none of them is a crash. */
static const struct {
	const char *act;
	const char *said;
	int code; /* of exit(); -1: a signal */
} crashes[] = {
	{ "segv", "the handler of effect crashed with SIGSEGV at ", -1 },
	{ "abort", "the handler of effect crashed with SIGABRT at ", -1 },
	{ "overflow", "the handler of effect crashed with SIGSEGV at ", -1 },
	{ "exit", "the handler of effect ended the process with exit() at ",
	  3 },
};

START_TEST(a_crash_names_its_handler_and_its_message)
{
	struct letter letters[] = {
		{ 0, "m0", "b0", NULL, "v" },
		{ 0, "m1", "b1", crashes[_i].act, "v" },
	};
	struct onced_options options = { .lanes = "1" };
	struct onced_fixture fixture;
	struct onced onced;
	char place[300];

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send(&fixture, letters, COUNT(letters));
	onced_start(&onced, NULL);
	ck_assert_int_eq(onced_wait(&onced, WAIT_MS) == crashes[_i].code,
			 crashes[_i].code != -1);
	snprintf(place, sizeof(place), "%s%s[0] offset 1", crashes[_i].said,
		 fixture.kafka.topic);
	ck_assert_msg(onced_has_logged(&onced, place), "%s", place);
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, COUNT(letters));
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

static void wait_for_dead(struct onced_fixture *fixture, int64_t attempts)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM once.parked WHERE state = 'dead' "
		 "AND cause = 'attempts' AND attempts = %lld",
		 (long long)attempts);
	onced_fixture_wait_for(fixture, sql, 1, WAIT_MS);
}

/* First as the next of its partition, then, redriven, as a parked one, which
 * all lanes take in turn. */
START_TEST(a_message_that_ends_its_session_is_parked_and_the_rest_flows)
{
	static const struct letter cutter = { 0, "m0", "b0", "cut", "v" };
	struct onced_options options = { .lanes = "4" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 4);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	onced_fixture_send(&fixture, &cutter, 1);
	onced_fixture_send_series(&fixture, 1, 200);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	wait_for_dead(&fixture, 3);
	onced_fixture_check_effects(&fixture, 200);
	pg_fixture_run(
		&fixture.pg,
		"UPDATE once.parked SET state = 'waiting', attempts = 0, "
		"retry_at = now()");
	wait_for_dead(&fixture, 3);
	onced_fixture_send_series(&fixture, 201, 100);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 300);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(what_was_stopped_cleanly_makes_nobody_careful)
{
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 2);
	onced_init(&onced, &fixture, NULL);
	for (int i = 0; i < 2; i++) {
		onced_start(&onced, NULL);
		onced_fixture_send_series(&fixture, fixture.sent, 10);
		onced_fixture_wait_for_all(&fixture, WAIT_MS);
		ck_assert_int_eq(onced_stop(&onced), 0);
	}
	ck_assert(!onced_has_logged(&onced, "one at a time"));
	ck_assert_int_eq(
		pg_fixture_get_int64(&fixture.pg,
				     "SELECT count(*) FROM once.instance"),
		0);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	onced_kill(&onced);
	onced_start(&onced, NULL);
	onced_wait_for_log(&onced, "one at a time", WAIT_MS);
	onced_fixture_send_series(&fixture, fixture.sent, 10);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, fixture.sent);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

static bool has_no_open_transaction(void *arg)
{
	struct onced_fixture *fixture = arg;

	return pg_fixture_get_int64(&fixture->pg,
				    "SELECT count(*) FROM pg_stat_activity "
				    "WHERE application_name = 'onced' "
				    "AND datname = current_database() "
				    "AND state LIKE 'idle in transaction%'") ==
	       0;
}

static bool is_unhealthy(void *arg)
{
	struct onced *onced = arg;
	char *page = NULL;
	bool told = http_get(onced->port, "/healthz", &page) == 503 &&
		    page != NULL && strstr(page, "hasn't returned") != NULL;

	free(page);
	return told;
}

/* It is told, its transaction is cut by the server while it still hangs, and
 * when it does return, nothing of it is committed. */
START_TEST(a_handler_that_does_not_return_is_told_and_cut_off)
{
	static const struct letter letters[] = {
		{ 0, "m1", "b1", "hang", "v" },
		{ 1, "m2", "b2", NULL, "v" },
	};
	struct onced_options options = {
		.lanes = "2",
		.route = "    timeout: 1s\n",
	};
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 2);
	onced_fixture_put_file(&fixture, "hang");
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_fixture_send(&fixture, letters, COUNT(letters));
	onced_fixture_wait_for_file(&fixture, "hanging", WAIT_MS);
	onced_wait_for_log(&onced, "hasn't returned within its timeout",
			   WAIT_MS);
	ck_assert(wait_until(is_unhealthy, &onced, WAIT_MS));
	ck_assert(wait_until(has_no_open_transaction, &fixture, WAIT_MS));
	onced_fixture_remove_file(&fixture, "hang");
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 2);
	ck_assert_int_ge(onced_get_metric(&onced, "onced_retries_total",
					  "cause=\"timeout\""),
			 1);
	ck_assert_int_eq(pg_fixture_get_int64(&fixture.pg,
					      "SELECT attempt FROM effect "
					      "WHERE msg_id = 'm1'"),
			 2);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crashes");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(
		tests,
		a_message_that_kills_its_process_is_parked_and_the_rest_flows);
	tcase_add_test(
		tests,
		a_parked_message_that_kills_its_process_is_dead_after_as_many);
	tcase_add_test(tests,
		       an_idle_process_that_is_killed_has_died_of_nothing);
	tcase_add_test(
		tests,
		a_message_that_ends_its_session_is_parked_and_the_rest_flows);
	tcase_add_loop_test(tests, a_crash_names_its_handler_and_its_message, 0,
			    4);
	tcase_add_test(tests, what_was_stopped_cleanly_makes_nobody_careful);
	tcase_add_test(tests,
		       a_handler_that_does_not_return_is_told_and_cut_off);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
