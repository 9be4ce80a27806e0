/*
 * test_shape.c - a schema that somebody has changed: what the promise rests on
 * is asked for before anything is handled and while it runs, and a row that was
 * swallowed is a failure, not a success.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <once/parked.h>
#include <once/upkeep.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct trial trial;
static struct once_error err;

static void set_up(void)
{
	trial_init(&trial, NULL, 0);
}

static void tear_down(void)
{
	trial_fini(&trial);
}

static enum once_status check(void)
{
	return once_schema_check(trial.pg.conninfo, &err);
}

#define ck_ok(call) ck_assert_msg((call) == ONCE_OK, #call ": %s", err.text)

/* ---- before anything runs ---- */

static void ck_fault(const char *why, const char *named)
{
	ck_assert_msg(check() == ONCE_CONFIG, "good without: %s", why);
	ck_assert_msg(strstr(err.text, "changed") != NULL, "%s", err.text);
	ck_assert_msg(strstr(err.text, named) != NULL, "no %s in: %s", named,
		      err.text);
}

/* For each row of `list`: a table, what changes it, and what changes it back.
 */
static void try_each(const char *list)
{
	PGresult *res = PQexec(trial.pg.conn, list);

	ck_assert_msg(PQntuples(res) > 10, "%s", PQerrorMessage(trial.pg.conn));
	for (int row = 0; row < PQntuples(res); row++) {
		const char *change = PQgetvalue(res, row, 1);

		pg_fixture_run(&trial.pg, change);
		ck_fault(change, PQgetvalue(res, row, 0));
		pg_fixture_run(&trial.pg, PQgetvalue(res, row, 2));
	}
	PQclear(res);
	ck_assert_msg(check() == ONCE_OK, "%s", err.text);
}

/* Of all tables but those that nothing is decided by. */
#define EACH_COLUMN(change, back) \
	"SELECT c.relname, format('ALTER TABLE once.%s " change "', " \
	"c.relname, a.attname), format('ALTER TABLE once.%s " back "', " \
	"c.relname, a.attname) FROM pg_attribute AS a " \
	"JOIN pg_class AS c ON c.oid = a.attrelid " \
	"WHERE c.relnamespace = 'once'::regnamespace AND c.relkind = 'r' " \
	"AND c.relname NOT IN ('migration', 'outbox') AND a.attnum > 0 "

START_TEST(each_column_that_the_migrations_make_is_asked_for)
{
	try_each(EACH_COLUMN("RENAME COLUMN %I TO other",
			     "RENAME COLUMN other TO %I"));
}
END_TEST

START_TEST(each_column_that_must_not_be_null_is_asked_for_as_such)
{
	try_each(EACH_COLUMN(
		"ALTER %I DROP NOT NULL",
		"ALTER %I SET NOT NULL") "AND a.attnotnull AND a.attidentity = '' "
					 "AND NOT EXISTS (SELECT FROM pg_index AS i "
					 "WHERE i.indrelid = c.oid AND (i.indisprimary "
					 "OR i.indisreplident) AND a.attnum = ANY (i.indkey::int2[]))");
}
END_TEST

/* As a failed REINDEX CONCURRENTLY, or another index in its place, leave it. */
START_TEST(each_unique_key_that_the_migrations_make_is_asked_for)
{
	static const char *const flags[] = { "indisunique", "indisvalid",
					     "indimmediate" };
	char list[1024];

	snprintf(list, sizeof(list),
		 "SELECT c.relname, format('UPDATE pg_index SET %s = false "
		 "WHERE indexrelid = %%s', i.indexrelid), "
		 "format('UPDATE pg_index SET %s = true "
		 "WHERE indexrelid = %%s', i.indexrelid) FROM pg_index AS i "
		 "JOIN pg_class AS c ON c.oid = i.indrelid "
		 "WHERE c.relnamespace = 'once'::regnamespace "
		 "AND i.indisunique AND c.relname NOT IN "
		 "('migration', 'outbox')",
		 flags[_i], flags[_i]);
	pg_fixture_run(&trial.pg, "SET allow_system_table_mods = on");
	try_each(list);
}
END_TEST

