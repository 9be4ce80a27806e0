/*
 * test_commands.c - onced from a shell: what it prints and how it ends.
 */
#include "http_get.h"
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 30000
};

struct shell {
	struct onced_fixture fixture;
	struct onced onced;
};

static void init(struct shell *shell, const struct onced_options *options)
{
	onced_fixture_init(&shell->fixture, 2);
	onced_init(&shell->onced, &shell->fixture, options);
}

static void fini(struct shell *shell)
{
	onced_fixture_fini(&shell->fixture);
}

static int run(struct shell *shell, const char *command, const char *more)
{
	return onced_command(&shell->onced, command, more);
}

static int call(struct shell *shell, const char *first, const char *second)
{
	const char *arguments[] = { first, second, NULL };

	return onced_call(&shell->onced, arguments);
}

/* PostgreSQL knows JSON. */
static void check_json(struct shell *shell, const char *text)
{
	const char *values[] = { text };
	PGresult *res = PQexecParams(shell->fixture.pg.conn, "SELECT $1::json",
				     1, NULL, values, NULL, NULL, 0);

	ck_assert_msg(PQresultStatus(res) == PGRES_TUPLES_OK, "%s", text);
	PQclear(res);
}

static void check_output_is_json(struct shell *shell)
{
	char *output = read_file(shell->onced.output);

	ck_assert_ptr_nonnull(output);
	check_json(shell, output);
	free(output);
}

START_TEST(version_names_each_library)
{
	struct shell shell;

	init(&shell, NULL);
	ck_assert_int_eq(call(&shell, "version", NULL), 0);
	onced_check_output(&shell.onced, "onced ");
	onced_check_output(&shell.onced, "libonce ");
	onced_check_output(&shell.onced, "librdkafka ");
	onced_check_output(&shell.onced, "libpq ");
	ck_assert_int_eq(call(&shell, "--version", NULL), 0);
	ck_assert_int_eq(call(&shell, "version", "--json"), 0);
	check_output_is_json(&shell);
	fini(&shell);
}
END_TEST

/* clang-format off */
static const struct {
	const char *command;
	const char *word;
	const char *sentence;
} wrong[] = {
	{ "run", "--fast", "onced: there is no option --fast; see onced run --help" },
	{ "check", "--jsn", "no option --jsn, did you mean --json?" },
	{ "check", "--offlien=1", "no option --offlien, did you mean --offline?" },
	{ "check", "-x", "there is no option -x; see onced check --help" },
	{ "check", "--json=5", "option --json takes no value" },
	{ "check", "file", "check takes no argument \"file\"" },
	{ "keys", "--limit", "option --limit wants a value" },
	{ "version", "--dry-run", "version takes no option --dry-run" },
	{ "parked", NULL, "parked wants one of its parts" },
	{ "parked", "lst", "there is no command \"parked lst\"" },
};
/* clang-format on */

START_TEST(a_wrong_command_line_ends_with_64_and_help)
{
	struct shell shell;

	init(&shell, NULL);
	ck_assert_int_eq(call(&shell, NULL, NULL), 64);
	onced_check_output(&shell.onced, "usage: onced");
	ck_assert_int_eq(call(&shell, "runn", NULL), 64);
	onced_check_output(&shell.onced, "there is no command \"runn\"");
	ck_assert_int_eq(call(&shell, "verify", NULL), 64);
	onced_check_output(&shell.onced, "verify is not available yet");
	ck_assert_int_eq(call(&shell, "help", NULL), 0);
	onced_check_output(&shell.onced, "usage: onced");
	ck_assert_int_eq(call(&shell, "help", "check"), 0);
	onced_check_output(&shell.onced, "usage: onced check");
	ck_assert_int_eq(call(&shell, "-V", NULL), 0);
	onced_check_output(&shell.onced, "onced ");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_int_eq(call(&shell, wrong[i].command, wrong[i].word),
				 64);
		onced_check_output(&shell.onced, wrong[i].sentence);
	}
	ck_assert_int_eq(call(&shell, "status", "--help"), 0);
	onced_check_output(&shell.onced, "usage: onced status");
	ck_assert_int_eq(call(&shell, "--help", NULL), 0);
	fini(&shell);
}
END_TEST

