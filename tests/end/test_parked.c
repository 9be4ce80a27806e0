/*
 * test_parked.c - onced parked, beside a consumer that is at work.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 30000,
	MOST_ARGUMENTS = 16,
	MANY = 2500
};

struct shell {
	struct onced_fixture fixture;
	struct onced onced;
};

static void init(struct shell *shell)
{
	onced_fixture_init(&shell->fixture, 1);
	onced_init(&shell->onced, &shell->fixture, NULL);
}

static void fini(struct shell *shell)
{
	onced_fixture_fini(&shell->fixture);
}

/* onced parked, with what follows up to NULL. */
static int parked(struct shell *shell, ...)
{
	const char *arguments[MOST_ARGUMENTS] = { "parked" };
	size_t count = 1;
	va_list more;

	va_start(more, shell);
	do {
		ck_assert_uint_lt(count, MOST_ARGUMENTS);
		arguments[count] = va_arg(more, const char *);
		if (count == 1) {
			arguments[2] = "-c";
			arguments[3] = shell->onced.config;
			count = 3;
		}
	} while (arguments[count++] != NULL);
	va_end(more);
	return onced_call(&shell->onced, arguments);
}

static void check_output(struct shell *shell, const char *text)
{
	onced_check_output(&shell->onced, text);
}

static int64_t count(struct shell *shell, const char *sql)
{
	return pg_fixture_get_int64(&shell->fixture.pg, sql);
}

static void wait_for(struct shell *shell, const char *sql, int64_t number)
{
	onced_fixture_wait_for(&shell->fixture, sql, number, WAIT_MS);
}

/* The last output, as $1 of a query that gives a boolean. */
static void check_json(struct shell *shell, const char *sql)
{
	char *output = read_file(shell->onced.output);
	const char *values[] = { output };
	PGresult *res = PQexecParams(shell->fixture.pg.conn, sql, 1, NULL,
				     values, NULL, NULL, 0);

	ck_assert_msg(PQresultStatus(res) == PGRES_TUPLES_OK &&
			      strcmp(PQgetvalue(res, 0, 0), "t") == 0,
		      "%s: %s%s", sql, output, PQresultErrorMessage(res));
	PQclear(res);
	free(output);
}

/* Send, and wait until all have ended. */
static void deliver(struct shell *shell, const struct letter *letters,
		    size_t size)
{
	onced_fixture_send(&shell->fixture, letters, size);
	onced_fixture_wait_for_all(&shell->fixture, WAIT_MS);
}

static const char count_rows[] = "SELECT count(*) FROM once.parked";
static const char count_dead[] =
	"SELECT count(*) FROM once.parked WHERE state = 'dead'";
static const char count_effects[] = "SELECT count(*) FROM effect";

/* Dead rows, as if the route had parked them. */
static void park(struct shell *shell, int rows)
{
	char sql[1024];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO once.consumer (scope) VALUES ('%s/effect') "
		 "ON CONFLICT DO NOTHING; "
		 "INSERT INTO once.parked (consumer_id, topic, partition, "
		 "message_offset, state, attempts, cause, reason, msg_id, "
		 "message_time_ms, value) SELECT c.id, 't', 0, n, 'dead', 3, "
		 "'rejected', 'why', 'm' || n, 1000, 'v' "
		 "FROM once.consumer AS c, generate_series(0, %d - 1) AS n "
		 "WHERE c.scope = '%s/effect'",
		 shell->fixture.kafka.group, rows, shell->fixture.kafka.group);
	pg_fixture_run(&shell->fixture.pg, sql);
}

/* ---- with lanes that take up what is due ---- */

/* C32: the same message was delivered twice while its handler was broken. */
START_TEST(dead_then_fixed_then_redriven_is_handled_once)
{
	static const struct letter letters[] = {
		{ 0, "m0", "b0", "broken", "v" },
		{ 0, "m0", "b0", "broken", "v" },
		{ 0, "m1", "b1", NULL, "v" },
	};
	struct shell shell;

	init(&shell);
	onced_start(&shell.onced, NULL);
	deliver(&shell, letters, 3);
	ck_assert_int_eq(parked(&shell, "list", NULL), 0);
	check_output(&shell, "it isn't fixed yet");
	ck_assert_int_eq(count(&shell, count_dead), 2);
	onced_fixture_put_file(&shell.fixture, "fixed");
	ck_assert_int_eq(parked(&shell, "redrive", "--key", "m0", NULL), 0);
	check_output(&shell, "redriven: 2 messages");
	wait_for(&shell, count_rows, 0);
	onced_fixture_check_effects(&shell.fixture, 2);
	ck_assert_int_eq(parked(&shell, "redrive", "--key", "m0", NULL), 0);
	check_output(&shell, "redriven: 0 messages");
	ck_assert_int_eq(onced_stop(&shell.onced), 0);
	fini(&shell);
}
END_TEST