#define SWALLOW \
	"CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS " \
	"$$ BEGIN RETURN NULL; END $$; "

static const struct {
	const char *sql;
	const char *named;
} changes[] = {
	{ "ALTER TABLE once.consume_log DROP CONSTRAINT consume_log_biz_id; "
	  "CREATE UNIQUE INDEX part ON once.consume_log (consumer_id, biz_id) "
	  "WHERE biz_id > 'm'",
	  "unique key (biz_id, consumer_id)" },
	{ "ALTER TABLE once.consume_log ALTER message_offset TYPE numeric",
	  "message_offset bigint" },
	{ SWALLOW "CREATE TRIGGER t BEFORE INSERT ON once.consume_log "
		  "FOR EACH ROW EXECUTE FUNCTION swallow()",
	  "trigger that isn't ours: t" },
	{ SWALLOW "CREATE TRIGGER t AFTER INSERT ON once.consume_log "
		  "FOR EACH STATEMENT EXECUTE FUNCTION swallow()",
	  "trigger that isn't ours: t" },
	{ SWALLOW "CREATE TRIGGER t BEFORE DELETE ON once.parked "
		  "FOR EACH ROW EXECUTE FUNCTION swallow()",
	  "trigger that isn't ours: t" },
	{ "ALTER TABLE once.position DISABLE TRIGGER set_by_hand",
	  "\"set_by_hand\" of once.position" },
	{ "DROP TRIGGER deleted_by_hand ON once.position",
	  "\"deleted_by_hand\" of once.position" },
	{ "CREATE RULE r AS ON INSERT TO once.parked DO INSTEAD NOTHING",
	  "rule: r" },
	{ "ALTER TABLE once.consume_log SET UNLOGGED", "ordinary, logged" },
	{ "ALTER TABLE once.commit_guard DISABLE TRIGGER ALL",
	  "deferred foreign key" },
	{ "ALTER TABLE once.commit_guard "
	  "DROP CONSTRAINT commit_guard_released_fkey",
	  "deferred foreign key" },
};

START_TEST(whatever_swallows_rows_or_forgets_them_is_a_fault)
{
	pg_fixture_run(&trial.pg, changes[_i].sql);
	ck_fault(changes[_i].sql, changes[_i].named);
}
END_TEST

START_TEST(what_a_person_adds_without_harm_is_let_be)
{
	pg_fixture_run(
		&trial.pg, SWALLOW
		"CREATE TRIGGER tell AFTER INSERT ON once.parked "
		"FOR EACH ROW EXECUTE FUNCTION swallow();"
		"ALTER TABLE once.consume_log ADD COLUMN note text;"
		"CREATE INDEX ON once.consume_log (topic);"
		"CREATE UNIQUE INDEX ON once.consume_log (biz_id, consumer_id)");
	ck_assert_msg(check() == ONCE_OK, "%s", err.text);
}
END_TEST

START_TEST(triggers_of_a_newer_schema_are_no_fault)
{
	char sql[640];

	snprintf(sql, sizeof(sql),
		 SWALLOW
		 "CREATE TRIGGER newer AFTER INSERT ON once.consume_log "
		 "FOR EACH ROW EXECUTE FUNCTION swallow(); "
		 "INSERT INTO once.migration (version, name, checksum, "
		 "least_version) VALUES (9876, 'future', '', %d)",
		 once_schema_version());
	pg_fixture_run(&trial.pg, sql);
	ck_assert_msg(check() == ONCE_OK, "%s", err.text);
}
END_TEST

START_TEST(a_path_on_which_others_come_before_postgresql_is_a_fault)
{
	char conninfo[640];

	snprintf(conninfo, sizeof(conninfo),
		 "%s options='-c search_path=public,pg_catalog'",
		 trial.pg.conninfo);
	ck_assert_int_eq(once_schema_check(conninfo, &err), ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "\"public\" before pg_catalog"));
}
END_TEST

