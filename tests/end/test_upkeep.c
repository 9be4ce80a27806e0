/*
 * test_upkeep.c - the log is cleaned while onced runs, or by onced gc.
 */
#include "onced_fixture.h"
#include "pg_server.h"
#include "servers.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 30000,
	SENT = 40
};

static const char count_log[] = "SELECT count(*) FROM once.consume_log";

static const char count_cleaners[] = "SELECT count(*) FROM pg_stat_activity "
				     "WHERE application_name = 'onced cleaner' "
				     "AND datname = current_database()";

struct upkeep {
	struct onced_fixture fixture;
	struct onced onced;
};

static void start(struct upkeep *upkeep, const char *retention)
{
	const struct onced_options options = { .retention = retention };

	onced_fixture_init(&upkeep->fixture, 2);
	/* what is cleaned is missed by it */
	onced_fixture_without_monitor(&upkeep->fixture);
	onced_init(&upkeep->onced, &upkeep->fixture, &options);
	onced_start(&upkeep->onced, NULL);
	onced_wait_until_ready(&upkeep->onced, WAIT_MS);
}

static void send_and_wait(struct upkeep *upkeep, int64_t first, int64_t count)
{
	onced_fixture_send_series(&upkeep->fixture, first, count);
	onced_fixture_wait_for_all(&upkeep->fixture, WAIT_MS);
}

static void stop(struct upkeep *upkeep)
{
	ck_assert_int_eq(onced_stop(&upkeep->onced), 0);
	onced_fixture_fini(&upkeep->fixture);
}

/* ---- the cleaner's thread ---- */

static bool has_removed_all(void *arg)
{
	return onced_get_metric(arg, "onced_log_deleted_total", NULL) == SENT &&
	       onced_get_metric(arg, "onced_log_rows", NULL) == 0;
}

START_TEST(the_log_is_cleaned_while_messages_are_handled)
{
	struct upkeep upkeep;

	start(&upkeep, "2s");
	send_and_wait(&upkeep, 0, SENT);
	onced_fixture_wait_for(&upkeep.fixture, count_log, 0, WAIT_MS);
	ck_assert(wait_until(has_removed_all, &upkeep.onced, WAIT_MS));
	ck_assert_int_eq(onced_get_metric(&upkeep.onced,
					  "onced_log_overdue_seconds", NULL),
			 0);
	send_and_wait(&upkeep, SENT, SENT);
	onced_fixture_check_effects(&upkeep.fixture, 2 * SENT);
	stop(&upkeep);
}
END_TEST

static bool is_overdue(void *arg)
{
	return onced_get_metric(arg, "onced_log_overdue_seconds", NULL) > 0;
}

static bool is_not_overdue(void *arg)
{
	return onced_get_metric(arg, "onced_log_overdue_seconds", NULL) == 0;
}

static const char hold_sql[] = "SELECT pg_advisory_lock(hashtextextended("
			       "'onced cleaner ' || id, 0)) FROM once.consumer";

/* Rows are older than they should be, and nobody can remove them. */
START_TEST(what_the_cleaner_is_behind_is_a_metric) /* C57 */
{
	struct upkeep upkeep;

	start(&upkeep, "1s");
	pg_fixture_run(&upkeep.fixture.pg, hold_sql);
	send_and_wait(&upkeep, 0, SENT);
	ck_assert(wait_until(is_overdue, &upkeep.onced, WAIT_MS));
	ck_assert_int_ge(onced_get_metric(&upkeep.onced,
					  "onced_log_oldest_age_seconds", NULL),
			 1);
	ck_assert_int_eq(pg_fixture_get_int64(&upkeep.fixture.pg, count_log),
			 SENT);
	pg_fixture_run(&upkeep.fixture.pg, "SELECT pg_advisory_unlock_all()");
	ck_assert(wait_until(is_not_overdue, &upkeep.onced, WAIT_MS));
	onced_fixture_wait_for(&upkeep.fixture, count_log, 0, WAIT_MS);
	stop(&upkeep);
}
END_TEST