/* C64 */
START_TEST(a_tombstone_is_parked_shown_and_redriven_as_one)
{
	static const struct letter letter = { 0, "m0", "b0", "broken", NULL };
	struct shell shell;

	init(&shell);
	onced_start(&shell.onced, NULL);
	deliver(&shell, &letter, 1);
	ck_assert_int_eq(parked(&shell, "show", shell.fixture.kafka.topic, "0",
				"0", NULL),
			 0);
	check_output(&shell, "value        null\n");
	ck_assert_int_eq(parked(&shell, "show", "--key", "m0", "--json", NULL),
			 0);
	check_json(&shell, "SELECT json_typeof($1::json->0->'value') = 'null'");
	onced_fixture_put_file(&shell.fixture, "fixed");
	ck_assert_int_eq(parked(&shell, "redrive", "--all", NULL), 0);
	wait_for(&shell, count_rows, 0);
	ck_assert_int_eq(count(&shell, "SELECT count(*) FROM effect WHERE "
				       "value IS NULL AND msg_id = 'm0'"),
			 1);
	ck_assert_int_eq(onced_stop(&shell.onced), 0);
	fini(&shell);
}
END_TEST

/* C66: fifty times in tests/db/test_parked_admin.c. */
START_TEST(redrives_of_what_fails_leave_one_row_as_it_was)
{
	static const struct letter letter = { 0, "m0", "b0", "reject", "v" };
	struct shell shell;

	init(&shell);
	onced_start(&shell.onced, NULL);
	deliver(&shell, &letter, 1);
	pg_fixture_run(&shell.fixture.pg,
		       "CREATE TABLE before AS SELECT * FROM once.parked");
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(parked(&shell, "redrive", "--all", NULL), 0);
		check_output(&shell, "redriven: 1 message\n");
		wait_for(&shell, count_dead, 1);
	}
	ck_assert_int_eq(count(&shell, count_rows), 1);
	ck_assert_int_eq(
		count(&shell,
		      "SELECT count(*) FROM once.parked AS p, before AS b "
		      "WHERE (p.header_names, p.header_values, p.value, "
		      "p.reason, p.cause) = (b.header_names, "
		      "b.header_values, b.value, b.reason, b.cause) "
		      "AND p.parked_at > b.parked_at AND p.key IS NULL"),
		1);
	ck_assert_int_eq(onced_stop(&shell.onced), 0);
	fini(&shell);
}
END_TEST

START_TEST(what_a_lane_has_in_hand_is_skipped_and_told)
{
	static const struct letter letter = { 0, "m0", "b0", "broken", "v" };
	struct shell shell;

	init(&shell);
	onced_start(&shell.onced, NULL);
	deliver(&shell, &letter, 1);
	onced_fixture_put_file(&shell.fixture, "fixed");
	onced_fixture_put_file(&shell.fixture, "hang");
	ck_assert_int_eq(parked(&shell, "redrive", "--all", NULL), 0);
	onced_fixture_wait_for_file(&shell.fixture, "hanging", WAIT_MS);
	ck_assert_int_eq(parked(&shell, "discard", "--all", "--waiting", NULL),
			 0);
	check_output(&shell, "discarded: 0 messages");
	check_output(&shell, "skipped: 1 message");
	onced_fixture_remove_file(&shell.fixture, "hang");
	wait_for(&shell, count_rows, 0);
	onced_fixture_check_effects(&shell.fixture, 1);
	ck_assert_int_eq(onced_stop(&shell.onced), 0);
	fini(&shell);
}
END_TEST

