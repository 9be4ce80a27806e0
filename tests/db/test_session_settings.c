/*
 * test_session_settings.c - settings that a database brings along, and those
 * that a handler leaves changed: what is handled, stored and found again is the
 * same with each of them.
 *
 * The idea: one script of messages that meets every statement of a batch, and
 * what it leaves, compared with what it leaves on a plain database.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct trial trial;
static struct mail mail;
static const char *left_behind; /* SQL of the handler */
static bool by_raw;
static bool by_insert;   /* the effect, with those of others */
static unsigned scripts; /* run so far: the keys of each are its own */

/* Keys that aren't ASCII: another encoding would make others of them. */
static const char *const names[] = { "ключ", "größe", "naïve", "日本" };

enum {
	NAMES = 4,
	MESSAGES = 40
};

static enum once_verdict leave_changed(struct once_call *call)
{
	if (left_behind == NULL)
		return ONCE_DONE;
	if (by_raw)
		PQclear(PQexec((PGconn *)once_pgconn(call), left_behind));
	else
		once_send(call, left_behind, ONCE_NO_PARAMS);
	return ONCE_DONE;
}

static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	static const unsigned char result[] = { 0, '\\', 'x', 0xff };
	struct once_bytes stored = { result, sizeof(result) };

	(void)self;
	if (by_insert)
		once_insert(call, "here.effect (msg_id, value)",
			    ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg)),
					ONCE_TEXT(once_value(msg))));
	else
		once_send(
			call,
			"INSERT INTO here.effect (msg_id, value) VALUES ($1, $2)",
			ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg)),
				    ONCE_TEXT(once_value(msg))));
	once_set_result(call, stored);
	if (is_text(once_value(msg), "bad"))
		return ONCE_REJECT;
	return leave_changed(call);
}

static enum once_verdict answer(void *self, const struct once_message *msg,
				struct once_bytes stored,
				struct once_call *call)
{
	static const unsigned char result[] = { 0, '\\', 'x', 0xff };

	(void)self;
	(void)msg;
	if (stored.size != sizeof(result) ||
	    memcmp(stored.data, result, sizeof(result)) != 0)
		once_because(call, "another result of %zu bytes", stored.size);
	return stored.size == sizeof(result) ? ONCE_DONE : ONCE_REJECT;
}

static const struct once_handler handler = { ONCE_HANDLER_ABI_FIELDS,
					     .name = "leaver", .handle = handle,
					     .duplicate = answer };

static void set_up(void)
{
	struct once_route_options options = trial_route();

	options.handler = &handler;
	options.timeout_ms = 20000;
	left_behind = NULL;
	by_raw = false;
	by_insert = false;
	trial_init(&trial, &options, 1);
	scripts = 0;
	pg_fixture_run(&trial.pg, "DO $$ BEGIN CREATE ROLE somebody; EXCEPTION "
				  "WHEN duplicate_object THEN END $$");
	pg_fixture_run(
		&trial.pg,
		"CREATE SCHEMA here; ALTER TABLE effect SET SCHEMA here; "
		"CREATE FUNCTION here.leave(name text, value text) "
		"RETURNS void LANGUAGE sql AS "
		"$$ SELECT set_config(name, value, false) $$");
}

static void tear_down(void)
{
	trial_fini(&trial);
}

/* ---- the script ---- */

/* One after the other, as they come from Kafka, some of them twice. */
static void give(size_t batch, size_t first)
{
	mail_init(&mail, MESSAGES);
	for (size_t i = 0; i < MESSAGES; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s %u %zu", names[i % NAMES],
			 scripts, first + i);
		mail_set_id(&mail, i, name);
		mail_set_biz(&mail, i, name);
		mail.items[i].record.offset =
			(int64_t)(scripts * 10000 + batch * 1000 + i);
	}
	mail_set_value(&mail, MESSAGES - 1, "bad");
}

static void count_endings(const char *what, size_t handled, size_t duplicates,
			  size_t dead)
{
	ck_assert_msg(mail_count(&mail, ONCE_HANDLED_ENDING) == handled &&
			      mail_count(&mail, ONCE_DUPLICATE_ENDING) ==
				      duplicates &&
			      mail_count(&mail, ONCE_DEAD_ENDING) == dead,
		      "%s: %zu handled, %zu duplicates, %zu dead; %s", what,
		      mail_count(&mail, ONCE_HANDLED_ENDING),
		      mail_count(&mail, ONCE_DUPLICATE_ENDING),
		      mail_count(&mail, ONCE_DEAD_ENDING),
		      mail.items[0].reason);
}