/* ---- while it runs ---- */

static void ck_effects(const char *where, int64_t expected)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", where);
	ck_assert_msg(trial_count(&trial, sql) == expected, "%s isn't %lld",
		      sql, (long long)expected);
}

START_TEST(a_key_that_is_dropped_under_a_session_stops_it_until_it_is_back)
{
	struct mail mail;

	mail_init(&mail, 3);
	trial_run(&trial, &mail, ONCE_OK);
	pg_fixture_run(&trial.pg, "ALTER TABLE once.consume_log "
				  "DROP CONSTRAINT consume_log_biz_id");
	ck_assert_int_eq(once_session_check_schema(trial.session, &err),
			 ONCE_TRANSIENT);
	ck_assert_str_eq(err.sqlstate, "55000");
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_TRANSIENT);
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 3);
	pg_fixture_run(&trial.pg, "ALTER TABLE once.consume_log "
				  "ADD CONSTRAINT consume_log_biz_id "
				  "UNIQUE (consumer_id, biz_id)");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 3);
	ck_effects("effect", 3);
	mail_fini(&mail);
}
END_TEST

/* Nothing has asked for the schema since the trigger came. */
START_TEST(a_claim_that_was_swallowed_is_no_claim)
{
	struct mail mail;

	ck_ok(once_session_connect(trial.session, &err));
	mail_init(&mail, 3);
	pg_fixture_run(&trial.pg,
		       "CREATE FUNCTION swallow() RETURNS trigger "
		       "LANGUAGE plpgsql AS $$ BEGIN RETURN CASE "
		       "WHEN new.msg_id <> 'm1' THEN new END; END $$; "
		       "CREATE TRIGGER t BEFORE INSERT ON once.consume_log "
		       "FOR EACH ROW EXECUTE FUNCTION swallow()");
	trial_run(&trial, &mail, ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(trial.err.text, "2 of 3 claims"));
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 3);
	ck_effects("effect", 0);
	pg_fixture_run(&trial.pg, "DROP TRIGGER t ON once.consume_log");
	trial_run(&trial, &mail, ONCE_OK);
	ck_effects("effect", 3);
	mail_fini(&mail);
}
END_TEST

static enum once_verdict reject(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_REJECT;
}

START_TEST(a_dead_message_whose_row_was_swallowed_has_not_ended)
{
	struct mail mail;

	ck_ok(once_session_connect(trial.session, &err));
	mail_init(&mail, 2);
	mail_set_value(&mail, 0, "poison");
	trial_poison = reject;
	pg_fixture_run(&trial.pg,
		       SWALLOW "CREATE TRIGGER t BEFORE INSERT ON once.parked "
			       "FOR EACH ROW EXECUTE FUNCTION swallow()");
	trial_run(&trial, &mail, ONCE_CONFIG);
	ck_ending(mail.items[0], ONCE_PENDING_ENDING);
	pg_fixture_run(&trial.pg, "DROP TRIGGER t ON once.parked");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_DEAD_ENDING);
	ck_effects("once.parked", 1);
	mail_fini(&mail);
}
END_TEST

static enum once_verdict keep_result(void *self, const struct once_message *msg,
				     struct once_call *call)
{
	(void)self;
	(void)msg;
	once_set_result(call, bytes("r"));
	return ONCE_DONE;
}

START_TEST(a_result_that_was_swallowed_is_a_failure)
{
	struct mail mail;

	ck_ok(once_session_connect(trial.session, &err));
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	trial_poison = keep_result;
	pg_fixture_run(&trial.pg, SWALLOW
		       "CREATE TRIGGER t BEFORE UPDATE ON once.consume_log "
		       "FOR EACH ROW EXECUTE FUNCTION swallow()");
	trial_run(&trial, &mail, ONCE_CONFIG);
	ck_effects("effect", 0);
	mail_fini(&mail);
}
END_TEST