/* C68 */
START_TEST(a_parked_message_read_again_after_restarts_is_one_row)
{
	static const struct letter letter = { 0, "m0", "b0", "reject", "v" };
	struct shell shell;

	init(&shell);
	onced_start(&shell.onced, NULL);
	deliver(&shell, &letter, 1);
	onced_fixture_without_monitor(&shell.fixture);
	for (int i = 0; i < 3; i++) {
		onced_kill(&shell.onced);
		pg_fixture_run(&shell.fixture.pg,
			       "UPDATE once.position SET next_offset = 0, "
			       "anchor_offset = NULL, anchor_time_ms = NULL, "
			       "anchor_hash = NULL");
		onced_start(&shell.onced, NULL);
		onced_fixture_wait_for_all(&shell.fixture, WAIT_MS);
		ck_assert_int_eq(count(&shell, count_rows), 1);
	}
	ck_assert_int_eq(count(&shell, count_effects), 0);
	ck_assert_int_eq(onced_stop(&shell.onced), 0);
	fini(&shell);
}
END_TEST

/* ---- the command alone ---- */

static void start_redrive(struct shell *shell, struct process *process)
{
	const char *argv[] = {
		getenv("ONCE_TEST_ONCED"), "parked", "redrive", "--all", "-c",
		shell->onced.config,       NULL
	};
	struct process_options options = { .argv = argv,
					   .output = shell->onced.output };
	struct once_error err;

	ck_assert_msg(process_start(process, &options, &err) == ONCE_OK, "%s",
		      err.text);
}

START_TEST(two_people_redrive_each_message_once)
{
	struct process people[2] = { 0 };
	struct shell shell;

	init(&shell);
	park(&shell, MANY);
	for (size_t i = 0; i < 2; i++)
		start_redrive(&shell, &people[i]);
	for (size_t i = 0; i < 2; i++) {
		ck_assert(process_wait(&people[i], WAIT_MS));
		ck_assert_int_eq(process_exit_code(&people[i]), 0);
	}
	ck_assert_int_le(count(&shell, "SELECT sum(rows_changed) FROM "
				       "once.audit"),
			 MANY);
	ck_assert_int_eq(parked(&shell, "redrive", "--all", NULL), 0);
	ck_assert_int_eq(count(&shell, "SELECT sum(rows_changed) FROM "
				       "once.audit"),
			 MANY);
	ck_assert_int_eq(count(&shell, count_dead), 0);
	fini(&shell);
}
END_TEST

START_TEST(a_discard_leaves_its_trace_and_a_dry_run_none)
{
	struct shell shell;

	init(&shell);
	/* What is discarded has no ending that can be seen. */
	onced_fixture_without_monitor(&shell.fixture);
	park(&shell, 3);
	ck_assert_int_eq(parked(&shell, "discard", "--dry-run", NULL), 0);
	check_output(&shell, "would be discarded: 3 messages");
	ck_assert_int_eq(count(&shell, count_rows), 3);
	ck_assert_int_eq(count(&shell, "SELECT count(*) FROM once.audit"), 0);
	ck_assert_int_eq(
		parked(&shell, "discard", "t", "0", "1", "--json", NULL), 0);
	check_json(&shell, "SELECT $1::jsonb = '{\"command\": \"parked "
			   "discard\", \"dry_run\": false, \"changed\": 1, "
			   "\"skipped\": 0}'");
	ck_assert_int_eq(count(&shell, count_rows), 2);
	ck_assert_int_eq(count(&shell,
			       "SELECT count(*) FROM once.audit WHERE "
			       "person LIKE '%@%' AND command = 'parked "
			       "discard message' AND subject::json->>'msg_id' "
			       "= 'm1'"),
			 1);
	fini(&shell);
}
END_TEST

