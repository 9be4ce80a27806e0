/*
 * section_run.c - a section of scenarios: rounds in which each of them has its
 * turn.
 *
 * The idea: all that a scenario needs is prepared before its clock starts, and
 * looked after when it has stopped.
 */
#include "sections.h"
#include "tables.h"

#include <check.h>
#include <redis_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TOPICS_MAX = 4
};

struct scene {
	struct bench *bench;
	const struct section *section;
	struct topic topics[TOPICS_MAX];
	char *digests[TOPICS_MAX]; /* of the rows that its messages made */
	bool is_filled;            /* the log, by the first topic */
};

void tell(const char *section, const char *what)
{
	fprintf(stderr, "%s: %s…\n", section, what);
}

struct scenario scenario_of(const struct scenario *scenario)
{
	struct scenario whole = { 0 };

	if (scenario != NULL)
		whole = *scenario;
	if (whole.lanes == 0)
		whole.lanes = BENCH_LANES;
	if (whole.max_messages == 0)
		whole.max_messages = BENCH_MAX_MESSAGES;
	if (whole.write == NULL)
		whole.write = "send";
	if (whole.durability == NULL)
		whole.durability = "database";
	if (whole.max_memory == NULL)
		whole.max_memory = "192MiB";
	return whole;
}

/* ---- before and after ---- */

static void fill_log(struct scene *scene)
{
	struct scenario fast = scenario_of(NULL);
	struct outcome outcome;

	tell(scene->section->name, "filling the log");
	tables_empty(scene->bench);
	stage_ceiling(scene->bench, &fast, &scene->topics[0], &outcome);
	pg_fixture_run(&scene->bench->pg, "VACUUM ANALYZE once.consume_log");
	scene->is_filled = true;
}

static void prepare(struct scene *scene, const struct scenario *scenario)
{
	if (scenario->log == LOG_EMPTY) {
		tables_empty(scene->bench);
		scene->is_filled = false;
		return;
	}
	if (!scene->is_filled)
		fill_log(scene);
	tables_settle(scene->bench);
}

static void prepare_redis(struct bench *bench, enum prefilter prefilter)
{
	struct once_error err;

	if (prefilter != PREFILTER_REDIS && prefilter != PREFILTER_REDIS_HUNG)
		return;
	if (bench->redis.process.pid == 0)
		ck_assert_msg(redis_server_create(&bench->redis, &err) ==
				      ONCE_OK,
			      "%s", err.text);
	if (prefilter == PREFILTER_REDIS_HUNG)
		redis_server_freeze(&bench->redis);
}

static void release_redis(struct bench *bench, enum prefilter prefilter)
{
	if (prefilter == PREFILTER_REDIS_HUNG)
		redis_server_thaw(&bench->redis);
}

/* ---- what it left ---- */

/* Whoever handles all of a topic leaves the same rows. (Of repetitions any may
 * come first.) */
static void compare_rows(struct scene *scene, int topic)
{
	char *digest = tables_digest(scene->bench);

	if (scene->digests[topic] == NULL) {
		scene->digests[topic] = digest;
		return;
	}
	ck_assert_msg(strcmp(digest, scene->digests[topic]) == 0,
		      "it has left other rows than the stages before it");
	free(digest);
}

static void check_rows(struct scene *scene, const struct scenario *scenario,
		       int64_t booked)
{
	const struct topic *topic = &scene->topics[scenario->topic];
	bool filled = scenario->log == LOG_FILLED;

	if (filled)
		booked = scene->topics[0].messages;
	tables_check(scene->bench, booked);
	if (!filled && booked == topic->messages)
		compare_rows(scene, scenario->topic);
}

/* ---- what came out ---- */

static double per_message_us(const struct outcome *outcome, double seconds)
{
	return seconds * 1e6 / (double)outcome->messages;
}

static double percent(double part, double whole)
{
	return whole > 0 ? part * 100 / whole : 0;
}

void section_add_rate(struct bench *bench, const struct section *section,
		      const struct scenario *scenario,
		      const struct outcome *outcome)
{
	const struct {
		const char *unit;
		double value;
		bool known;
	} figures[] = {
		{ "messages/s",
		  (double)outcome->messages * 1e9 / (double)outcome->took_ns,
		  true },
		{ "program, µs", per_message_us(outcome, outcome->program_s),
		  true },
		{ "PostgreSQL, µs",
		  per_message_us(outcome, outcome->postgres_s),
		  bench->postgres != 0 },
		{ "Kafka, µs", per_message_us(outcome, outcome->kafka_s),
		  bench->kafka != 0 },
		{ "idle, %",
		  percent(outcome->machine.idle_s, outcome->machine.all_s),
		  true },
		{ "waiting for the disk, %",
		  percent(outcome->machine.disk_s, outcome->machine.all_s),
		  true },
		{ "peak, MB", (double)outcome->peak_kib * 1024 / 1e6,
		  outcome->peak_kib != 0 },
	};
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		if (figures[i].known)
			results_add(&bench->results, section->name,
				    scenario->name, figures[i].unit,
				    figures[i].value);
	if (scenario->against != NULL)
		results_compare(&bench->results, section->name, scenario->name,
				scenario->against);
}

/* ---- the run ---- */

static void run_scenario(struct scene *scene, const struct scenario *sparse)
{
	struct scenario scenario = scenario_of(sparse);
	const struct topic *topic = &scene->topics[scenario.topic];
	struct outcome outcome = { 0 };

	prepare(scene, &scenario);
	prepare_redis(scene->bench, scenario.prefilter);
	tell(scene->section->name, scenario.name);
	scenario.run(scene->bench, &scenario, topic, &outcome);
	release_redis(scene->bench, scenario.prefilter);
	check_rows(scene, &scenario, outcome.booked);
	scene->section->add(scene->bench, scene->section, &scenario, &outcome);
}

static void init_topic(struct scene *scene, size_t i)
{
	tell(scene->section->name, "filling a topic");
	topic_init(&scene->topics[i], &scene->section->topics[i],
		   scene->bench->messages);
}

static void fini_topic(struct scene *scene, size_t i)
{
	topic_fini(&scene->topics[i]);
	free(scene->digests[i]);
}

void section_run_scenarios(struct bench *bench, const struct section *section)
{
	struct scene scene = { .bench = bench, .section = section };

	ck_assert_uint_le(section->topic_count, TOPICS_MAX);
	for (size_t i = 0; i < section->topic_count; i++)
		init_topic(&scene, i);
	for (int round = 0; round < bench->rounds; round++)
		for (size_t i = 0; i < section->scenario_count; i++)
			run_scenario(&scene, &section->scenarios[i]);
	for (size_t i = 0; i < section->topic_count; i++)
		fini_topic(&scene, i);
}