/* ---- somebody else's functions and operators ---- */

/* An overload of each name for each type that our SQL has, which fits better
 * than what PostgreSQL has itself, wherever that is said in other types. */
static const char hostile_sql[] =
	"SET client_min_messages = error; "
	"DO $do$ DECLARE a text; b text; n text; "
	"types text[] := '{text,name,int2,int4,int8,float4,float8,numeric,"
	"bool,oid,regclass,regnamespace,uuid,bytea,timestamptz,interval,"
	"jsonb,text[],int4[],int8[],bytea[],name[]}'; "
	"names text[] := '{unnest,count,max,min,sum,bool_or,encode,decode,"
	"repeat,starts_with,hashtextextended,current_setting,to_jsonb,"
	"to_regclass,ceil,format,format_type,octet_length,substr,to_char,left,"
	"replace,cardinality,array_agg,string_agg,json_build_object,"
	"pg_try_advisory_lock,pg_advisory_lock,pg_advisory_unlock,"
	"pg_advisory_lock_shared,pg_advisory_xact_lock,pg_blocking_pids,"
	"pg_total_relation_size,pg_relation_size,has_table_privilege,"
	"has_any_column_privilege,row_security_active,string_to_array,"
	"current_schemas,generate_series,set_config,abs,lower,upper}'; "
	"operators text[] := '{+,-,*,/,||,=,<>,<,>,<=,>=,<<,->>,&}'; "
	"body text := $$ LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION "
	"''captured''; END'$$; "
	"BEGIN FOREACH a IN ARRAY types LOOP "
	"FOREACH n IN ARRAY names LOOP "
	"EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS int8', n, a) "
	"|| body; "
	"EXECUTE format('CREATE FUNCTION public.%I(%s, text) RETURNS int8', "
	"n, a) || body; "
	"EXECUTE format('CREATE FUNCTION public.%I(%s, int4) RETURNS int8', "
	"n, a) || body; END LOOP; "
	"FOREACH b IN ARRAY types LOOP "
	"EXECUTE format('CREATE FUNCTION public.two(%s, %s) RETURNS bool', "
	"a, b) || body; "
	"FOREACH n IN ARRAY operators LOOP "
	"EXECUTE format('CREATE OPERATOR public.%s (FUNCTION = public.two, "
	"LEFTARG = %s, RIGHTARG = %s)', n, a, b); "
	"END LOOP; END LOOP; END LOOP; END $do$";

static void told_row(void *arg, const char *section, const char *const *names,
		     const char *const *values, size_t count)
{
	(void)section;
	(void)names;
	(void)values;
	*(size_t *)arg += count;
}

static void told_reading(void *arg, const struct once_log_reading *reading)
{
	*(size_t *)arg += reading->known != 0;
}

static int told_parked(void *arg, const struct once_parked_message *message)
{
	*(size_t *)arg += message->state != ONCE_PARKED_ANY;
	return 0;
}

static void clean_by(int dry_run)
{
	static const char *const scopes[] = { "group/trial" };
	static const struct once_parked_place places[] = { { "group/trial", "g",
							     "trial" } };
	struct once_cleaner_options options = {
		.conninfo = trial.pg.conninfo,
		.scopes = scopes,
		.scope_count = 1,
		.retention_ms = 86400000,
		.dry_run = dry_run,
	};
	struct once_cleaner *cleaner = NULL;
	struct once_clean_step step = { 0 };
	struct once_parked_count count;
	size_t told = 0;

	ck_ok(once_cleaner_open(&options, &cleaner, &err));
	while (!step.round_done)
		ck_ok(once_cleaner_step(cleaner, &step, &err));
	ck_ok(once_cleaner_read(cleaner, told_reading, &told, &err));
	ck_ok(once_cleaner_count_parked(cleaner, places, 1, &count, &err));
	ck_assert_uint_eq(told, 1);
	once_cleaner_close(cleaner);
}