START_TEST(check_says_that_all_is_good)
{
	struct shell shell;

	init(&shell, NULL);
	ck_assert_int_eq(run(&shell, "check", NULL), 0);
	onced_check_output(&shell.onced, "file      good");
	onced_check_output(&shell.onced, "handlers  good");
	onced_check_output(&shell.onced, "database  good");
	onced_check_output(&shell.onced, "kafka     good");
	fini(&shell);
}
END_TEST

/* For scripts: one object, and nothing else; warnings don't count. */
START_TEST(check_tells_scripts_in_one_object)
{
	struct onced_options weak = { .property = "check.crcs=false" };
	struct shell shell;

	init(&shell, &weak);
	ck_assert_int_eq(run(&shell, "check", "--json"), 0);
	check_output_is_json(&shell);
	onced_check_output(&shell.onced, "{\"exit\":0,\"findings\":[{");
	onced_check_output(&shell.onced, "\"severity\":\"warning\"");
	pg_fixture_run(&shell.fixture.pg,
		       "DELETE FROM once.migration WHERE version > 0");
	ck_assert_int_eq(run(&shell, "check", "--json"), 1);
	check_output_is_json(&shell);
	onced_check_output(&shell.onced, "\"part\":\"database\",\"severity\":"
					 "\"error\"");
	snprintf(shell.onced.config, sizeof(shell.onced.config), "/nowhere");
	ck_assert_int_eq(run(&shell, "check", "--json"), 78);
	check_output_is_json(&shell);
	onced_check_output(&shell.onced, "\"part\":\"file\"");
	fini(&shell);
}
END_TEST

/* As in CI, where there are none. */
START_TEST(check_offline_asks_no_server)
{
	struct onced_options away = {
		.conninfo = "host=127.0.0.1 port=1 user=nobody",
		.brokers = "127.0.0.1:1",
	};
	struct onced_options wrong_handler = away;
	struct shell shell;

	init(&shell, &away);
	ck_assert_int_eq(run(&shell, "check", "--offline"), 0);
	onced_check_output(&shell.onced, "handlers  good");
	wrong_handler.plugin = "refusing";
	onced_init(&shell.onced, &shell.fixture, &wrong_handler);
	ck_assert_int_eq(run(&shell, "check", "--offline"), 78);
	onced_check_output(&shell.onced, "refused to open");
	away.conninfo = "postgresql://u:opensesame/x@127.0.0.1/db";
	onced_init(&shell.onced, &shell.fixture, &away);
	ck_assert_int_eq(run(&shell, "check", "--offline"), 78);
	onced_check_output(&shell.onced, "database: the database's URL has");
	fini(&shell);
}
END_TEST

/* Nobody listens at port 1. */
START_TEST(check_says_that_redis_is_not_there)
{
	struct onced_options options = {
		.prefilter = "  redis:\n    url: redis://127.0.0.1:1\n",
	};
	struct shell shell;

	init(&shell, &options);
	ck_assert_int_eq(run(&shell, "check", NULL), 69);
	onced_check_output(&shell.onced, "kafka     good");
	onced_check_output(&shell.onced, "redis: 127.0.0.1:1: ");
	fini(&shell);
}
END_TEST