/* What a session does at first may differ from what it does later. */
static void run_script(const char *what)
{
	scripts++;
	for (size_t round = 0; round < 3; round++) {
		/* The last one of the round before died, and is new. */
		size_t seen = round == 0 ? 0 : MESSAGES / 2 - 1;

		give(round, round * MESSAGES / 2);
		trial_run(&trial, &mail, ONCE_OK);
		count_endings(what, MESSAGES - 1 - seen, seen, 1);
		mail_fini(&mail);
	}
	ck_assert_msg(trial_count(&trial, "SELECT count(*) FROM here.effect") ==
			      trial_count(&trial,
					  "SELECT count(DISTINCT msg_id) FROM "
					  "here.effect"),
		      "%s: something took effect twice", what);
	ck_assert_msg(
		trial_count(&trial,
			    "SELECT count(*) FROM once.consume_log "
			    "WHERE msg_id ~ '^(ключ|größe|naïve|日本) '") ==
			trial_count(&trial, "SELECT count(*) FROM "
					    "once.consume_log"),
		"%s: keys are spelt another way", what);
}

/* ---- what a database brings ---- */

static const char *const hostile[] = {
	"bytea_output = 'escape'",
	"client_encoding = 'LATIN1'",
	"array_nulls = off",
	"standard_conforming_strings = off",
	"quote_all_identifiers = on",
	"transform_null_equals = on",
	"\"DateStyle\" = 'SQL, DMY'",
	"\"IntervalStyle\" = 'sql_standard'",
	"\"TimeZone\" = 'Australia/Lord_Howe'",
	"extra_float_digits = -15",
	"search_path = 'nowhere'",
	"row_security = off",
	"xmloption = 'document'",
	"default_transaction_isolation = 'serializable'",
	"default_transaction_deferrable = on",
	"synchronous_commit = off",
	"statement_timeout = '1ms'",
	"lock_timeout = '1ms'",
	"idle_in_transaction_session_timeout = '1ms'",
	"idle_session_timeout = '50ms'",
	"client_min_messages = 'debug5'",
	"plan_cache_mode = 'force_generic_plan'",
	"enable_indexscan = off",
	"jit_above_cost = 0",
	"check_function_bodies = off",
	"default_toast_compression = 'pglz'",
	"constraint_exclusion = on",
	"plpgsql.variable_conflict = 'use_column'",
	"plpgsql.extra_errors = 'all'",
	"role = 'pg_read_all_data'",
};

static void set_for_database(const char *what)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET %%s', "
		 "current_database(), $_$%s$_$); END $$",
		 what);
	pg_fixture_run(&trial.pg, sql);
}

/* What others need then. */
static void prepare(const char *what)
{
	pg_fixture_run(&trial.pg,
		       "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET "
		       "ALL', current_database()); END $$");
	if (strncmp(what, "role", 4) == 0)
		pg_fixture_run(&trial.pg,
			       "GRANT ALL ON SCHEMA once, here TO "
			       "pg_read_all_data; GRANT ALL ON ALL TABLES IN "
			       "SCHEMA once, here TO pg_read_all_data; "
			       "GRANT ALL ON ALL FUNCTIONS IN SCHEMA once TO "
			       "pg_read_all_data");
}

START_TEST(whatever_a_database_brings_the_outcome_is_the_same)
{
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		prepare(hostile[i]);
		set_for_database(hostile[i]);
		trial_reopen(&trial, NULL);
		run_script(hostile[i]);
	}
}
END_TEST

START_TEST(a_role_whose_triggers_are_off_is_refused)
{
	set_for_database("session_replication_role = 'replica'");
	ck_assert_int_eq(once_session_connect(trial.session, &trial.err),
			 ONCE_CONFIG);
	ck_assert_ptr_nonnull(
		strstr(trial.err.text, "session_replication_role"));
}
END_TEST

/* ---- what a handler leaves ---- */

