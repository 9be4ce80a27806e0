/*
 * test_rights.c - what the database may not let onced do: a schema of another
 * version, a role without rights; and that the documented role is enough.
 *
 * On a server of its own: roles belong to a server, not to a database.
 */
#include "onced_fixture.h"
#include "pg_server.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 30000
};

struct rights {
	struct onced_fixture fixture;
	struct pg_server server;
	struct onced onced;
	char conninfo[600]; /* of the role */
};

static void init(struct rights *rights)
{
	struct onced_options options = { .conninfo = rights->conninfo };
	struct once_error err;

	ck_assert_msg(pg_server_create(&rights->server, NULL, &err) == ONCE_OK,
		      "%s", err.text);
	onced_fixture_init_at(&rights->fixture, 2, rights->server.conninfo);
	snprintf(rights->conninfo, sizeof(rights->conninfo), "%s user=onced",
		 rights->fixture.pg.conninfo);
	onced_init(&rights->onced, &rights->fixture, &options);
}

static void fini(struct rights *rights)
{
	onced_fixture_fini(&rights->fixture);
	pg_server_destroy(&rights->server);
}

static void create_documented_roles(struct rights *rights)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/docs/roles.sql",
		 getenv("ONCE_TEST_SOURCE"));
	pg_fixture_psql(&rights->fixture.pg, path, "role=onced",
			"operator=operator_1");
}

START_TEST(the_documented_role_can_run_and_cannot_migrate)
{
	static const struct letter letters[] = {
		{ 0, "m0", "b0", NULL, "v" },
		{ 1, "m1", "b1", "reject", "v" },
		{ 1, "m0", "b0", NULL, "v" },
	};
	struct rights rights;

	init(&rights);
	create_documented_roles(&rights);
	pg_fixture_run(&rights.fixture.pg, "GRANT INSERT ON effect TO onced");
	onced_start(&rights.onced, NULL);
	onced_fixture_send(&rights.fixture, letters, 3);
	onced_fixture_wait_for_all(&rights.fixture, WAIT_MS);
	onced_fixture_check_effects(&rights.fixture, 1);
	ck_assert_int_eq(onced_command(&rights.onced, "status", NULL), 0);
	ck_assert_int_eq(onced_command(&rights.onced, "gc", NULL), 0);
	ck_assert_int_eq(onced_stop(&rights.onced), 0);
	pg_fixture_run(&rights.fixture.pg,
		       "DELETE FROM once.migration WHERE version = 1");
	ck_assert_int_eq(onced_command(&rights.onced, "migrate", NULL), 77);
	fini(&rights);
}
END_TEST

static int call_parked(struct onced *onced, const char *part,
		       const char *option)
{
	const char *arguments[] = { "parked",      part,   "-c",
				    onced->config, option, NULL };

	return onced_call(onced, arguments);
}

START_TEST(the_documented_operator_touches_no_more_than_people_have_to)
{
	static const struct letter letters[] = {
		{ 0, "m0", "b0", "reject", "v" },
		{ 1, "m1", "b1", "reject", "v" },
	};
	struct onced_options options = { .name = "operator" };
	struct rights rights;
	struct onced person;
	char conninfo[600];

	init(&rights);
	create_documented_roles(&rights);
	pg_fixture_run(&rights.fixture.pg, "GRANT INSERT ON effect TO onced");
	onced_start(&rights.onced, NULL);
	onced_fixture_send(&rights.fixture, letters, 2);
	onced_fixture_wait_for_all(&rights.fixture, WAIT_MS);
	ck_assert_int_eq(onced_stop(&rights.onced), 0);

	snprintf(conninfo, sizeof(conninfo), "%s user=operator_1",
		 rights.fixture.pg.conninfo);
	options.conninfo = conninfo;
	onced_init(&person, &rights.fixture, &options);
	ck_assert_int_eq(onced_command(&person, "status", NULL), 0);
	ck_assert_int_eq(call_parked(&person, "list", NULL), 0);
	ck_assert_int_eq(call_parked(&person, "show", "--key=m0"), 0);
	ck_assert_int_eq(call_parked(&person, "redrive", "--key=m0"), 0);
	onced_check_output(&person, "redriven: 1 message");
	onced_fixture_without_monitor(&rights.fixture);
	ck_assert_int_eq(call_parked(&person, "discard", "--key=m1"), 0);
	onced_check_output(&person, "discarded: 1 message");
	ck_assert_int_eq(onced_command(&person, "gc", NULL), 77);
	onced_check_output(&person, "INSERT on once.consume_log");
	ck_assert_int_eq(onced_command(&person, "gc", "--dry-run"), 0);
	pg_fixture_run(&rights.fixture.pg,
		       "SET ROLE operator_1; DO $$ BEGIN "
		       "UPDATE once.position SET next_offset = 0; "
		       "RAISE 'it may'; EXCEPTION WHEN "
		       "insufficient_privilege THEN NULL; END $$; "
		       "DO $$ BEGIN DELETE FROM once.audit; "
		       "RAISE 'it may'; EXCEPTION WHEN "
		       "insufficient_privilege THEN NULL; END $$; "
		       "SELECT once.set_position('g', 't', 0, 1); "
		       "SELECT once.set_position('g', 't', 0, 2); RESET ROLE");
	fini(&rights);
}
END_TEST

