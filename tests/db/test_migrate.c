/*
 * test_migrate.c - bringing the schema up to date: by ten at once, by those who
 * may and those who mayn't, and never against what the database knows.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MIGRATORS = 10
};

static struct pg_fixture pg;
static struct once_error err;

static void set_up(void)
{
	pg_fixture_init(&pg);
}

static void tear_down(void)
{
	pg_fixture_fini(&pg);
}

static void count_applied(void *arg, int version, const char *name, int applied,
			  const char *sql)
{
	ck_assert_int_gt(version, 0);
	ck_assert_ptr_nonnull(name);
	ck_assert_ptr_nonnull(strstr(sql, " once."));
	*(int *)arg += applied;
}

static int migrate(int dry_run)
{
	int applied = 0;

	ck_assert_msg(once_migrate(pg.conninfo, dry_run, count_applied,
				   &applied, &err) == ONCE_OK,
		      "%s", err.text);
	return applied;
}

static enum once_status check(void)
{
	return once_schema_check(pg.conninfo, &err);
}

START_TEST(a_migration_is_applied_once)
{
	ck_assert_int_eq(check(), ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "onced migrate"));
	ck_assert_int_eq(migrate(0), once_schema_version());
	ck_assert_int_eq(check(), ONCE_OK);
	ck_assert_int_eq(migrate(0), 0);
}
END_TEST

START_TEST(ten_at_once_apply_it_once)
{
	pid_t pids[MIGRATORS];
	int applied = 0;
	int status = 0;

	for (int i = 0; i < MIGRATORS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(once_migrate(pg.conninfo, 0, count_applied,
					   &applied, NULL) == ONCE_OK
				      ? applied
				      : 100);
	}
	for (int i = 0; i < MIGRATORS; i++) {
		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert(WIFEXITED(status));
		applied += WEXITSTATUS(status);
	}
	ck_assert_int_eq(applied, once_schema_version());
	ck_assert_int_eq(check(), ONCE_OK);
}
END_TEST

START_TEST(a_dry_run_only_tells)
{
	ck_assert_int_eq(migrate(1), once_schema_version());
	ck_assert_int_eq(
		pg_fixture_get_int64(&pg, "SELECT count(*) FROM pg_namespace "
					  "WHERE nspname = 'once'"),
		0);
	migrate(0);
	ck_assert_int_eq(migrate(1), 0);
}
END_TEST

START_TEST(a_migration_that_was_changed_is_refused)
{
	migrate(0);
	pg_fixture_run(&pg, "UPDATE once.migration SET checksum = 'other'");
	ck_assert_int_eq(once_migrate(pg.conninfo, 0, NULL, NULL, &err),
			 ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "0001_once"));
}
END_TEST

START_TEST(a_newer_schema_is_refused_with_both_versions)
{
	char ours[16];

	snprintf(ours, sizeof(ours), "%d", once_schema_version());
	migrate(0);
	pg_fixture_run(&pg, "INSERT INTO once.migration (version, name, "
			    "checksum) VALUES (9876, 'future', '')");
	ck_assert_int_eq(once_migrate(pg.conninfo, 0, NULL, NULL, &err),
			 ONCE_CONFIG);
	ck_assert_int_eq(check(), ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "9876"));
	ck_assert_ptr_nonnull(strstr(err.text, ours));
}
END_TEST

/* A rolling upgrade: the next version has migrated, this one runs on. */
START_TEST(a_newer_schema_that_lets_older_ones_run_is_good)
{
	char sql[256];

	migrate(0);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO once.migration (version, name, checksum, "
		 "least_version) VALUES (9876, 'future', '', %d)",
		 once_schema_version());
	pg_fixture_run(&pg, sql);
	ck_assert_int_eq(check(), ONCE_OK);
	ck_assert_int_eq(migrate(0), 0);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO once.migration (version, name, checksum, "
		 "least_version) VALUES (9875, 'not for us', '', %d)",
		 once_schema_version() + 1);
	pg_fixture_run(&pg, sql);
	ck_assert_int_eq(check(), ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "9876"));
}
END_TEST