START_TEST(every_byte_can_be_had_from_json_and_none_reaches_a_terminal)
{
	struct shell shell;

	init(&shell);
	park(&shell, 1);
	pg_fixture_run(&shell.fixture.pg,
		       "UPDATE once.parked SET value = '\\x00ff22', "
		       "key = convert_to(E'\"\\\\\\x1b[31m\\n', 'UTF8'), "
		       "reason = E'\\x1b[2J\"', header_names = '{a,b,c}', "
		       "header_values = ARRAY['\\xfe', NULL, ''::bytea]");
	ck_assert_int_eq(parked(&shell, "show", "t", "0", "0", "--json", NULL),
			 0);
	check_json(&shell, "SELECT decode(m->'value'->>'base64', 'base64') = "
			   "'\\x00ff22' AND m->'key'->>'text' = "
			   "E'\"\\\\\\x1b[31m\\n' AND m->>'reason' = "
			   "E'\\x1b[2J\"' AND m->'headers'->0->'value'->>"
			   "'base64' = '/g==' AND json_typeof(m->'headers'->1->"
			   "'value') = 'null' AND m->'headers'->2->'value'->>"
			   "'text' = '' FROM (SELECT $1::json->0 AS m) AS x");
	ck_assert_int_eq(parked(&shell, "list", "--json", NULL), 0);
	check_json(&shell, "SELECT json_array_length($1::json) = 1");
	ck_assert_int_eq(parked(&shell, "show", "t", "0", "0", NULL), 0);
	check_output(&shell, "\\x1b[2J");
	check_output(&shell, "binary, 3 bytes, in hex");
	check_json(&shell, "SELECT strpos($1::text, E'\\x1b') = 0");
	ck_assert_int_eq(parked(&shell, "list", NULL), 0);
	check_json(&shell, "SELECT strpos($1::text, E'\\x1b') = 0");
	fini(&shell);
}
END_TEST

START_TEST(the_list_fits_80_columns)
{
	struct shell shell;

	init(&shell);
	park(&shell, 2);
	pg_fixture_run(&shell.fixture.pg,
		       "UPDATE once.parked SET message_offset = "
		       "9223372036854775807 - message_offset, partition = "
		       "2147483647, cause = 'hidden_error', attempts = 99999, "
		       "reason = repeat('\u00e4\u00f6', 100), "
		       "msg_id = repeat('m', 200)");
	ck_assert_int_eq(parked(&shell, "list", NULL), 0);
	check_json(&shell, "SELECT max(length(line)) = 80 FROM "
			   "regexp_split_to_table($1::text, '\\n') AS line");
	fini(&shell);
}
END_TEST

START_TEST(an_empty_list_says_so_and_nothing_to_show_ends_with_1)
{
	struct shell shell;

	init(&shell);
	ck_assert_int_eq(parked(&shell, "list", NULL), 0);
	check_output(&shell, "nothing parked");
	ck_assert_int_eq(parked(&shell, "list", "--json", NULL), 0);
	check_json(&shell, "SELECT json_array_length($1::json) = 0");
	ck_assert_int_eq(parked(&shell, "show", "t", "0", "0", NULL), 1);
	ck_assert_int_eq(parked(&shell, "redrive", "--all", NULL), 0);
	fini(&shell);
}
END_TEST

static const struct {
	const char *arguments[5];
	const char *says;
} nonsense[] = {
	{ { "redrive" }, "--all" },
	{ { "redrive", "--limit", "5" }, "--all" },
	{ { "discard" }, "--all" },
	{ { "show" }, "which one?" },
	{ { "show", "t", "0" }, "TOPIC PARTITION OFFSET" },
	{ { "show", "t", "x", "0" }, "the partition is \"x\"" },
	{ { "show", "t", "0", "-1" }, "see onced parked show --help" },
	{ { "list", "--reason", "reject" }, "bad_key, conflict, rejected" },
	{ { "list", "--reason", "none" }, "there is no reason" },
	{ { "list", "--state", "alive" }, "dead or waiting" },
	{ { "list", "--older-than", "1" }, "the unit is missing" },
	{ { "list", "--limit", "0" }, "from 1 to" },
	{ { "list", "--route", "efect" }, "did you mean \"effect\"" },
	{ { "list", "--route", "old" }, "--scope" },
	{ { "list", "--route", "effect", "--scope", "x" }, "only one" },
	{ { "list", "--all" }, "see onced parked list --help" },
	{ { "list", "--topic", "\xff" }, "UTF-8" },
	{ { "redrive", "--state", "dead" }, "see onced parked redrive" },
	{ { "forget" }, "see onced parked --help" },
};

START_TEST(nonsense_is_refused_with_what_to_write_instead)
{
	const size_t size = sizeof(nonsense) / sizeof(nonsense[0]);
	struct shell shell;

	init(&shell);
	park(&shell, 1);
	for (size_t i = 0; i < size; i++) {
		const char *const *words = nonsense[i].arguments;

		ck_assert_int_eq(parked(&shell, words[0], words[1], words[2],
					words[3], words[4], NULL),
				 64);
		check_output(&shell, nonsense[i].says);
	}
	ck_assert_int_eq(count(&shell, count_dead), 1);
	fini(&shell);
}
END_TEST

