/*
 * test_clock.c - the database's clock is set while onced runs, or while nobody
 * does, and nothing is forgotten for that.
 *
 * On a server of its own, whose clock the test sets (libfaketime).
 */
#include "onced_fixture.h"
#include "pg_server.h"
#include "servers.h"
#include "suite.h"

#include <glob.h>
#include <stdlib.h>

enum {
	WAIT_MS = 30000,
	SENT = 40
};

struct clocked {
	struct pg_server server;
	struct onced_fixture fixture;
	struct onced onced;
};

static const char count_log[] = "SELECT count(*) FROM once.consume_log";

/* It looks four times within a retention: each 4 s. */
static void start(struct clocked *clocked)
{
	const struct onced_options options = { .retention = "16s" };
	struct once_error err;

	ck_assert_msg(pg_server_create_with_clock(&clocked->server, &err) ==
			      ONCE_OK,
		      "%s", err.text);
	onced_fixture_init_at(&clocked->fixture, 2, clocked->server.conninfo);
	onced_fixture_without_monitor(&clocked->fixture);
	onced_init(&clocked->onced, &clocked->fixture, &options);
	onced_start(&clocked->onced, NULL);
	onced_fixture_send_series(&clocked->fixture, 0, SENT);
	onced_fixture_wait_for_all(&clocked->fixture, WAIT_MS);
}

static void fini(struct clocked *clocked)
{
	onced_fixture_fini(&clocked->fixture);
	pg_server_destroy(&clocked->server);
}

static void check_nothing_is_gone(struct clocked *clocked)
{
	ck_assert_int_eq(pg_fixture_get_int64(&clocked->fixture.pg, count_log),
			 SENT);
}

static bool is_in_doubt(void *arg)
{
	return onced_get_metric(arg, "onced_log_clock_in_doubt", NULL) == 1;
}

static bool is_trusted(void *arg)
{
	return onced_get_metric(arg, "onced_log_clock_in_doubt", NULL) == 0;
}

START_TEST(a_clock_that_is_set_forward_makes_nothing_forgotten)
{
	struct clocked clocked;

	start(&clocked);
	pg_server_set_clock(&clocked.server, "+40d");
	onced_wait_for_log(&clocked.onced,
			   "the database's clock was set forward by 40 days",
			   WAIT_MS);
	ck_assert(wait_until(is_in_doubt, &clocked.onced, WAIT_MS));
	check_nothing_is_gone(&clocked);
	ck_assert_int_eq(onced_command(&clocked.onced, "gc", NULL), 1);
	onced_check_output(&clocked.onced, "--clock-is-right");
	check_nothing_is_gone(&clocked);
	/* somebody has set it right: all goes on by itself */
	pg_server_set_clock(&clocked.server, "+0");
	onced_wait_for_log(&clocked.onced, "the log is cleaned again", WAIT_MS);
	ck_assert(wait_until(is_trusted, &clocked.onced, WAIT_MS));
	ck_assert_int_eq(onced_stop(&clocked.onced), 0);
	fini(&clocked);
}
END_TEST

/* Or it was wrong before, and is right now. */
START_TEST(a_person_confirms_the_clock_and_the_log_is_cleaned)
{
	struct clocked clocked;

	start(&clocked);
	pg_server_set_clock(&clocked.server, "+40d");
	onced_wait_for_log(&clocked.onced, "set forward by 40 days", WAIT_MS);
	check_nothing_is_gone(&clocked);
	ck_assert_int_eq(
		onced_command(&clocked.onced, "gc", "--clock-is-right"), 0);
	onced_fixture_wait_for(&clocked.fixture, count_log, 0, WAIT_MS);
	onced_wait_for_log(&clocked.onced, "the log is cleaned again", WAIT_MS);
	ck_assert_int_ge(
		pg_fixture_get_int64(&clocked.fixture.pg,
				     "SELECT count(*) FROM once.audit "
				     "WHERE subject = 'the clock is right' "
				     "AND person LIKE '%@%'"),
		1);
	ck_assert_int_eq(onced_stop(&clocked.onced), 0);
	fini(&clocked);
}
END_TEST

/* Nobody has watched it, but messages tell the time. */
START_TEST(after_a_stop_only_what_kafka_says_proves_the_clock)
{
	struct clocked clocked;

	start(&clocked);
	ck_assert_int_eq(onced_stop(&clocked.onced), 0);
	pg_server_set_clock(&clocked.server, "+40d");
	onced_start(&clocked.onced, NULL);
	onced_wait_for_log(&clocked.onced, "no message has come to prove it",
			   WAIT_MS);
	onced_fixture_send_series(&clocked.fixture, SENT, 1);
	onced_fixture_wait_for_all(&clocked.fixture, WAIT_MS);
	ck_assert_int_eq(onced_command(&clocked.onced, "gc", NULL), 1);
	ck_assert(is_in_doubt(&clocked.onced));
	ck_assert_int_eq(pg_fixture_get_int64(&clocked.fixture.pg, count_log),
			 SENT + 1);
	/* forty days have passed at last, for whoever looks at both */
	pg_fixture_run(&clocked.fixture.pg,
		       "UPDATE once.consumer SET clock_right_at = now() "
		       "- interval '40 days'");
	pg_server_set_clock(&clocked.server, "+0");
	onced_fixture_send_series(&clocked.fixture, SENT + 1, 1);
	onced_wait_for_log(&clocked.onced, "the log is cleaned again", WAIT_MS);
	ck_assert_int_eq(onced_stop(&clocked.onced), 0);
	fini(&clocked);
}
END_TEST

static bool has_libfaketime(void)
{
	glob_t found;
	bool is_there = glob("/usr/lib/*/faketime/libfaketime.so.1", 0, NULL,
			     &found) == 0;

	if (is_there)
		globfree(&found);
	return is_there;
}

int main(void)
{
	Suite *suite = suite_create("clock");
	TCase *tests = tcase_create("all");

	servers_need(NEED(KAFKA));
	if (!has_libfaketime()) {
		fprintf(stderr, "libfaketime isn't installed\n");
		return servers_skip_code();
	}
	tcase_add_test(tests,
		       a_clock_that_is_set_forward_makes_nothing_forgotten);
	tcase_add_test(tests,
		       a_person_confirms_the_clock_and_the_log_is_cleaned);
	tcase_add_test(tests,
		       after_a_stop_only_what_kafka_says_proves_the_clock);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