START_TEST(a_migration_says_who_may_still_run_on_it)
{
	migrate(0);
	ck_assert_int_eq(pg_fixture_get_int64(&pg,
					      "SELECT least_version "
					      "FROM once.migration "
					      "WHERE name = '0006_upkeep'"),
			 4);
	ck_assert_int_eq(pg_fixture_get_int64(&pg, "SELECT least_version "
						   "FROM once.migration "
						   "WHERE name = '0001_once'"),
			 1);
}
END_TEST

START_TEST(a_migration_that_fails_leaves_nothing)
{
	pg_fixture_run(&pg, "CREATE SCHEMA once; "
			    "CREATE TABLE once.outbox ()"); /* in the way */
	ck_assert_int_ne(once_migrate(pg.conninfo, 0, NULL, NULL, &err),
			 ONCE_OK);
	ck_assert_ptr_nonnull(strstr(err.text, "outbox"));
	ck_assert_int_eq(pg_fixture_get_int64(
				 &pg, "SELECT count(*) FROM once.migration"),
			 0);
	pg_fixture_run(&pg, "DROP TABLE once.outbox");
	ck_assert_int_eq(migrate(0), once_schema_version());
}
END_TEST

/* Keys are UTF-8; one that the database can't hold would stop its lane. */
START_TEST(a_database_of_another_encoding_is_refused)
{
	char sql[256];
	char conninfo[640];

	snprintf(sql, sizeof(sql),
		 "CREATE DATABASE %s_latin TEMPLATE template0 ENCODING "
		 "'LATIN1' LOCALE 'C'",
		 pg.database);
	pg_fixture_run(&pg, sql);
	snprintf(conninfo, sizeof(conninfo), "%s dbname=%s_latin", pg.conninfo,
		 pg.database);
	ck_assert_int_eq(once_migrate(conninfo, 0, NULL, NULL, &err),
			 ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "LATIN1"));
	snprintf(sql, sizeof(sql), "DROP DATABASE %s_latin WITH (FORCE)",
		 pg.database);
	pg_fixture_run(&pg, sql);
}
END_TEST

/* ---- a change stream of the database ---- */

static const char without_identity[] =
	"SELECT count(*) FROM pg_class AS c "
	"JOIN pg_namespace AS n ON n.oid = c.relnamespace "
	"WHERE n.nspname = 'once' AND c.relkind IN ('r', 'p') "
	"AND c.relreplident <> 'f' AND NOT EXISTS (SELECT FROM pg_index AS i "
	"WHERE i.indrelid = c.oid AND (i.indisreplident OR i.indisprimary "
	"AND c.relreplident = 'd'))";

START_TEST(every_table_says_by_what_its_rows_are_known)
{
	migrate(0);
	ck_assert_int_eq(pg_fixture_get_int64(&pg, without_identity), 0);
}
END_TEST

START_TEST(a_published_table_whose_rows_have_no_identity_is_a_fault)
{
	migrate(0);
	pg_fixture_run(&pg,
		       "ALTER TABLE once.position REPLICA IDENTITY NOTHING;"
		       "SET client_min_messages = error;"
		       "CREATE PUBLICATION added FOR ALL TABLES "
		       "WITH (publish = 'insert')");
	ck_assert_int_eq(check(), ONCE_OK); /* nobody changes an insert */
	pg_fixture_run(&pg, "CREATE PUBLICATION everything FOR ALL TABLES");
	ck_assert_int_eq(check(), ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "once.position"));
	ck_assert_ptr_nonnull(strstr(err.text, "REPLICA IDENTITY"));
	pg_fixture_run(&pg,
		       "ALTER TABLE once.position REPLICA IDENTITY DEFAULT");
	ck_assert_int_eq(check(), ONCE_OK);
}
END_TEST

/* ---- the role of docs/roles.sql ---- */

static char role[64];

/* It can be run again. */
static void run_roles_sql(void)
{
	char path[1024];
	char role_variable[128];
	char operator_variable[128];

	snprintf(path, sizeof(path), "%s/docs/roles.sql",
		 getenv("ONCE_TEST_SOURCE"));
	snprintf(role_variable, sizeof(role_variable), "role=%s", role);
	snprintf(operator_variable, sizeof(operator_variable),
		 "operator=%s_person", role);
	pg_fixture_psql(&pg, path, role_variable, operator_variable);
}

static void create_role(void)
{
	snprintf(role, sizeof(role), "once_test_role_%d", (int)getpid());
	run_roles_sql();
}