START_TEST(a_scope_of_a_renamed_route_is_taken_with_a_word)
{
	struct shell shell;

	init(&shell);
	park(&shell, 1);
	pg_fixture_run(&shell.fixture.pg,
		       "UPDATE once.consumer SET scope = 'gone/before'");
	ck_assert_int_eq(parked(&shell, "list", NULL), 0);
	check_output(&shell, "nothing parked");
	ck_assert_int_eq(parked(&shell, "list", "--scope", "gone/before", NULL),
			 0);
	check_output(&shell, "gone/before: t\n");
	check_output(&shell, "no handler of this configuration");
	fini(&shell);
}
END_TEST

/* It kept its scope, so nothing else tells that nobody takes it up. */
START_TEST(what_waits_for_a_route_that_is_gone_is_told_and_given_to_another)
{
	static const struct letter letter = { 0, "m0", "b0", "broken", "v" };
	struct shell shell;

	init(&shell);
	onced_start(&shell.onced, NULL);
	deliver(&shell, &letter, 1);
	onced_fixture_put_file(&shell.fixture, "fixed");
	pg_fixture_run(&shell.fixture.pg,
		       "UPDATE once.parked SET route = 'before'");
	ck_assert_int_eq(parked(&shell, "redrive", "--all", NULL), 0);
	check_output(&shell, "redriven: 1 message\n");
	ck_assert_int_eq(parked(&shell, "list", NULL), 0);
	check_output(&shell, ", for handler before of group ");
	check_output(&shell, ", not of this configuration");
	ck_assert_int_eq(onced_command(&shell.onced, "status", NULL), 0);
	check_output(&shell, "before");
	ck_assert_int_eq(count(&shell, count_effects), 0);
	ck_assert_int_eq(parked(&shell, "redrive", "--to-route", "effect",
				"--waiting", "--all", NULL),
			 0);
	check_output(&shell, "redriven: 1 message\n");
	wait_for(&shell, count_rows, 0);
	onced_fixture_check_effects(&shell.fixture, 1);
	ck_assert_int_eq(onced_stop(&shell.onced), 0);
	fini(&shell);
}
END_TEST

START_TEST(help_comes_from_the_table)
{
	struct shell shell;

	init(&shell);
	ck_assert_int_eq(parked(&shell, "discard", "--help", NULL), 0);
	check_output(&shell, "usage: onced parked discard [OPTION]… "
			     "[TOPIC PARTITION OFFSET]");
	check_output(&shell, "--older-than TIME");
	check_output(&shell, "--waiting");
	ck_assert_int_eq(parked(&shell, "--help", NULL), 0);
	check_output(&shell, "parked redrive");
	fini(&shell);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("parked");
	TCase *lanes = tcase_create("lanes");
	TCase *tests = tcase_create("alone");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(lanes, dead_then_fixed_then_redriven_is_handled_once);
	tcase_add_test(lanes, a_tombstone_is_parked_shown_and_redriven_as_one);
	tcase_add_test(lanes, redrives_of_what_fails_leave_one_row_as_it_was);
	tcase_add_test(lanes, what_a_lane_has_in_hand_is_skipped_and_told);
	tcase_add_test(lanes,
		       a_parked_message_read_again_after_restarts_is_one_row);
	tcase_add_test(tests, two_people_redrive_each_message_once);
	tcase_add_test(tests, a_discard_leaves_its_trace_and_a_dry_run_none);
	tcase_add_test(
		tests,
		every_byte_can_be_had_from_json_and_none_reaches_a_terminal);
	tcase_add_test(tests, the_list_fits_80_columns);
	tcase_add_test(tests,
		       an_empty_list_says_so_and_nothing_to_show_ends_with_1);
	tcase_add_test(tests, nonsense_is_refused_with_what_to_write_instead);
	tcase_add_test(
		lanes,
		what_waits_for_a_route_that_is_gone_is_told_and_given_to_another);
	tcase_add_test(tests, a_scope_of_a_renamed_route_is_taken_with_a_word);
	tcase_add_test(tests, help_comes_from_the_table);
	suite_add_tcase(suite, lanes);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
