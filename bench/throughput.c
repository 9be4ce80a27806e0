/*
 * throughput.c - onced, a transaction per message, and COPY, one after the
 * other on the same servers, and a table.
 *
 * The idea: the run is one Check test, because the rig's fixtures report as
 * Check does. It fails only where the data is wrong; how fast it was is for the
 * reader to judge.
 */
#include "copy_stage.h"
#include "load.h"
#include "onced_process.h"
#include "onced_stage.h"
#include "single_stage.h"
#include "table.h"
#include "tables.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <servers.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	MESSAGES = 1000000,
	MESSAGES_MIN = 1000,
	MESSAGES_MAX = 100000000
};

static const char *onced_path; /* from the command line; NULL: none */

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

/* What is going on, for who waits. */
static void tell(const char *what)
{
	fprintf(stderr, "%s…\n", what);
}

static void init(struct bench *bench)
{
	struct onced_process onced;
	struct once_error err;

	bench->messages = read_number("ONCE_BENCH_MESSAGES", MESSAGES,
				      MESSAGES_MIN, MESSAGES_MAX);
	bench->different = bench->messages;
	bench->prefilter = "";
	onced_process_find(bench, onced_path);
	ck_assert_msg(temp_dir_init(&bench->dir, &err) == ONCE_OK, "%s",
		      err.text);
	pg_fixture_init(&bench->pg);
	kafka_fixture_init(&bench->kafka, BENCH_PARTITIONS);
	onced_process_init(&onced, bench, 0, "send");
	onced_process_migrate(&onced, bench);
	tables_create(bench);
}

static void fini(struct bench *bench)
{
	kafka_fixture_fini(&bench->kafka);
	pg_fixture_fini(&bench->pg);
	temp_dir_fini(&bench->dir);
}

static void run_round(struct bench *bench, int number, struct round *ret_round)
{
	tell("A: onced, once_send");
	onced_stage_run(bench, number, "send", &ret_round->onced);
	tell("D: onced, once_collect");
	onced_stage_run(bench, number, "collect", &ret_round->collect);
	copy_stage_export(bench);
	tell("B: a transaction per message");
	single_stage_run(bench, &ret_round->single);
	tell("C: COPY");
	copy_stage_run(bench, &ret_round->copy);
}

START_TEST(all_stages_write_each_refund_once)
{
	struct round rounds[ROUNDS_MAX] = { 0 };
	int64_t count = read_number("ONCE_BENCH_ROUNDS", 1, 1, ROUNDS_MAX);
	struct bench bench = { 0 };

	init(&bench);
	tell("filling the topic");
	load_produce(&bench);
	for (int i = 0; i < (int)count; i++)
		run_round(&bench, i + 1, &rounds[i]);
	table_print(rounds, (size_t)count);
	fini(&bench);
}
END_TEST

static Suite *make_suite(void)
{
	Suite *suite = suite_create("throughput");
	TCase *tcase = tcase_create("throughput");

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, all_stages_write_each_refund_once);
	suite_add_tcase(suite, tcase);
	return suite;
}

/* Silent where all is well: the table is the output. */
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

int main(int argc, char **argv)
{
	if (argc > 2) {
		fprintf(stderr, "usage: throughput [ONCED]\n");
		return 64;
	}
	onced_path = argc == 2 ? argv[1] : NULL;
	servers_need(NEED(PG) | NEED(KAFKA));
	return run();
}