static void drop_role(void)
{
	char sql[320];

	snprintf(sql, sizeof(sql),
		 "DROP OWNED BY %s, %s_person; DROP ROLE %s, %s_person", role,
		 role, role, role);
	pg_fixture_run(&pg, sql);
}

static const char *conninfo_of_role(void)
{
	static char conninfo[640];

	snprintf(conninfo, sizeof(conninfo), "%s options='-c role=%s'",
		 pg.conninfo, role);
	return conninfo;
}

static struct trial trial;

static void set_up_role(void)
{
	char sql[256];

	trial_init(&trial, NULL, 0);
	pg = trial.pg;
	create_role();
	snprintf(sql, sizeof(sql), "GRANT INSERT, SELECT ON effect TO %s",
		 role);
	pg_fixture_run(&pg, sql);
	once_session_destroy(trial.session);
	trial.session = trial_open_session(&trial, conninfo_of_role());
}

static void tear_down_role(void)
{
	drop_role();
	trial_fini(&trial);
}

/* Whatever ends a message in whichever way. */
static enum once_verdict end_somehow(void *self, const struct once_message *msg,
				     struct once_call *call)
{
	struct once_bytes result = { "r", 1 };

	(void)self;
	once_set_result(call, result);
	ck_assert_ptr_nonnull(once_pgconn(call));
	return once_offset(msg) == 0 ? ONCE_REJECT : ONCE_DONE;
}

START_TEST(a_role_that_may_run_can_run)
{
	static const int64_t zero[] = { 0 };
	struct once_strand strand = { "g", "t", 0, 0, 0, 0 };
	struct mail mail;

	trial_poison = end_somehow;
	ck_assert_msg(once_session_create_positions(trial.session, "g", "t",
						    zero, 1,
						    &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
	mail_init(&mail, 3);
	mail_set_value(&mail, 0, "poison");
	mail_set_value(&mail, 1, "poison");
	mail_set_biz(&mail, 2, "b1");
	for (size_t i = 0; i < 3; i++)
		mail_set_strand(&mail, i, &strand);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_DEAD_ENDING);
	ck_ending(mail.items[1], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[2], ONCE_CONFLICT_ENDING);
	mail_fini(&mail);
}
END_TEST

START_TEST(a_role_that_may_run_may_not_migrate)
{
	ck_assert_int_eq(once_migrate(conninfo_of_role(), 0, NULL, NULL, &err),
			 ONCE_OK); /* nothing to do */
	pg_fixture_run(&pg, "SET client_min_messages = warning; "
			    "DROP SCHEMA once CASCADE");
	ck_assert_int_eq(once_migrate(conninfo_of_role(), 0, NULL, NULL, &err),
			 ONCE_DENIED);
	ck_assert_str_eq(err.sqlstate, "42501");
}
END_TEST

START_TEST(a_grant_that_is_missing_is_denied)
{
	static const char *const tables[] = { "consume_log", "consumer",
					      "migration", "position",
					      "parked" };
	struct once_strand strand = { "g", "t", 0, 0, 0, 0 };
	static const int64_t zero[] = { 0 };
	struct mail mail;
	char sql[256];

	ck_assert_int_eq(once_session_create_positions(trial.session, "g", "t",
						       zero, 1, &trial.err),
			 ONCE_OK);
	once_session_destroy(trial.session);
	trial.session = trial_open_session(&trial, conninfo_of_role());
	snprintf(sql, sizeof(sql), "REVOKE ALL ON once.%s FROM %s", tables[_i],
		 role);
	pg_fixture_run(&pg, sql);
	trial_poison = end_somehow;
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	mail_set_strand(&mail, 0, &strand);
	trial_run(&trial, &mail, ONCE_DENIED);
	ck_ending(mail.items[0], ONCE_PENDING_ENDING);
	mail_fini(&mail);
}
END_TEST

/* ---- what the role can't do ---- */

static const char *const forbidden[] = {
	"DELETE FROM once.consume_log",
	"UPDATE once.consume_log SET msg_id = 'other'",
	"UPDATE once.consume_log SET consumed_at = now()",
	"INSERT INTO once.consume_log (consumer_id, msg_id, topic, partition, "
	"message_offset, consumed_at) VALUES (1, 'x', 't', 0, 0, now())",
	"TRUNCATE once.consume_log",
	"DELETE FROM once.position",
	"UPDATE once.position SET group_name = 'other'",
	"DELETE FROM once.tenure",
	"UPDATE once.parked SET value = ''",
	"UPDATE once.audit SET person = 'nobody'",
	"INSERT INTO once.audit (database_role, person, command, subject, "
	"rows_changed) VALUES ('postgres', 'p', 'c', 's', 0)",
	"SELECT once.set_position('g', 't', 0, 0)",
};

START_TEST(a_role_that_may_run_may_not_change_the_past)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SET ROLE %s; DO $$ BEGIN EXECUTE %s%s%s; "
		 "RAISE 'it may'; EXCEPTION WHEN insufficient_privilege "
		 "THEN NULL; END $$; RESET ROLE",
		 role, "$s$", forbidden[_i], "$s$");
	pg_fixture_run(&pg, sql);
}
END_TEST

