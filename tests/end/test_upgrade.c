/*
 * test_upgrade.c - the schema is migrated by a version that is newer, while
 * this one is at work. (scripts/upgrade does it with two versions that are
 * real.)
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

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

/* ---- with another build of onced, which scripts/upgrade makes ---- */

struct releases {
	struct onced_fixture fixture;
	char program[PATH_MAX];
	char plugin[PATH_MAX];
	struct onced old;
	struct onced new;
};

/* The schema is the old one's. */
static void releases_init(struct releases *releases)
{
	const char *build = getenv("ONCE_TEST_OTHER_BUILD");
	const struct onced_options old = { .name = "old",
					   .program = releases->program,
					   .plugin = releases->plugin,
					   .settings = "delay_ms=2",
					   .batch = "20" };
	const struct onced_options new = { .name = "new",
					   .settings = "delay_ms=2",
					   .batch = "20" };

	snprintf(releases->program, PATH_MAX, "%s/consumer/onced", build);
	snprintf(releases->plugin, PATH_MAX, "%s/tests/handlers/effect.so",
		 build);
	onced_fixture_init(&releases->fixture, 4);
	onced_fixture_without_monitor(&releases->fixture);
	onced_init(&releases->old, &releases->fixture, &old);
	onced_init(&releases->new, &releases->fixture, &new);
	pg_fixture_run(&releases->fixture.pg,
		       "SET client_min_messages = warning; "
		       "DROP SCHEMA once CASCADE");
	ck_assert_int_eq(onced_command(&releases->old, "migrate", NULL), 0);
}

static void send_some(struct releases *releases)
{
	onced_fixture_send_series(&releases->fixture, releases->fixture.sent,
				  SENT);
}

static void wait_for_progress(struct releases *releases)
{
	char sql[100];

	snprintf(sql, sizeof(sql), "SELECT (count(*) > %lld)::int FROM effect",
		 (long long)(releases->fixture.sent - SENT + 20));
	onced_fixture_wait_for(&releases->fixture, sql, 1, WAIT_MS);
}

/* What became of the old one is told, for it depends on which one it is. */
static void tell_end_of_old(struct releases *releases, const char *when)
{
	if (process_is_running(&releases->old.process))
		printf("%s: the old one runs on%s; told to stop, it ends with "
		       "%d\n",
		       when,
		       onced_has_logged(&releases->old, "schema version")
			       ? ", but stands still"
			       : "",
		       onced_stop(&releases->old));
	else
		printf("%s: the old one has ended with %d\n", when,
		       process_exit_code(&releases->old.process));
}

static void end_with_the_new_one(struct releases *releases)
{
	send_some(releases);
	onced_fixture_wait_for_all(&releases->fixture, WAIT_MS);
	onced_fixture_check_effects(&releases->fixture, releases->fixture.sent);
	printf("%lld messages, %lld effects\n",
	       (long long)releases->fixture.sent,
	       (long long)pg_fixture_get_int64(&releases->fixture.pg,
					       "SELECT count(*) FROM effect"));
	ck_assert_int_eq(onced_stop(&releases->new), 0);
	onced_fixture_fini(&releases->fixture);
}

static bool has_met_the_schema(void *arg)
{
	struct releases *releases = arg;

	return !process_is_running(&releases->old.process) ||
	       onced_has_logged(&releases->old, "schema version") ||
	       onced_has_logged(&releases->old, "answers again");
}

START_TEST(the_new_release_takes_over_from_the_old_one_under_load)
{
	struct releases releases;

	releases_init(&releases);
	onced_start(&releases.old, NULL);
	onced_wait_until_ready(&releases.old, WAIT_MS);
	send_some(&releases);
	wait_for_progress(&releases);
	ck_assert_int_eq(onced_command(&releases.new, "migrate", NULL), 0);
	onced_start(&releases.new, NULL);
	send_some(&releases);
	wait_for_progress(&releases); /* side by side */
	send_some(&releases);
	pg_fixture_end_sessions(&releases.fixture.pg, "onced");
	ck_assert(wait_until(has_met_the_schema, &releases, WAIT_MS));
	tell_end_of_old(&releases, "upgrade, sessions cut");
	end_with_the_new_one(&releases);
}
END_TEST

START_TEST(the_old_release_is_started_beside_the_new_one_under_load)
{
	struct releases releases;

	releases_init(&releases);
	ck_assert_int_eq(onced_command(&releases.new, "migrate", NULL), 0);
	onced_start(&releases.new, NULL);
	onced_wait_until_ready(&releases.new, WAIT_MS);
	send_some(&releases);
	wait_for_progress(&releases);
	onced_start(&releases.old, NULL);
	send_some(&releases);
	wait_for_progress(&releases);
	onced_fixture_wait_for_all(&releases.fixture, WAIT_MS);
	tell_end_of_old(&releases, "downgrade");
	end_with_the_new_one(&releases);
}
END_TEST

static TCase *create_releases(void)
{
	TCase *releases = tcase_create("releases");

	tcase_add_test(releases,
		       the_new_release_takes_over_from_the_old_one_under_load);
	tcase_add_test(
		releases,
		the_old_release_is_started_beside_the_new_one_under_load);
	return releases;
}

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
	if (getenv("ONCE_TEST_OTHER_BUILD") != NULL)
		suite_add_tcase(suite, create_releases());
	return suite_run(suite);
}
