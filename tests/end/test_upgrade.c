/*
 * test_upgrade.c - the schema is migrated by a version that is newer, while
 * this one is at work. (scripts/upgrade does it with two versions that are
 * real.)
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

enum {
	WAIT_MS = 30000,
	SENT = 200
};

static const char lets_us_run[] =
	"INSERT INTO once.migration (version, name, checksum, least_version) "
	"SELECT 4711, 'next', '', max(version) FROM once.migration";

/* Nothing is said of others, as by default. */
static const char lets_nobody_run[] =
	"INSERT INTO once.migration (version, name, checksum) "
	"VALUES (4711, 'next', '')";

struct upgrade {
	struct onced_fixture fixture;
	struct onced onced;
};

static void start_under_load(struct upgrade *upgrade)
{
	const struct onced_options slow = { .settings = "delay_ms=2",
					    .batch = "20" };

	onced_fixture_init(&upgrade->fixture, 2);
	onced_init(&upgrade->onced, &upgrade->fixture, &slow);
	onced_start(&upgrade->onced, NULL);
	onced_wait_until_ready(&upgrade->onced, WAIT_MS);
	onced_fixture_send_series(&upgrade->fixture, 0, SENT);
	onced_fixture_wait_for(&upgrade->fixture,
			       "SELECT (count(*) > 20)::int FROM effect", 1,
			       WAIT_MS);
}

static void end_well(struct upgrade *upgrade)
{
	onced_fixture_wait_for_all(&upgrade->fixture, WAIT_MS);
	onced_fixture_check_effects(&upgrade->fixture, upgrade->fixture.sent);
	ck_assert_int_eq(onced_stop(&upgrade->onced), 0);
}

START_TEST(the_old_process_goes_on_where_the_newer_schema_lets_it)
{
	struct upgrade upgrade;

	start_under_load(&upgrade);
	pg_fixture_run(&upgrade.fixture.pg, lets_us_run);
	pg_fixture_end_sessions(&upgrade.fixture.pg, "onced");
	onced_fixture_send_series(&upgrade.fixture, SENT, SENT);
	end_well(&upgrade);
	onced_start(&upgrade.onced, NULL); /* a restart is no downgrade */
	onced_fixture_send_series(&upgrade.fixture, 2 * SENT, SENT);
	end_well(&upgrade);
	ck_assert_int_eq(onced_command(&upgrade.onced, "migrate", NULL), 0);
	ck_assert_int_eq(onced_command(&upgrade.onced, "status", NULL), 0);
	onced_fixture_fini(&upgrade.fixture);
}
END_TEST

/* Where a session is lost, at once; where none is, within ten seconds. */
START_TEST(the_old_process_ends_with_78_where_it_does_not)
{
	bool is_cut = _i == 0;
	struct upgrade upgrade;

	start_under_load(&upgrade);
	pg_fixture_run(&upgrade.fixture.pg, lets_nobody_run);
	if (is_cut)
		pg_fixture_end_sessions(&upgrade.fixture.pg, "onced");
	ck_assert_int_eq(onced_wait(&upgrade.onced, WAIT_MS), 78);
	ck_assert(onced_has_logged(&upgrade.onced, "schema version 4711"));
	pg_fixture_run(&upgrade.fixture.pg,
		       "DELETE FROM once.migration WHERE version = 4711");
	onced_start(&upgrade.onced, NULL);
	end_well(&upgrade);
	onced_fixture_fini(&upgrade.fixture);
}
END_TEST

/* What a person does to a table, a person undoes. */
START_TEST(a_column_that_is_gone_for_a_moment_is_waited_for)
{
	struct upgrade upgrade;

	start_under_load(&upgrade);
	pg_fixture_run(&upgrade.fixture.pg,
		       "ALTER TABLE once.position RENAME attempts TO tries");
	onced_wait_until_not_ready(&upgrade.onced, "attempts", WAIT_MS);
	pg_fixture_run(&upgrade.fixture.pg,
		       "ALTER TABLE once.position RENAME tries TO attempts");
	end_well(&upgrade);
	onced_fixture_fini(&upgrade.fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upgrade");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests,
		       the_old_process_goes_on_where_the_newer_schema_lets_it);
	tcase_add_loop_test(
		tests, the_old_process_ends_with_78_where_it_does_not, 0, 2);
	tcase_add_test(tests, a_column_that_is_gone_for_a_moment_is_waited_for);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