/* Whatever it asks for. */
START_TEST(a_role_that_may_run_removes_no_claim_that_may_be_asked_for)
{
	struct mail mail;
	char sql[512];

	mail_init(&mail, 3);
	trial_run(&trial, &mail, ONCE_OK);
	mail_fini(&mail);
	pg_fixture_run(&pg, "UPDATE once.consumer_group SET retention_ms = 0; "
			    "INSERT INTO once.consumer_group (consumer_id, "
			    "group_name, retention_ms) SELECT id, 'other', "
			    "3600000 FROM once.consumer");
	snprintf(
		sql, sizeof(sql),
		"SET ROLE %s; SELECT once.clean(c.id, '-infinity', 'infinity', "
		"0, 1000, 1) FROM once.consumer AS c; "
		"DO $$ BEGIN PERFORM once.unclaim(id, '{m0,m1,m2}') "
		"FROM once.consumer; RAISE 'it may'; EXCEPTION WHEN "
		"object_not_in_prerequisite_state THEN NULL; END $$; "
		"RESET ROLE",
		role);
	pg_fixture_run(&pg, sql);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.consume_log"),
		3);
	pg_fixture_run(&pg, "UPDATE once.consume_log "
			    "SET consumed_at = now() - interval '2 hours'");
	pg_fixture_run(&pg, sql);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.consume_log"),
		0);
}
END_TEST

START_TEST(the_audit_has_the_databases_word_on_who_it_was)
{
	char sql[256];

	snprintf(
		sql, sizeof(sql),
		"SET ROLE %s; INSERT INTO once.audit (person, command, "
		"subject, rows_changed) VALUES ('me', 'c', 's', 0); RESET ROLE",
		role);
	pg_fixture_run(&pg, sql);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM once.audit "
				     "WHERE database_role = session_user"),
			 1);
}
END_TEST

/* The next version's processes come before docs/roles.sql is run again. */
START_TEST(who_could_run_before_a_migration_can_run_after_it)
{
	char sql[640];

	snprintf(sql, sizeof(sql),
		 "DROP FUNCTION once.unclaim, once.clean, once.forget_tenures; "
		 "DROP INDEX once.parked_count; "
		 "DELETE FROM once.migration WHERE version >= 7; "
		 "GRANT DELETE ON once.consume_log, once.tenure TO %s",
		 role);
	pg_fixture_run(&pg, sql);
	ck_assert_int_eq(once_schema_check(conninfo_of_role(), &err),
			 ONCE_CONFIG);
	ck_assert_int_gt(migrate(0), 0);
	ck_assert_msg(once_schema_check(conninfo_of_role(), &err) == ONCE_OK,
		      "%s", err.text);
	run_roles_sql();
	ck_assert_msg(once_schema_check(conninfo_of_role(), &err) == ONCE_OK,
		      "%s", err.text);
	snprintf(sql, sizeof(sql),
		 "SELECT has_table_privilege('%s', 'once.consume_log', "
		 "'DELETE')::int",
		 role);
	ck_assert_int_eq(trial_count(&trial, sql), 0);
}
END_TEST