START_TEST(check_finds_all_that_is_wrong_and_not_the_first_only)
{
	struct shell shell;

	init(&shell, NULL);
	pg_fixture_run(&shell.fixture.pg,
		       "DELETE FROM once.migration WHERE version > 0");
	snprintf(shell.fixture.kafka.topic, sizeof(shell.fixture.kafka.topic),
		 "there-is-no-such-topic");
	onced_init(&shell.onced, &shell.fixture, NULL);
	ck_assert_int_eq(run(&shell, "check", NULL), 1);
	onced_check_output(&shell.onced, "run \"onced migrate\"");
	onced_check_output(&shell.onced, "no topic \"there-is-no-such-topic\"");
	kafka_fixture_create_topic(&shell.fixture.kafka,
				   shell.fixture.kafka.topic, 1, NULL);
	fini(&shell);
}
END_TEST

START_TEST(a_server_that_is_not_there_ends_a_command_with_69)
{
	struct onced_options options = {
		.conninfo = "host=127.0.0.1 port=1 user=nobody"
	};
	struct shell shell;

	init(&shell, &options);
	ck_assert_int_eq(run(&shell, "check", NULL), 69);
	onced_check_output(&shell.onced, "could not connect");
	ck_assert_int_eq(run(&shell, "migrate", NULL), 69);
	ck_assert_int_eq(run(&shell, "status", NULL), 69);
	fini(&shell);
}
END_TEST

START_TEST(migrate_twice_changes_nothing_the_second_time)
{
	struct shell shell;

	init(&shell, NULL);
	onced_fixture_without_monitor(&shell.fixture);
	pg_fixture_run(&shell.fixture.pg, "SET client_min_messages = warning; "
					  "DROP SCHEMA once CASCADE");
	ck_assert_int_eq(run(&shell, "migrate", "--dry-run"), 0);
	onced_check_output(&shell.onced, "CREATE TABLE once.consume_log");
	ck_assert_int_eq(run(&shell, "migrate", NULL), 0);
	onced_check_output(&shell.onced, " applied\n");
	ck_assert_int_eq(run(&shell, "migrate", NULL), 0);
	onced_check_output(&shell.onced, " was there\n");
	fini(&shell);
}
END_TEST

START_TEST(status_and_the_pages_tell_where_it_stands)
{
	static const struct letter dead = { 0, "m9", "b9", "reject", "v" };
	static const char *const pages[] = { "/metrics", "/healthz",
					     "/readyz" };
	struct shell shell;
	char *page;

	init(&shell, NULL);
	onced_start(&shell.onced, NULL);
	onced_fixture_send_series(&shell.fixture, 0, 8);
	onced_fixture_send(&shell.fixture, &dead, 1);
	onced_fixture_wait_for_all(&shell.fixture, WAIT_MS);
	onced_wait_until_ready(&shell.onced, WAIT_MS);
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		ck_assert_int_eq(http_get(shell.onced.port, pages[i], NULL),
				 200);
	ck_assert_int_eq(http_get(shell.onced.port, "/status", &page), 200);
	check_json(&shell, page);
	free(page);
	ck_assert_int_eq(onced_stop(&shell.onced), 0);

	ck_assert_int_eq(run(&shell, "status", NULL), 0);
	onced_check_output(&shell.onced, shell.fixture.kafka.topic);
	onced_check_output(&shell.onced, "rejected");
	ck_assert_int_eq(run(&shell, "status", "--json"), 0);
	check_output_is_json(&shell);
	fini(&shell);
}
END_TEST

/* Of the first line with the text; from 1. */
static int find_line(const char *path, const char *text)
{
	char *whole = read_file(path);
	char *found = whole == NULL ? NULL : strstr(whole, text);
	int line = 1;

	ck_assert_ptr_nonnull(found);
	for (char *at = whole; at < found; at++)
		line += *at == '\n';
	free(whole);
	return line;
}