static const struct left {
	const char *name;
	const char *value;
} lefts[] = {
	{ "client_encoding", "LATIN1" },
	{ "client_encoding", "SQL_ASCII" },
	{ "bytea_output", "escape" },
	{ "array_nulls", "off" },
	{ "role", "pg_monitor" },
	{ "session_authorization", "somebody" },
	{ "search_path", "pg_catalog" },
	{ "session_replication_role", "replica" },
	{ "row_security", "off" },
	{ "DateStyle", "SQL, DMY" },
	{ "TimeZone", "Australia/Lord_Howe" },
	{ "extra_float_digits", "-15" },
	{ "default_transaction_read_only", "on" },
	{ "synchronous_commit", "off" },
	{ "statement_timeout", "300" },
	{ "lock_timeout", "300" },
	{ "idle_in_transaction_session_timeout", "300" },
	{ "idle_session_timeout", "1" },
	{ "quote_all_identifiers", "on" },
	{ "standard_conforming_strings", "off" },
};

enum {
	LEFTS = sizeof(lefts) / sizeof(lefts[0]),
	WAYS = 4 /* SET, SET LOCAL, a function's set_config, the raw session */
};

static void describe(char sql[256], const struct left *left, int way)
{
	static const char *const formats[WAYS] = { "SET ", "SET LOCAL ", "",
						   "SET " };

	if (way == 2)
		snprintf(sql, 256, "SELECT here.leave('%s', '%s')", left->name,
			 left->value);
	else
		snprintf(sql, 256, "%s%s = '%s'", formats[way], left->name,
			 left->value);
}

/* The session is the one that the message before it found. */
START_TEST(
	whatever_a_handler_leaves_the_next_message_finds_the_session_as_it_was)
{
	for (int way = 0; way < WAYS; way++) {
		char sql[256];

		describe(sql, &lefts[_i], way);
		left_behind = sql;
		by_raw = way == 3;
		trial_reopen(&trial, NULL);
		run_script(sql);
		ck_assert_uint_eq(once_session_connections(trial.session), 1);
	}
}
END_TEST

/* It changes them after all calls, and so nobody's call. */
START_TEST(what_a_trigger_leaves_behind_collected_rows_is_put_back)
{
	pg_fixture_run(
		&trial.pg,
		"CREATE FUNCTION stray() RETURNS trigger LANGUAGE plpgsql AS "
		"$$ BEGIN PERFORM set_config('role', 'pg_monitor', false); "
		"RETURN NULL; END $$; "
		"CREATE TRIGGER stray AFTER INSERT ON here.effect "
		"EXECUTE FUNCTION stray()");
	trial_reopen(&trial, NULL);
	by_insert = true;
	run_script("a trigger");
	ck_assert_uint_le(trial.stats.rolled_back, 1); /* the dead one */
}
END_TEST

/* Seen by a trigger, when the transaction ends. */
START_TEST(a_handler_may_ask_its_commit_to_wait_for_the_disk)
{
	pg_fixture_run(
		&trial.pg,
		"CREATE TABLE seen (setting text); "
		"CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS "
		"$$ BEGIN INSERT INTO seen VALUES "
		"(current_setting('synchronous_commit')); RETURN NULL; END $$; "
		"CREATE CONSTRAINT TRIGGER look AFTER INSERT ON here.effect "
		"DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
		"EXECUTE FUNCTION look()");
	set_for_database("synchronous_commit = off");
	trial_reopen(&trial, NULL);
	left_behind = "SET LOCAL synchronous_commit = on";
	mail_init(&mail, 1);
	trial_run(&trial, &mail, ONCE_OK);
	mail_fini(&mail);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM seen "
					     "WHERE setting = 'on'"),
			 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("session_settings");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests,
		       whatever_a_database_brings_the_outcome_is_the_same);
	tcase_add_test(tests, a_role_whose_triggers_are_off_is_refused);
	tcase_add_test(tests,
		       what_a_trigger_leaves_behind_collected_rows_is_put_back);
	tcase_add_test(tests,
		       a_handler_may_ask_its_commit_to_wait_for_the_disk);
	tcase_add_loop_test(
		tests,
		whatever_a_handler_leaves_the_next_message_finds_the_session_as_it_was,
		0, LEFTS);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
