/*
 * prefilters.c - onced with and without prefilters, where they save something
 * and where they can't, beside a consumer that does nothing.
 *
 * The idea: stages of a round run one after the other on the same servers; what
 * counts are their ratios, and of these the median over the rounds.
 */
#include "load.h"
#include "onced_process.h"
#include "onced_stage.h"
#include "read_stage.h"
#include "tables.h"

#include <check.h>
#include <redis_server.h>
#include <servers.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NEW_MESSAGES = 400000,
	DIFFERENT = 50000,
	REPEATED_MESSAGES = 3000000,
	ROUNDS = 3
};

enum stage {
	NEW_NONE,
	NEW_LOCAL,
	NEW_REDIS,
	NEW_FROZEN,
	AGAIN_NONE,
	AGAIN_LOCAL,
	AGAIN_REDIS,
	AGAIN_READ,
	COUNT_STAGES
};

static const char *const stage_names[COUNT_STAGES] = {
	"new messages, no prefilter",
	"new messages, local",
	"new messages, Redis",
	"new messages, Redis hung all the time",
	"repeated messages, no prefilter",
	"repeated messages, local",
	"repeated messages, Redis",
	"the same, read by librdkafka and dropped",
};

struct ratio {
	enum stage what;
	enum stage to;
	const char *wanted;
};

static const struct ratio ratios[] = {
	{ NEW_LOCAL, NEW_NONE, "" },
	{ NEW_REDIS, NEW_NONE, "0.87 or more (a batch takes 15 % longer)" },
	{ NEW_FROZEN, NEW_NONE, "0.95 or more" },
	{ AGAIN_LOCAL, AGAIN_NONE, "" },
	{ AGAIN_REDIS, AGAIN_NONE, "" },
	{ AGAIN_LOCAL, AGAIN_READ, "1.00, or 1,000,000 per second" },
};

enum {
	COUNT_RATIOS = sizeof(ratios) / sizeof(ratios[0])
};

static struct bench bench;
static struct kafka_fixture topics[2];
static struct redis_server redis;
static char with_redis[256];
static double rates[ROUNDS][COUNT_STAGES];
static const char with_local[] = "prefilter:\n"
				 "  local:\n"
				 "    max_memory: 64MiB\n";

static const char *onced_path;

/* ---- stages ---- */

static void choose(bool repeated, const char *prefilter)
{
	bench.kafka = topics[repeated];
	bench.messages = repeated ? REPEATED_MESSAGES : NEW_MESSAGES;
	bench.different = repeated ? DIFFERENT : NEW_MESSAGES;
	bench.skipped = repeated ? 4 * DIFFERENT : NEW_MESSAGES / 10;
	bench.prefilter = prefilter;
}

/* ONCE_BENCH_STAGE: a part of the names of those that are to run. */
static bool is_wanted(enum stage stage)
{
	const char *part = getenv("ONCE_BENCH_STAGE");

	return part == NULL || strstr(stage_names[stage], part) != NULL;
}

static void run_onced(int round, enum stage stage, bool repeated,
		      const char *prefilter)
{
	struct onced_outcome outcome;

	if (!is_wanted(stage))
		return;
	fprintf(stderr, "%s…\n", stage_names[stage]);
	choose(repeated, prefilter);
	onced_stage_run(&bench, round * COUNT_STAGES + (int)stage, "send",
			&outcome);
	rates[round][stage] = pace_per_second(&outcome.pace);
}

static void run_round(int round)
{
	struct pace pace;

	run_onced(round, NEW_NONE, false, "");
	run_onced(round, NEW_LOCAL, false, with_local);
	run_onced(round, NEW_REDIS, false, with_redis);
	redis_server_freeze(&redis);
	run_onced(round, NEW_FROZEN, false, with_redis);
	redis_server_thaw(&redis);
	run_onced(round, AGAIN_NONE, true, "");
	run_onced(round, AGAIN_LOCAL, true, with_local);
	run_onced(round, AGAIN_REDIS, true, with_redis);
	if (!is_wanted(AGAIN_READ))
		return;
	fprintf(stderr, "%s…\n", stage_names[AGAIN_READ]);
	choose(true, "");
	read_stage_run(&bench, &pace);
	rates[round][AGAIN_READ] = pace_per_second(&pace);
}

/* ---- the table ---- */

static int compare(const void *a, const void *b)
{
	const double *left = a;
	const double *right = b;

	return (*left > *right) - (*left < *right);
}

static void print_line(const char *name, double values[ROUNDS], int digits,
		       const char *wanted)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	printf("%-42s %10.*f  (%.*f to %.*f)%s%s\n", name, digits,
	       values[ROUNDS / 2], digits, values[0], digits,
	       values[ROUNDS - 1],
	       wanted[0] == '\0' ? "" : "  wanted: ", wanted);
}

static void print_table(void)
{
	double values[ROUNDS];
	char name[128];

	for (int stage = 0; stage < COUNT_STAGES; stage++) {
		for (int round = 0; round < ROUNDS; round++)
			values[round] = rates[round][stage];
		print_line(stage_names[stage], values, 0, "");
	}
	printf("\n");
	for (size_t i = 0; i < COUNT_RATIOS; i++) {
		for (int round = 0; round < ROUNDS; round++)
			values[round] = rates[round][ratios[i].what] /
					rates[round][ratios[i].to];
		snprintf(name, sizeof(name), "%.30s : %s",
			 stage_names[ratios[i].what],
			 ratios[i].to == AGAIN_READ ? "read" : "none");
		print_line(name, values, 2, ratios[i].wanted);
	}
}

/* ---- the run ---- */

static void init(void)
{
	struct onced_process onced;
	struct once_error err;

	bench.prefilter = "";
	onced_process_find(&bench, onced_path);
	ck_assert_msg(temp_dir_init(&bench.dir, &err) == ONCE_OK &&
			      redis_server_create(&redis, &err) == ONCE_OK,
		      "%s", err.text);
	snprintf(with_redis, sizeof(with_redis),
		 "prefilter:\n  redis:\n    url: %s\n", redis.url);
	pg_fixture_init(&bench.pg);
	for (int repeated = 0; repeated < 2; repeated++) {
		kafka_fixture_init(&topics[repeated], BENCH_PARTITIONS);
		choose(repeated == 1, "");
		fprintf(stderr, "filling a topic…\n");
		load_produce(&bench);
	}
	onced_process_init(&onced, &bench, 0, "send");
	onced_process_migrate(&onced, &bench);
	tables_create(&bench);
}

START_TEST(all_stages_write_each_refund_once)
{
	init();
	for (int round = 0; round < ROUNDS; round++)
		run_round(round);
	print_table();
	kafka_fixture_fini(&topics[0]);
	kafka_fixture_fini(&topics[1]);
	pg_fixture_fini(&bench.pg);
	redis_server_destroy(&redis);
	temp_dir_fini(&bench.dir);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("prefilters");
	TCase *tcase = tcase_create("prefilters");
	SRunner *runner;
	int failed;

	onced_path = argc == 2 ? argv[1] : NULL;
	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, all_stages_write_each_refund_once);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	if (failed > 0)
		srunner_print(runner, CK_NORMAL);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
