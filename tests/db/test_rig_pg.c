/*
 * test_rig_pg.c - what the tests against PostgreSQL stand on.
 */
#include "pg_fixture.h"
#include "pg_server.h"
#include "servers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(a_test_has_an_empty_database_of_its_own)
{
	struct pg_fixture pg;

	pg_fixture_init(&pg);
	ck_assert_int_eq(pg_fixture_get_int64(
				 &pg, "SELECT count(*) FROM pg_class WHERE "
				      "relnamespace = 'public'::regnamespace"),
			 0);
	pg_fixture_run(&pg, "CREATE TABLE t (x text); "
			    "INSERT INTO t VALUES ('größer'), (NULL)");
	char *text = pg_fixture_get_text(&pg, "SELECT x FROM t");
	ck_assert_str_eq(text, "größer");
	ck_assert_ptr_null(
		pg_fixture_get_text(&pg, "SELECT x FROM t WHERE x IS NULL"));
	free(text);
	pg_fixture_fini(&pg);
}
END_TEST

START_TEST(two_databases_do_not_see_each_other)
{
	struct pg_fixture one;
	struct pg_fixture two;

	pg_fixture_init(&one);
	pg_fixture_init(&two);
	pg_fixture_run(&one, "CREATE TABLE t ()");
	pg_fixture_run(&two, "CREATE TABLE t ()");
	pg_fixture_fini(&one);
	pg_fixture_fini(&two);
}
END_TEST

START_TEST(the_server_is_as_safe_as_a_real_one)
{
	struct pg_fixture pg;
	char *text;

	pg_fixture_init(&pg);
	text = pg_fixture_get_text(&pg, "SHOW fsync");
	ck_assert_str_eq(text, "on");
	free(text);
	ck_assert_int_ge(pg_fixture_get_int64(&pg, "SHOW max_connections"),
			 100);
	pg_fixture_fini(&pg);
}
END_TEST

START_TEST(a_failed_statement_is_found_in_the_log)
{
	const char *log = servers_find_log(SERVER_PG);
	struct pg_fixture pg;
	char *text;

	if (log == NULL)
		return; /* a user's own server */
	pg_fixture_init(&pg);
	PQclear(PQexec(pg.conn, "SELECT no_such_column_in_the_rig"));
	text = read_file(log);
	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_nonnull(strstr(text, "ERROR:  column "
					   "\"no_such_column_in_the_rig\""));
	free(text);
	pg_fixture_fini(&pg);
}
END_TEST

START_TEST(a_private_server_survives_stop_and_kill)
{
	const char *const settings[] = { "work_mem=5MB", NULL };
	struct pg_server server;
	struct once_error err;
	struct pg_fixture pg;

	ck_assert_msg(pg_server_create(&server, settings, &err) == ONCE_OK,
		      "%s", err.text);
	pg_fixture_init_at(&pg, server.conninfo);
	pg_fixture_run(&pg, "CREATE TABLE t (n int)");
	pg_fixture_run(&pg, "INSERT INTO t VALUES (1)");
	pg_server_stop(&server);
	ck_assert_msg(pg_server_start(&server, &err) == ONCE_OK, "%s",
		      err.text);
	pg_fixture_reconnect(&pg);
	pg_fixture_run(&pg, "INSERT INTO t VALUES (2)");
	pg_server_kill(&server);
	ck_assert_msg(pg_server_start(&server, &err) == ONCE_OK, "%s",
		      err.text);
	pg_fixture_reconnect(&pg);
	ck_assert_int_eq(pg_fixture_get_int64(&pg, "SELECT sum(n) FROM t"), 3);
	pg_fixture_fini(&pg);
	pg_server_destroy(&server);
	ck_assert_int_eq(access(server.dir.path, F_OK), -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("the rig: PostgreSQL");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_test(tests, a_test_has_an_empty_database_of_its_own);
	tcase_add_test(tests, two_databases_do_not_see_each_other);
	tcase_add_test(tests, the_server_is_as_safe_as_a_real_one);
	tcase_add_test(tests, a_failed_statement_is_found_in_the_log);
	tcase_add_test(tests, a_private_server_survives_stop_and_kill);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