START_TEST(a_cleaner_whose_session_is_cut_says_so_once_and_comes_back)
{
	struct upkeep upkeep;

	start(&upkeep, "1s");
	onced_fixture_wait_for(&upkeep.fixture, count_cleaners, 1, WAIT_MS);
	pg_fixture_end_sessions(&upkeep.fixture.pg, "onced cleaner");
	onced_wait_for_log(&upkeep.onced, "could not clean the consume log",
			   WAIT_MS);
	onced_wait_for_log(&upkeep.onced, "the consume log is cleaned again",
			   WAIT_MS);
	send_and_wait(&upkeep, 0, SENT);
	onced_fixture_wait_for(&upkeep.fixture, count_log, 0, WAIT_MS);
	stop(&upkeep);
}
END_TEST

static void send_signal(struct onced_fixture *fixture, int number)
{
	int64_t pid = pg_fixture_get_int64(
		&fixture->pg, "SELECT max(pid) FROM pg_stat_activity "
			      "WHERE application_name = 'onced cleaner' "
			      "AND datname = current_database()");

	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(kill((pid_t)pid, number), 0);
}

static const char count_overdue[] =
	"SELECT count(*) FROM once.consume_log "
	"WHERE consumed_at < now() - interval '4 seconds'";

/* A process that leaves a thread behind, joins none: ThreadSanitizer would call
 * that a leak. */
static void expect_threads_left_behind(void)
{
	const char *given = getenv("TSAN_OPTIONS");
	char options[PATH_MAX];

	snprintf(options, sizeof(options), "%s:report_thread_leaks=0",
		 given == NULL ? "" : given);
	ck_assert_int_eq(setenv("TSAN_OPTIONS", options, 1), 0);
}

/* The server's side of its session is frozen. */
START_TEST(a_cleaner_that_gets_no_answer_holds_up_no_stop)
{
	const struct onced_options options = { .retention = "1s" };
	struct pg_server server;
	struct onced_fixture fixture;
	struct onced onced;
	struct once_error err;
	int code;

	ck_assert_msg(pg_server_create(&server, NULL, &err) == ONCE_OK, "%s",
		      err.text);
	onced_fixture_init_at(&fixture, 2, server.conninfo);
	onced_fixture_without_monitor(&fixture);
	onced_init(&onced, &fixture, &options);
	expect_threads_left_behind();
	onced_start(&onced, NULL);
	onced_fixture_wait_for(&fixture, count_cleaners, 1, WAIT_MS);
	send_signal(&fixture, SIGSTOP);
	onced_fixture_send_series(&fixture, 0, SENT);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_wait_for(&fixture, count_overdue, SENT, WAIT_MS);
	code = onced_stop(&onced);
	send_signal(&fixture, SIGCONT);
	ck_assert_int_eq(code, 0);
	ck_assert(
		onced_has_logged(&onced, "the cleaner's session did not end"));
	onced_fixture_check_effects(&fixture, SENT);
	onced_fixture_fini(&fixture);
	pg_server_destroy(&server);
}
END_TEST

static bool is_very_old(void *arg)
{
	return onced_get_metric(arg, "onced_log_oldest_age_seconds", NULL) >=
	       INT64_C(1000) * 86400;
}

START_TEST(for_ever_removes_nothing_and_is_told_in_numbers)
{
	struct upkeep upkeep;

	onced_fixture_init(&upkeep.fixture, 2);
	onced_init(&upkeep.onced, &upkeep.fixture, NULL);
	onced_start(&upkeep.onced, NULL);
	send_and_wait(&upkeep, 0, SENT);
	ck_assert_int_eq(onced_stop(&upkeep.onced), 0);
	pg_fixture_run(&upkeep.fixture.pg,
		       "UPDATE once.consume_log "
		       "SET consumed_at = now() - interval '1000 days'");
	onced_start(&upkeep.onced, NULL); /* it looks at its start */
	onced_wait_until_ready(&upkeep.onced, WAIT_MS);
	ck_assert(wait_until(is_very_old, &upkeep.onced, WAIT_MS));
	ck_assert_int_eq(
		onced_get_metric(&upkeep.onced, "onced_log_rows", NULL), SENT);
	ck_assert_int_eq(onced_get_metric(&upkeep.onced,
					  "onced_log_overdue_seconds", NULL),
			 0);
	ck_assert_int_eq(pg_fixture_get_int64(&upkeep.fixture.pg, count_log),
			 SENT);
	stop(&upkeep);
}
END_TEST