static void handle_all_kinds(void)
{
	static const int64_t zero[] = { 0 };
	struct once_strand strand = { "g", "t", 0, 0, 0, 0 };
	struct once_position position;
	struct mail mail;

	mail_init(&mail, 4);
	for (size_t i = 0; i < 4; i++)
		mail_set_strand(&mail, i, &strand);
	mail_set_value(&mail, 1, "poison");
	trial_poison = reject;
	ck_ok(once_session_create_positions(trial.session, "g", "t", zero, 1,
					    &err));
	ck_ok(once_session_take_position(trial.session, "g", "t", 0, &position,
					 &err));
	strand.tenure = position.tenure;
	trial_run(&trial, &mail, ONCE_OK);
	mail_fini(&mail);

	mail_init(&mail, 4);
	mail_set_value(&mail, 0, "another");
	trial_run(&trial, &mail, ONCE_OK); /* a conflict, duplicates */
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	mail_fini(&mail);
}

static void ask_as_people_do(void)
{
	struct once_parked_filter filter = { .state = ONCE_PARKED_ANY };
	struct once_parked_order order = { .filter = { .limit = 1 },
					   .person = "test" };
	struct once_parked_result result;
	int64_t offsets[] = { 1 };
	struct once_seek_options seek = { .conninfo = trial.pg.conninfo,
					  .group = "g",
					  .topic = "t",
					  .offsets = offsets,
					  .count = 1,
					  .person = "test",
					  .subject = "test" };
	size_t told = 0;

	ck_ok(once_overview(trial.pg.conninfo, "g", told_row, &told, &err));
	ck_ok(once_parked_list(trial.pg.conninfo, &filter, told_parked, &told,
			       &err));
	ck_ok(once_parked_show(trial.pg.conninfo, &filter, told_parked, &told,
			       &err));
	ck_ok(once_parked_redrive(trial.pg.conninfo, &order, &result, &err));
	ck_assert_int_eq(result.changed, 1);
	ck_ok(once_parked_discard(trial.pg.conninfo, &order, &result, &err));
	ck_assert_int_eq(result.changed, 1);
	ck_ok(once_seek(&seek, NULL, NULL, &err));
}

START_TEST(functions_and_operators_in_public_are_never_ours)
{
	pg_fixture_run(&trial.pg, hostile_sql);
	ck_ok(check());
	trial_reopen(&trial, NULL);
	handle_all_kinds();
	pg_fixture_run(&trial.pg, "UPDATE once.consume_log "
				  "SET consumed_at = pg_catalog.now() "
				  "OPERATOR(pg_catalog.-) interval '2 days'");
	clean_by(1);
	clean_by(0);
	ask_as_people_do();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shape");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests,
		       each_column_that_the_migrations_make_is_asked_for);
	tcase_add_test(tests,
		       each_column_that_must_not_be_null_is_asked_for_as_such);
	tcase_add_loop_test(
		tests, each_unique_key_that_the_migrations_make_is_asked_for, 0,
		3);
	tcase_add_loop_test(tests,
			    whatever_swallows_rows_or_forgets_them_is_a_fault,
			    0, sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(tests, what_a_person_adds_without_harm_is_let_be);
	tcase_add_test(tests, triggers_of_a_newer_schema_are_no_fault);
	tcase_add_test(
		tests,
		a_path_on_which_others_come_before_postgresql_is_a_fault);
	tcase_add_test(
		tests,
		a_key_that_is_dropped_under_a_session_stops_it_until_it_is_back);
	tcase_add_test(tests, a_claim_that_was_swallowed_is_no_claim);
	tcase_add_test(tests,
		       a_dead_message_whose_row_was_swallowed_has_not_ended);
	tcase_add_test(tests, a_result_that_was_swallowed_is_a_failure);
	tcase_add_test(tests, functions_and_operators_in_public_are_never_ours);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
