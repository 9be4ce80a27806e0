/*
 * growth.c - what a message costs while the log becomes long.
 *
 * The idea: the log grows as it would, through its indexes, refund numbers
 * rising and message ids random; only most of the rows come from a statement
 * and not from a topic. The handler's own table is emptied before each step,
 * so that what grows is the log alone.
 */
#include "sections.h"
#include "tables.h"

#include <check.h>
#include <inttypes.h>
#include <route.h>
#include <stdio.h>

enum {
	TOPIC_PERCENT = 20,
	AT_ONCE = 500000 /* rows of a statement */
};

/* Of ONCE_BENCH_GROWTH. */
static const int steps_percent[] = { 0, 5, 25, 50, 100 };

enum {
	STEPS = sizeof(steps_percent) / sizeof(steps_percent[0])
};

/* The results keep them. */
static char step_names[STEPS][40];

static void fill_some(struct bench *bench, int64_t from, int64_t to)
{
	static const char fill_sql[] =
		"INSERT INTO once.consume_log (consumer_id, msg_id, biz_id, "
		"topic, partition, message_offset, fingerprint) "
		"SELECT 1, gen_random_uuid()::text, "
		"'refund:R-' || lpad(n::text, 10, '0'), 'earlier', n %% 4, "
		"n / 4, decode(repeat('00', %d), 'hex') "
		"FROM generate_series(%" PRId64 ", %" PRId64 ") AS n";
	char sql[sizeof(fill_sql) + 64];

	snprintf(sql, sizeof(sql), fill_sql, ONCE__FINGERPRINT_SIZE, from,
		 to - 1);
	pg_fixture_run(&bench->pg, sql);
}

/* What autovacuum would do sooner or later is done before the clock starts. */
static void fill(struct bench *bench, const struct section *section,
		 int64_t from, int64_t to)
{
	tell(section->name, "filling the log");
	for (; from < to; from += AT_ONCE)
		fill_some(bench, from,
			  from + AT_ONCE < to ? from + AT_ONCE : to);
	pg_fixture_run(&bench->pg, "VACUUM ANALYZE once.consume_log");
	pg_fixture_run(&bench->pg, "TRUNCATE refund");
	tables_settle(bench);
}

static void check_rows(struct bench *bench, int64_t refunds, int64_t rows)
{
	ck_assert_int_eq(pg_fixture_get_int64(&bench->pg,
					      "SELECT count(DISTINCT refund_no)"
					      " FROM refund"),
			 refunds);
	ck_assert_int_eq(pg_fixture_get_int64(&bench->pg,
					      "SELECT count(*) "
					      "FROM once.consume_log"),
			 rows);
}

static void add_space(struct bench *bench, const struct section *section,
		      const char *name, int64_t rows)
{
	static const struct {
		const char *unit;
		const char *sql;
	} parts[] = {
		{ "table, bytes a row",
		  "SELECT pg_table_size('once.consume_log')" },
		{ "indexes, bytes a row",
		  "SELECT pg_indexes_size('once.consume_log')" },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		results_add(
			&bench->results, section->name, name, parts[i].unit,
			(double)pg_fixture_get_int64(&bench->pg, parts[i].sql) /
				(double)rows);
}

static void add_times(struct bench *bench, const struct section *section,
		      const char *name, const struct page *page)
{
	results_add(&bench->results, section->name, name, "batch p50, ms",
		    page_guess_s(page, 0.5) * 1e3);
	results_add(&bench->results, section->name, name, "batch p99, ms",
		    page_guess_s(page, 0.99) * 1e3);
}

/* The rows that there are then. */
static int64_t drain(struct bench *bench, const struct section *section,
		     size_t step, int64_t rows)
{
	const struct topic_plan plan = { .percent = TOPIC_PERCENT,
					 .first = rows };
	struct scenario scenario = scenario_of(NULL);
	struct outcome outcome = { 0 };
	struct topic topic;

	scenario.name = step_names[step];
	scenario.against = step == 0 ? NULL : step_names[0];
	tell(section->name, scenario.name);
	topic_init(&topic, &plan, bench->messages);
	stage_onced(bench, &scenario, &topic, &outcome);
	rows += topic.messages;
	check_rows(bench, topic.messages, rows);
	topic_fini(&topic);
	section_add_rate(bench, section, &scenario, &outcome);
	add_times(bench, section, scenario.name, &outcome.page);
	add_space(bench, section, scenario.name, rows);
	return rows;
}

void section_run_growth(struct bench *bench, const struct section *section)
{
	int64_t rows = 0;

	tables_empty(bench);
	for (size_t i = 0; i < STEPS; i++) {
		int64_t wanted = bench->growth_rows / 100 * steps_percent[i];

		fill(bench, section, rows, wanted);
		if (wanted > rows)
			rows = wanted;
		snprintf(step_names[i], sizeof(step_names[i]),
			 "%.3g M rows before", (double)rows / 1e6);
		rows = drain(bench, section, i, rows);
	}
	tables_empty(bench);
}