/* ---- onced gc ---- */

/* Handled, and stopped. */
static void handle_all(struct upkeep *upkeep, const char *retention)
{
	start(upkeep, retention);
	send_and_wait(upkeep, 0, SENT);
	ck_assert_int_eq(onced_stop(&upkeep->onced), 0);
}

static void age_all(struct upkeep *upkeep)
{
	pg_fixture_run(&upkeep->fixture.pg,
		       "UPDATE once.consume_log "
		       "SET consumed_at = now() - interval '3 days'");
}

static int call_gc(struct upkeep *upkeep, const char *first, const char *second)
{
	const char *arguments[] = { "gc",  "-c",   upkeep->onced.config,
				    first, second, NULL };

	return onced_call(&upkeep->onced, arguments);
}

static int64_t count_rows(struct upkeep *upkeep)
{
	return pg_fixture_get_int64(&upkeep->fixture.pg, count_log);
}

START_TEST(gc_removes_what_is_old_and_tells_it_by_scope)
{
	struct upkeep upkeep;

	handle_all(&upkeep, "1d");
	ck_assert_int_eq(call_gc(&upkeep, NULL, NULL), 0);
	ck_assert_int_eq(count_rows(&upkeep), SENT);
	age_all(&upkeep);
	ck_assert_int_eq(call_gc(&upkeep, "--dry-run", NULL), 0);
	onced_check_output(&upkeep.onced, "would remove");
	onced_check_output(&upkeep.onced, "nothing was changed");
	ck_assert_int_eq(count_rows(&upkeep), SENT);
	ck_assert_int_eq(call_gc(&upkeep, "--json", NULL), 0);
	onced_check_output(
		&upkeep.onced,
		"\"has_route\":true,\"busy\":false,\"in_doubt\":false,"
		"\"removed\":40,"
		"\"kept\":0,\"rows\":0,\"rows_exact\":true,"
		"\"oldest_age_seconds\":null,"
		"\"overdue_seconds\":0}]");
	ck_assert_int_eq(count_rows(&upkeep), 0);
	onced_fixture_fini(&upkeep.fixture);
}
END_TEST

START_TEST(gc_keeps_what_the_group_may_read_again_and_says_so)
{
	struct upkeep upkeep;

	handle_all(&upkeep, "1d");
	age_all(&upkeep);
	pg_fixture_run(
		&upkeep.fixture.pg,
		"UPDATE once.position SET next_offset = next_offset - 3");
	ck_assert_int_eq(call_gc(&upkeep, NULL, NULL), 0);
	onced_check_output(&upkeep.onced, "a group may read again");
	ck_assert_int_eq(count_rows(&upkeep), 6);
	onced_start(&upkeep.onced, NULL);
	onced_fixture_wait_for_all(&upkeep.fixture, WAIT_MS);
	onced_fixture_check_effects(&upkeep.fixture, SENT);
	stop(&upkeep);
}
END_TEST

START_TEST(gc_leaves_a_scope_to_the_cleaner_that_has_it)
{
	struct upkeep upkeep;

	handle_all(&upkeep, "1d");
	age_all(&upkeep);
	pg_fixture_run(&upkeep.fixture.pg, hold_sql);
	ck_assert_int_eq(call_gc(&upkeep, NULL, NULL), 0);
	onced_check_output(&upkeep.onced, "another cleaner is at it");
	ck_assert_int_eq(count_rows(&upkeep), SENT);
	onced_fixture_fini(&upkeep.fixture);
}
END_TEST

