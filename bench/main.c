/*
 * main.c - a run: the sections that are wanted, one after the other, each with
 * its table; and all figures in a file.
 *
 * The idea: the run is one Check test, because the rig's fixtures report as
 * Check does. It fails only where the data is wrong; how fast it was is for the
 * reader to judge.
 */
#include "onced_process.h"
#include "results_json.h"
#include "sections.h"
#include "tables.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <servers.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MESSAGES = 1000000,
	MESSAGES_MIN = 10000,
	MESSAGES_MAX = 100000000,
	ROUNDS = 3,
	GROWTH = 5000000, /* rows */
	GROWTH_MIN = 100000,
	GROWTH_MAX = 1000000000,
	SPAN_S = 6,
	SPAN_MIN = 3,
	SPAN_MAX = 3600,
	TOP_MIN = 100,
	TOP_MAX = 10000000
};

static struct bench bench;
static const char *onced_path; /* from the command line; NULL: none */

/* ---- what is wanted ---- */

static int64_t read_number(const char *variable, int64_t otherwise, int64_t min,
			   int64_t max)
{
	const char *text = getenv(variable);
	char *end;
	long long number;

	if (text == NULL || text[0] == '\0')
		return otherwise;
	errno = 0;
	number = strtoll(text, &end, 10);
	ck_assert_msg(
		errno == 0 && *end == '\0' && number >= min && number <= max,
		"%s is \"%s\"; write a number from %" PRId64 " to %" PRId64,
		variable, text, min, max);
	return number;
}

static const char *read_word(const char *variable, const char *otherwise)
{
	const char *text = getenv(variable);

	return text == NULL || text[0] == '\0' ? otherwise : text;
}

/* `list` is NULL (all are), or names with commas between them. */
static bool is_wanted(const struct section *section, const char *list)
{
	size_t size = strlen(section->name);

	for (const char *at = list; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, section->name, size) == 0 &&
		    (at[size] == ',' || at[size] == '\0'))
			return true;
	}
	return list == NULL;
}

/* A wrong name is told before the run, not after it. */
static const char *read_list(void)
{
	const char *list = read_word("ONCE_BENCH_SECTION", NULL);
	int named = 1;
	int found = 0;

	if (list == NULL)
		return NULL;
	for (const char *at = strchr(list, ','); at != NULL;
	     at = strchr(at + 1, ','))
		named++;
	for (const struct section *section = sections; section->name != NULL;
	     section++)
		found += is_wanted(section, list);
	ck_assert_msg(found == named,
		      "ONCE_BENCH_SECTION is \"%s\"; write names of sections "
		      "(once-bench --list) with commas between them",
		      list);
	return list;
}

/* ---- what is there ---- */

/* The server's process, if it was started for us. A user's own isn't looked
 * at. */
static pid_t find_server(enum server_kind kind)
{
	char variable[64];

	snprintf(variable, sizeof(variable), "%s_PROCESS",
		 server_names[kind].variable);
	return (pid_t)read_number(variable, 0, 1, INT32_MAX);
}

static void read_sizes(void)
{
	bench.messages = read_number("ONCE_BENCH_MESSAGES", MESSAGES,
				     MESSAGES_MIN, MESSAGES_MAX);
	bench.rounds =
		(int)read_number("ONCE_BENCH_ROUNDS", ROUNDS, 1, ROUNDS_MAX);
	bench.growth_rows = read_number("ONCE_BENCH_GROWTH", GROWTH, GROWTH_MIN,
					GROWTH_MAX);
	bench.span_s =
		read_number("ONCE_BENCH_SECONDS", SPAN_S, SPAN_MIN, SPAN_MAX);
	bench.top_per_second =
		read_number("ONCE_BENCH_TOP_RATE", 0, TOP_MIN, TOP_MAX);
}

static void init(void)
{
	struct once_error err;

	read_sizes();
	bench.postgres = find_server(SERVER_PG);
	bench.kafka = find_server(SERVER_KAFKA);
	onced_process_find(&bench, onced_path);
	ck_assert_msg(temp_dir_init(&bench.dir, &err) == ONCE_OK, "%s",
		      err.text);
	pg_fixture_init(&bench.pg);
	onced_process_migrate(&bench);
	tables_create(&bench);
}

static void fini(void)
{
	if (bench.redis.process.pid != 0)
		redis_server_destroy(&bench.redis);
	pg_fixture_fini(&bench.pg);
	temp_dir_fini(&bench.dir);
}

/* ---- the run ---- */

static void run_section(const struct section *section,
			const struct facts *facts)
{
	section->run(&bench, section);
	printf("\n**%s**: %s\n", section->name, section->title);
	results_print(&bench.results, section->name);
	results_print_goals(&bench.results, section->name, section->goals,
			    section->goal_count);
	results_write_json(&bench.results, facts,
			   read_word("ONCE_BENCH_JSON", "results.json"));
}

START_TEST(all_stages_write_each_refund_once)
{
	const char *list = read_list();
	struct facts facts;

	init();
	facts_init(&facts, &bench);
	facts_print(&facts);
	for (const struct section *section = sections; section->name != NULL;
	     section++)
		if (is_wanted(section, list))
			run_section(section, &facts);
	fini();
}
END_TEST

static Suite *make_suite(void)
{
	Suite *suite = suite_create("bench");
	TCase *tcase = tcase_create("bench");

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, all_stages_write_each_refund_once);
	suite_add_tcase(suite, tcase);
	return suite;
}

/* Silent where all is well: the tables are the output. */
static int run(void)
{
	SRunner *runner = srunner_create(make_suite());
	int failed;

	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	if (failed > 0)
		srunner_print(runner, CK_NORMAL);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}

static int print_sections(void)
{
	for (const struct section *section = sections; section->name != NULL;
	     section++)
		printf("%-12s %s\n", section->name, section->title);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return print_sections();
	if (argc > 2) {
		fprintf(stderr, "usage: once-bench [ONCED] | --list\n");
		return 64;
	}
	onced_path = argc == 2 ? argv[1] : NULL;
	servers_need(NEED(PG) | NEED(KAFKA));
	return run();
}
