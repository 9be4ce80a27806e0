/*
 * sections.c - what is measured beside what: tables.
 *
 * The idea: a scenario says where it differs from onced as it comes; everything
 * else is the same for all. A topic or a scenario of zeros is a plain one.
 */
#include "sections.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RATE "messages/s"

static const struct topic_plan one_topic[] = { { 0 } };

/* ---- new: the goals ---- */

static const struct scenario new_scenarios[] = {
	{ .name = "ceiling", .run = stage_ceiling },
	{ .name = "once_send", .against = "ceiling", .run = stage_onced },
	{ .name = "once_collect",
	  .against = "ceiling",
	  .run = stage_onced,
	  .write = "collect" },
	{ .name = "transaction per message",
	  .against = "ceiling",
	  .run = stage_single },
	{ .name = "read only", .against = "ceiling", .run = stage_read },
};

static const struct goal new_goals[] = {
	{ "once_send", RATE, "ceiling", .limit = 0.7 },
	{ "once_collect", RATE, "ceiling", .limit = 0.9 },
	{ "once_send", RATE, "transaction per message", .limit = 15 },
	{ "once_send", "program, µs", .limit = 3, .at_most = true },
	{ "once_collect", "program, µs", .limit = 3, .at_most = true },
	{ "once_send", "peak, MB", .limit = 200, .at_most = true },
	{ "once_collect", "peak, MB", .limit = 200, .at_most = true },
};

#define SCENARIOS(table) .scenarios = table, .scenario_count = COUNT(table)
#define TOPICS(table) .topics = table, .topic_count = COUNT(table)
#define GOALS(table) .goals = table, .goal_count = COUNT(table)

const struct section sections[] = {
	{ .name = "new",
	  .title = "messages that are all new",
	  .run = section_run_scenarios,
	  TOPICS(one_topic),
	  SCENARIOS(new_scenarios),
	  GOALS(new_goals) },
	{ 0 },
};
