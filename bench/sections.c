/*
 * sections.c - what is measured beside what: tables.
 *
 * The idea: a scenario says where it differs from onced as it comes; everything
 * else is the same for all. A topic or a scenario of zeros is a plain one.
 */
#include "sections.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RATE "messages/s"

static const struct topic_plan plain[] = { { 0 } };
static const struct topic_plan half[] = { { .percent = 50 } };

/* ---- new ---- */

static const struct scenario new_scenarios[] = {
	{ .name = "ceiling", .run = stage_ceiling },
	{ .name = "once_send", .against = "ceiling", .run = stage_onced },
	{ .name = "once_insert",
	  .against = "ceiling",
	  .run = stage_onced,
	  .write = "bulk" },
	{ .name = "transaction per message",
	  .against = "ceiling",
	  .run = stage_single },
	{ .name = "read only", .against = "ceiling", .run = stage_read },
};

static const struct goal new_goals[] = {
	{ "once_send", RATE, "ceiling", .limit = 0.7 },
	{ "once_insert", RATE, "ceiling", .limit = 0.9 },
	{ "once_send", RATE, "transaction per message", .limit = 15 },
	{ "once_send", "program, µs", .limit = 3, .at_most = true },
	{ "once_insert", "program, µs", .limit = 3, .at_most = true },
	{ "once_send", "peak, MB", .limit = 200, .at_most = true },
	{ "once_insert", "peak, MB", .limit = 200, .at_most = true },
};

/* ---- duplicates ---- */

static const struct topic_plan duplicate_topics[] = {
	{ 0 },
	{ .other_ids = true },
	{ .a_third = true },
};

static const struct scenario duplicate_scenarios[] = {
	{ .name = "read only", .run = stage_read, .log = LOG_FILLED },
	{ .name = "the same messages again",
	  .against = "read only",
	  .run = stage_onced,
	  .log = LOG_FILLED },
	{ .name = "the same refunds in other messages",
	  .against = "read only",
	  .run = stage_onced,
	  .topic = 1,
	  .log = LOG_FILLED },
	{ .name = "the same messages again, 640 MiB",
	  .against = "read only",
	  .run = stage_onced,
	  .log = LOG_FILLED,
	  .max_memory = "640MiB" },
	{ .name = "a third comes again",
	  .against = "read only",
	  .run = stage_onced,
	  .topic = 2 },
};

#define ENOUGH 500000

static const struct goal duplicate_goals[] = {
	{ "the same messages again", RATE, "read only", .limit = 0.6,
	  .enough = ENOUGH },
	{ "the same refunds in other messages", RATE, "read only", .limit = 0.6,
	  .enough = ENOUGH },
	{ "the same messages again, 640 MiB", RATE, "read only", .limit = 0.6,
	  .enough = ENOUGH },
	{ "the same messages again", "program, µs", .limit = 1,
	  .at_most = true },
	{ "the same refunds in other messages", "program, µs", .limit = 1,
	  .at_most = true },
};

/* ---- lanes, batches, values ---- */

/* clang-format off */
#define BESIDE_CEILING(label, ...)                                      \
	{ .name = "ceiling, " label, .run = stage_ceiling, __VA_ARGS__ },    \
	{ .name = "once_send, " label, .against = "ceiling, " label,         \
	  .run = stage_onced, __VA_ARGS__ },                                 \
	{ .name = "once_insert, " label, .against = "ceiling, " label,      \
	  .run = stage_onced, .write = "bulk", __VA_ARGS__ }
/* clang-format on */

static const struct scenario lane_scenarios[] = {
	BESIDE_CEILING("1 lane", .lanes = 1),
	BESIDE_CEILING("2 lanes", .lanes = 2),
	BESIDE_CEILING("4 lanes", .lanes = 4),
};

static const struct scenario batch_scenarios[] = {
	BESIDE_CEILING("batches of 50", .max_messages = 50),
	BESIDE_CEILING("batches of 500", .max_messages = 500),
	BESIDE_CEILING("batches of 2000", .max_messages = 2000),
};

static const struct topic_plan value_topics[] = {
	{ .percent = 50, .value_size = 100 },
	{ .percent = 100, .value_size = 1024 },
	{ .percent = 200, .value_size = 16384 },
};

static const struct scenario value_scenarios[] = {
	BESIDE_CEILING("100 B", .topic = 0),
	BESIDE_CEILING("1 KiB", .topic = 1),
	BESIDE_CEILING("16 KiB", .topic = 2),
};

/* ---- durability ---- */

static const struct scenario durability_scenarios[] = {
	BESIDE_CEILING("database", .durability = "database"),
	BESIDE_CEILING("kafka", .durability = "kafka"),
};