static const char give_away_sql[] =
	"DO $$ DECLARE owner text := current_setting('test.owner'); "
	"t regclass; f regprocedure; BEGIN "
	"EXECUTE format('CREATE ROLE %I', owner); "
	"FOR t IN SELECT oid FROM pg_class WHERE relkind = 'r' "
	"AND relnamespace = 'once'::regnamespace LOOP "
	"EXECUTE format('ALTER TABLE %s OWNER TO %I', t, owner); END LOOP; "
	"FOR f IN SELECT oid FROM pg_proc "
	"WHERE pronamespace = 'once'::regnamespace LOOP "
	"EXECUTE format('ALTER FUNCTION %s OWNER TO %I', f, owner); END LOOP; "
	"EXECUTE format('ALTER SCHEMA once OWNER TO %I', owner); END $$";

static const char take_back_sql[] =
	"DO $$ DECLARE owner text := current_setting('test.owner'); BEGIN "
	"EXECUTE format('REASSIGN OWNED BY %I TO CURRENT_USER', owner); "
	"EXECUTE format('DROP OWNED BY %I', owner); "
	"EXECUTE format('DROP ROLE %I', owner); END $$";

/* As an owner that may not create roles, with those that somebody has made. */
START_TEST(roles_that_exist_are_used_by_who_may_create_none)
{
	char conninfo[sizeof(pg.conninfo)];
	char sql[128];

	snprintf(sql, sizeof(sql), "SET test.owner = '%s_owner'", role);
	pg_fixture_run(&pg, sql);
	pg_fixture_run(&pg, give_away_sql);
	memcpy(conninfo, pg.conninfo, sizeof(conninfo));
	snprintf(pg.conninfo, sizeof(pg.conninfo),
		 "%.400s options='-c role=%s_owner'", conninfo, role);
	run_roles_sql();
	memcpy(pg.conninfo, conninfo, sizeof(conninfo));
	pg_fixture_run(&pg, take_back_sql);
}
END_TEST

/* Row level security that applies to the role hides claims from it. */
START_TEST(row_level_security_that_hides_claims_is_a_fault)
{
	pg_fixture_run(&pg, "ALTER TABLE once.consume_log "
			    "ENABLE ROW LEVEL SECURITY");
	ck_assert_int_eq(once_schema_check(conninfo_of_role(), &err),
			 ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "row level security"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("migrate");
	TCase *schema = tcase_create("schema");
	TCase *roles = tcase_create("roles");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(schema, set_up, tear_down);
	tcase_add_test(schema, a_migration_is_applied_once);
	tcase_add_test(schema, ten_at_once_apply_it_once);
	tcase_add_test(schema, a_dry_run_only_tells);
	tcase_add_test(schema, a_migration_that_was_changed_is_refused);
	tcase_add_test(schema, a_newer_schema_is_refused_with_both_versions);
	tcase_add_test(schema, a_newer_schema_that_lets_older_ones_run_is_good);
	tcase_add_test(schema, a_migration_says_who_may_still_run_on_it);
	tcase_add_test(schema, a_migration_that_fails_leaves_nothing);
	tcase_add_test(schema, a_database_of_another_encoding_is_refused);
	tcase_add_test(schema, every_table_says_by_what_its_rows_are_known);
	tcase_add_test(
		schema,
		a_published_table_whose_rows_have_no_identity_is_a_fault);
	suite_add_tcase(suite, schema);
	tcase_add_checked_fixture(roles, set_up_role, tear_down_role);
	tcase_add_test(roles, a_role_that_may_run_can_run);
	tcase_add_test(roles, a_role_that_may_run_may_not_migrate);
	tcase_add_loop_test(roles, a_grant_that_is_missing_is_denied, 0, 5);
	tcase_add_loop_test(roles, a_role_that_may_run_may_not_change_the_past,
			    0, sizeof(forbidden) / sizeof(forbidden[0]));
	tcase_add_test(
		roles,
		a_role_that_may_run_removes_no_claim_that_may_be_asked_for);
	tcase_add_test(roles, the_audit_has_the_databases_word_on_who_it_was);
	tcase_add_test(roles,
		       who_could_run_before_a_migration_can_run_after_it);
	tcase_add_test(roles, roles_that_exist_are_used_by_who_may_create_none);
	tcase_add_test(roles, row_level_security_that_hides_claims_is_a_fault);
	suite_add_tcase(suite, roles);
	return suite_run(suite);
}