START_TEST(a_scope_without_a_route_is_told_and_removed_only_by_name)
{
	struct upkeep upkeep;
	char *scope;

	handle_all(&upkeep, "1d");
	age_all(&upkeep);
	scope = pg_fixture_get_text(&upkeep.fixture.pg,
				    "SELECT scope FROM once.consumer");
	ck_assert_int_eq(call_gc(&upkeep, "--scope", scope), 64);
	onced_check_output(&upkeep.onced, "that scope is a route's");
	pg_fixture_run(&upkeep.fixture.pg,
		       "UPDATE once.consumer SET scope = 'old/name'");
	free(scope);
	ck_assert_int_eq(call_gc(&upkeep, NULL, NULL), 0);
	onced_check_output(&upkeep.onced, "onced gc --scope 'old/name'");
	ck_assert_int_eq(count_rows(&upkeep), SENT);
	ck_assert_int_eq(call_gc(&upkeep, "--scope", "no/name"), 64);
	onced_check_output(&upkeep.onced, "no scope");
	/* its retention is its own, not that of this configuration */
	pg_fixture_run(&upkeep.fixture.pg,
		       "UPDATE once.consumer_group SET retention_ms = "
		       "30::bigint * 86400000");
	ck_assert_int_eq(call_gc(&upkeep, "--scope", "old/name"), 0);
	ck_assert_int_eq(count_rows(&upkeep), SENT);
	pg_fixture_run(&upkeep.fixture.pg,
		       "UPDATE once.consumer_group SET retention_ms = NULL");
	ck_assert_int_eq(call_gc(&upkeep, "--scope", "old/name"), 64);
	onced_check_output(&upkeep.onced, "say it with --older-than");
	ck_assert_int_eq(count_rows(&upkeep), SENT);
	ck_assert_int_eq(
		call_gc(&upkeep, "--scope=old/name", "--older-than=1d"), 0);
	ck_assert_int_eq(count_rows(&upkeep), 0);
	ck_assert_int_eq(
		pg_fixture_get_int64(&upkeep.fixture.pg,
				     "SELECT rows_changed FROM once.audit "
				     "WHERE command = 'gc' AND person LIKE "
				     "'%@%' AND subject = 'scope old/name'"),
		SENT);
	onced_fixture_fini(&upkeep.fixture);
}
END_TEST

START_TEST(a_scope_that_a_running_process_reads_under_is_refused)
{
	const struct onced_options renamed = {
		.name = "renamed",
		.retention = "1d",
		.route = "    scope: new/name\n",
	};
	struct upkeep upkeep;
	struct onced other;
	char scope[200];

	start(&upkeep, "1d");
	send_and_wait(&upkeep, 0, SENT);
	age_all(&upkeep);
	onced_init(&other, &upkeep.fixture, &renamed);
	snprintf(scope, sizeof(scope), "--scope=%s/effect",
		 upkeep.fixture.kafka.group);
	ck_assert_int_eq(
		onced_call(&other, (const char *[]){ "gc", "-c", other.config,
						     scope, NULL }),
		1);
	onced_check_output(&other, "a running process reads under scope");
	stop(&upkeep);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upkeep");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests, the_log_is_cleaned_while_messages_are_handled);
	tcase_add_test(tests, what_the_cleaner_is_behind_is_a_metric);
	tcase_add_test(
		tests,
		a_cleaner_whose_session_is_cut_says_so_once_and_comes_back);
	tcase_add_test(tests, a_cleaner_that_gets_no_answer_holds_up_no_stop);
	tcase_add_test(tests, for_ever_removes_nothing_and_is_told_in_numbers);
	tcase_add_test(tests, gc_removes_what_is_old_and_tells_it_by_scope);
	tcase_add_test(tests,
		       gc_keeps_what_the_group_may_read_again_and_says_so);
	tcase_add_test(tests, gc_leaves_a_scope_to_the_cleaner_that_has_it);
	tcase_add_test(
		tests,
		a_scope_without_a_route_is_told_and_removed_only_by_name);
	tcase_add_test(tests,
		       a_scope_that_a_running_process_reads_under_is_refused);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
