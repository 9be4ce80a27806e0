/*
 * test_plugin_names.c - a plugin that brings functions of the same names as the
 * libraries under onced. Not under a sanitizer, whose malloc plugins have to
 * share by the common way.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

enum {
	WAIT_MS = 30000,
	SENT = 10
};

START_TEST(a_plugin_calls_its_own_functions_and_shares_libpq)
{
	struct onced_options options = { .plugin = "own_names" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	ck_assert_int_eq(onced_command(&onced, "check", NULL), 0);
	onced_start(&onced, NULL);
	onced_fixture_send_series(&fixture, 0, SENT);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM effect", SENT,
			       WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plugins' names");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests,
		       a_plugin_calls_its_own_functions_and_shares_libpq);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