/* ---- prefilters ---- */

static const struct topic_plan prefilter_topics[] = {
	{ .percent = 40 },
	{ .percent = 300, .repetitions = 60 },
};

#define NEW_WITH(label, which) \
	{ \
		.name = "new, " label, .against = "new, no prefilter", \
		.run = stage_onced, .prefilter = which \
	}
#define AGAIN_WITH(label, which) \
	{ \
		.name = "60 times each, " label, \
		.against = "60 times each, read only", .run = stage_onced, \
		.topic = 1, .prefilter = which \
	}

static const struct scenario prefilter_scenarios[] = {
	{ .name = "new, no prefilter", .run = stage_onced },
	NEW_WITH("local", PREFILTER_LOCAL),
	NEW_WITH("Redis", PREFILTER_REDIS),
	NEW_WITH("Redis that hangs", PREFILTER_REDIS_HUNG),
	{ .name = "60 times each, read only", .run = stage_read, .topic = 1 },
	AGAIN_WITH("no prefilter", PREFILTER_NONE),
	AGAIN_WITH("local", PREFILTER_LOCAL),
	AGAIN_WITH("Redis", PREFILTER_REDIS),
};

static const struct goal prefilter_goals[] = {
	{ "new, Redis", RATE, "new, no prefilter", .limit = 0.87 },
	{ "new, Redis that hangs", RATE, "new, no prefilter", .limit = 0.95 },
	{ "60 times each, local", RATE, "60 times each, read only", .limit = 1,
	  .enough = 1000000 },
};

/* ---- latency ---- */

static const struct goal latency_goals[] = {
	{ "50 % of the top rate", "p99, ms", "COMMIT beside 50 %", .limit = 4,
	  .at_most = true },
};

/* ---- stages ---- */

static const struct topic_plan stage_topics[] = {
	{ .percent = 30 },
	{ .percent = 150, .repetitions = 60 },
};

static const struct scenario stage_scenarios[] = {
	{ .name = "new, once_send", .run = stage_onced },
	{ .name = "new, once_insert", .run = stage_onced, .write = "bulk" },
	{ .name = "new, once_insert, local prefilter",
	  .run = stage_onced,
	  .write = "bulk",
	  .prefilter = PREFILTER_LOCAL },
	{ .name = "60 times each, local prefilter",
	  .run = stage_onced,
	  .topic = 1,
	  .prefilter = PREFILTER_LOCAL },
	{ .name = "duplicates", .run = stage_onced, .log = LOG_FILLED },
};

/* ---- all of them ---- */

/* clang-format off */
#define TOPICS(table) .topics = table, .topic_count = COUNT(table)
#define SCENARIOS(table, what) \
	.scenarios = table, .scenario_count = COUNT(table), .add = (what)
#define GOALS(table) .goals = table, .goal_count = COUNT(table)

const struct section sections[] = {
	{ "new", "messages that are all new", section_run_scenarios,
	  TOPICS(plain), SCENARIOS(new_scenarios, section_add_rate), GOALS(new_goals) },
	{ "duplicates", "messages that were handled before",
	  section_run_scenarios, TOPICS(duplicate_topics),
	  SCENARIOS(duplicate_scenarios, section_add_rate), GOALS(duplicate_goals) },
	{ "lanes", "new messages, by lanes", section_run_scenarios,
	  TOPICS(half), SCENARIOS(lane_scenarios, section_add_rate) },
	{ "batch", "new messages, by `batch.max_messages`",
	  section_run_scenarios, TOPICS(half), SCENARIOS(batch_scenarios, section_add_rate) },
	{ "value", "new messages, by the size of their values",
	  section_run_scenarios, TOPICS(value_topics),
	  SCENARIOS(value_scenarios, section_add_rate) },
	{ "durability", "new messages, by `database.durability`",
	  section_run_scenarios, TOPICS(half),
	  SCENARIOS(durability_scenarios, section_add_rate) },
	{ "prefilter", "what prefilters save, and what they cost",
	  section_run_scenarios, TOPICS(prefilter_topics),
	  SCENARIOS(prefilter_scenarios, section_add_rate), GOALS(prefilter_goals) },
	{ "latency", "from the broker to COMMIT, beside a COMMIT of one row",
	  section_run_latency, GOALS(latency_goals) },
	{ "growth", "new messages, while the log becomes long",
	  section_run_growth, .topics = NULL },
	{ "stages", "a lane's time for a message, and the source's (fetch)",
	  section_run_scenarios, TOPICS(stage_topics),
	  SCENARIOS(stage_scenarios, section_add_stages) },
	{ 0 },
};
/* clang-format on */