/* C80 */
START_TEST(a_broken_file_ends_with_78_and_names_the_line)
{
	struct onced_options options = { .route = "    on_bad_kee: halt\n" };
	struct shell shell;
	char place[PATH_MAX + 16];

	init(&shell, &options);
	snprintf(place, sizeof(place), "%s:%d:", shell.onced.config,
		 find_line(shell.onced.config, "on_bad_kee"));
	ck_assert_int_eq(run(&shell, "run", NULL), 78);
	onced_check_output(&shell.onced, place);
	onced_check_output(&shell.onced, "\"on_bad_key\"");
	ck_assert_int_eq(run(&shell, "check", NULL), 78);
	onced_check_output(&shell.onced, place);
	ck_assert_int_eq(run(&shell, "migrate", NULL), 78);
	snprintf(shell.onced.config, sizeof(shell.onced.config), "/nowhere");
	ck_assert_int_eq(run(&shell, "run", NULL), 78);
	onced_check_output(&shell.onced, "/nowhere");
	fini(&shell);
}
END_TEST

static void check_rows_of(struct shell *shell)
{
	const char *config = shell->onced.config;
	const char *topic = shell->fixture.kafka.topic;
	const char *list[] = { "parked", "list", "-c", config, NULL };
	const char *seek[] = { "seek", "-c",   config, "--topic",
			       topic,  "--to", "0",    NULL };

	ck_assert_int_eq(onced_call(&shell->onced, list), 0);
	onced_check_output(&shell->onced, "m99");
	ck_assert_int_eq(onced_call(&shell->onced, seek), 0);
	ck_assert_int_eq(onced_fixture_position(&shell->fixture, 0), 0);
}

/* SQL, the default scope, pages and commands carry it. */
START_TEST(a_group_has_any_name_that_kafka_takes)
{
	static const char name[] = " $Default a/b c:d größe's <i>%s\\";
	struct onced_fixture *fixture;
	struct shell shell;
	char *page;

	init(&shell, NULL);
	fixture = &shell.fixture;
	onced_fixture_without_monitor(fixture);
	strncat(fixture->kafka.group, name,
		sizeof(fixture->kafka.group) - strlen(fixture->kafka.group) -
			1);
	onced_init(&shell.onced, fixture, NULL);
	onced_start(&shell.onced, NULL);
	onced_fixture_send_series(fixture, 0, 10);
	onced_fixture_send(
		fixture, &(struct letter){ 0, "m99", "b99", "reject", "v" }, 1);
	onced_fixture_wait_for_all(fixture, WAIT_MS);
	onced_fixture_check_effects(fixture, 10);
	ck_assert_int_eq(http_get(shell.onced.port, "/status", &page), 200);
	ck_assert_ptr_nonnull(strstr(page, "c:d größe's <i>%s\\\\\""));
	check_json(&shell, page);
	free(page);
	ck_assert_int_eq(run(&shell, "status", NULL), 0);
	onced_check_output(&shell.onced, name + 1);
	ck_assert_int_eq(run(&shell, "status", "--json"), 0);
	check_output_is_json(&shell);
	ck_assert_int_eq(onced_stop(&shell.onced), 0);
	ck_assert_int_eq(kafka_fixture_get_committed(&fixture->kafka, 0), 6);
	check_rows_of(&shell);
	fini(&shell);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("commands");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests, version_names_each_library);
	tcase_add_test(tests, a_wrong_command_line_ends_with_64_and_help);
	tcase_add_test(tests, check_says_that_all_is_good);
	tcase_add_test(tests, check_tells_scripts_in_one_object);
	tcase_add_test(tests, check_offline_asks_no_server);
	tcase_add_test(tests, check_says_that_redis_is_not_there);
	tcase_add_test(tests,
		       check_finds_all_that_is_wrong_and_not_the_first_only);
	tcase_add_test(tests,
		       a_server_that_is_not_there_ends_a_command_with_69);
	tcase_add_test(tests, migrate_twice_changes_nothing_the_second_time);
	tcase_add_test(tests, status_and_the_pages_tell_where_it_stands);
	tcase_add_test(tests, a_broken_file_ends_with_78_and_names_the_line);
	tcase_add_test(tests, a_group_has_any_name_that_kafka_takes);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
