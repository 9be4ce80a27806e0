/*
 * test_quiet.c - duplicates are everyday life: many of them leave no trace in
 * PostgreSQL's log, hardly one in ours, and burn nothing.
 */
#include "onced_fixture.h"
#include "pg_server.h"
#include "servers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 50000,
	PARTITIONS = 2,
	ORIGINALS = 500,
	ROUNDS = 40, /* of all of them: 20,000 duplicates */
	LINES_MAX = 10
};

static char *read_whole(const char *path)
{
	char *text = read_file(path);

	ck_assert_ptr_nonnull(text);
	return text;
}

static void check_our_log(const struct onced *onced)
{
	char *log = read_whole(onced->log);
	int lines = 0;

	for (char *at = log; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	ck_assert_msg(strstr(log, "level=warning") == NULL &&
			      strstr(log, "level=error") == NULL &&
			      lines <= LINES_MAX,
		      "%s", log);
	free(log);
}

static void check_numbers(struct onced *onced)
{
	int64_t duplicates =
		onced_get_metric(onced, "onced_intercepts_total", NULL) +
		onced_get_metric(onced, "onced_backstop_hits_total", NULL);

	ck_assert_int_eq(duplicates, (int64_t)ORIGINALS * ROUNDS);
	ck_assert_int_gt(
		onced_get_metric(onced, "onced_backstop_hits_total", NULL), 0);
}

/* C34, C39, C41 */
START_TEST(twenty_thousand_duplicates_leave_no_trace_in_any_log)
{
	static const char *const settings[] = { "log_checkpoints = off", NULL };
	struct onced_fixture fixture;
	struct pg_server server;
	struct onced onced;
	struct once_error err;
	char *before;
	char *after;

	ck_assert_msg(pg_server_create(&server, settings, &err) == ONCE_OK,
		      "%s", err.text);
	onced_fixture_init_at(&fixture, PARTITIONS, server.conninfo);
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	onced_fixture_send_series(&fixture, 0, ORIGINALS);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	before = read_whole(server.log);
	for (int i = 0; i < ROUNDS; i++) {
		fixture.shift = i % 3; /* now and then the other partition */
		onced_fixture_send_series(&fixture, 0, ORIGINALS);
	}
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, ORIGINALS);
	onced_wait_until_counted(&onced, 1, fixture.sent);
	check_numbers(&onced);
	ck_assert_int_eq(onced_stop(&onced), 0);
	after = read_whole(server.log);
	ck_assert_str_eq(after, before);
	check_our_log(&onced);
	ck_assert_int_eq(
		pg_fixture_get_int64(&fixture.pg,
				     "SELECT max(ordinal) FROM effect"),
		ORIGINALS);
	free(before);
	free(after);
	onced_fixture_fini(&fixture);
	pg_server_destroy(&server);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("quiet");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests,
		       twenty_thousand_duplicates_leave_no_trace_in_any_log);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