START_TEST(a_role_without_rights_is_told_so_and_ends_with_77)
{
	struct rights rights;

	init(&rights);
	pg_fixture_run(&rights.fixture.pg, "CREATE ROLE onced LOGIN");
	onced_start(&rights.onced, NULL);
	ck_assert_int_eq(onced_wait(&rights.onced, WAIT_MS), 77);
	ck_assert(onced_has_logged(&rights.onced, "permission denied"));
	ck_assert_int_eq(onced_command(&rights.onced, "migrate", NULL), 77);
	onced_check_output(&rights.onced, "permission denied");
	ck_assert_int_eq(onced_command(&rights.onced, "status", NULL), 77);
	fini(&rights);
}
END_TEST

START_TEST(a_schema_that_nobody_made_is_refused_with_the_remedy)
{
	struct rights rights;

	init(&rights);
	onced_fixture_without_monitor(&rights.fixture);
	pg_fixture_run(&rights.fixture.pg,
		       "CREATE ROLE onced LOGIN; DROP SCHEMA once CASCADE");
	onced_start(&rights.onced, NULL);
	ck_assert_int_eq(onced_wait(&rights.onced, WAIT_MS), 78);
	ck_assert(onced_has_logged(&rights.onced, "run \\\"onced migrate\\\""));
	fini(&rights);
}
END_TEST

START_TEST(a_newer_schema_is_refused_naming_both_versions)
{
	struct rights rights;

	init(&rights);
	create_documented_roles(&rights);
	pg_fixture_run(&rights.fixture.pg,
		       "INSERT INTO once.migration (version, name, checksum) "
		       "VALUES (4711, 'from the future', '')");
	onced_start(&rights.onced, NULL);
	ck_assert_int_eq(onced_wait(&rights.onced, WAIT_MS), 78);
	ck_assert(onced_has_logged(&rights.onced, "schema version 4711"));
	ck_assert(onced_has_logged(&rights.onced, "versions up to "));
	fini(&rights);
}
END_TEST

/* The role has to say its password, unlike all others here. */
static void create_special(struct rights *rights)
{
	char path[PATH_MAX + 16];
	char *before;
	FILE *file;

	snprintf(path, sizeof(path), "%s/pg_hba.conf", rights->server.data);
	before = read_file(path);
	ck_assert_ptr_nonnull(before);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "host all special all scram-sha-256\n%s", before);
	ck_assert_int_eq(fclose(file), 0);
	free(before);
	pg_fixture_run(&rights->fixture.pg,
		       "CREATE ROLE special SUPERUSER LOGIN; "
		       "SELECT pg_reload_conf()");
}

static void set_password(struct rights *rights, const char *password)
{
	struct pg_fixture *pg = &rights->fixture.pg;
	char *literal = PQescapeLiteral(pg->conn, password, strlen(password));
	char sql[300];
	char path[PATH_MAX + 16];
	FILE *file;

	snprintf(sql, sizeof(sql), "ALTER ROLE special PASSWORD %s", literal);
	PQfreemem(literal);
	pg_fixture_run(pg, sql);
	snprintf(path, sizeof(path), "%s/secret", rights->fixture.dir.path);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "%s\n", password);
	ck_assert_int_eq(fclose(file), 0);
}

/* One configuration for each form; it is never changed. */
static void init_forms(struct rights *rights, struct onced onced[3])
{
	static const char *const users[] = {
		"user=special password=${file:secret} host=127.0.0.1 port=",
		"password='${file:secret}' user=special host=127.0.0.1 port=",
		"postgresql://special:${file:secret}@127.0.0.1:",
	};
	static const char *const names[] = { "plain", "quoted", "url" };

	for (int i = 0; i < 3; i++) {
		struct onced_options options = { .name = names[i],
						 .conninfo = rights->conninfo };

		snprintf(
			rights->conninfo, sizeof(rights->conninfo), "%s%d%s%s",
			users[i], rights->server.port,
			i == 2 ? "/" : " dbname=", rights->fixture.pg.database);
		onced_init(&onced[i], &rights->fixture, &options);
	}
}

START_TEST(a_secret_file_is_the_password_and_nothing_else_whatever_is_in_it)
{
	static const char *const passwords[] = {
		"plain",
		"a b",
		"it's",
		"back\\slash",
		"p@ss:w/rd#1?%41",
		"q' dbname=postgres user='postgres",
	};
	struct rights rights;
	struct onced onced[3];

	init(&rights);
	create_special(&rights);
	init_forms(&rights, onced);
	for (size_t i = 0; i < sizeof(passwords) / sizeof(*passwords); i++) {
		set_password(&rights, passwords[i]);
		for (int k = 0; k < 3; k++) {
			ck_assert_msg(
				onced_command(&onced[k], "migrate", NULL) == 0,
				"%s in %s", passwords[i], onced[k].config);
			onced_check_output(&onced[k], "was there");
		}
	}
	fini(&rights);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rights");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests, the_documented_role_can_run_and_cannot_migrate);
	tcase_add_test(
		tests,
		the_documented_operator_touches_no_more_than_people_have_to);
	tcase_add_test(tests,
		       a_role_without_rights_is_told_so_and_ends_with_77);
	tcase_add_test(tests,
		       a_schema_that_nobody_made_is_refused_with_the_remedy);
	tcase_add_test(tests, a_newer_schema_is_refused_naming_both_versions);
	tcase_add_test(
		tests,
		a_secret_file_is_the_password_and_nothing_else_whatever_is_in_it);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
