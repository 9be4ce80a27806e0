/* How large and how old the log is, by scope. Read by the index, from the old
 * end: never the whole table. */
#include "upkeep_impl.h"

#include "bytes.h"
#include "error.h"
#include "pg_array.h"
#include "schema.h"

#include <string.h>

#define KEPT ONCE__KEEP_SQL("c.id", "own.ms")

/* A scope's share is the planner's, where it was often enough to be noted, else
 * of what is left. Of the rows that may go, only the oldest thousand are looked
 * at. */
static const char read_sql[] =
	"WITH noted AS MATERIALIZED ("
	"SELECT n.id, n.share FROM pg_catalog.pg_stats AS s CROSS JOIN "
	"LATERAL unnest("
	"s.most_common_vals::text::int8[], s.most_common_freqs) AS n "
	"(id, share) WHERE s.schemaname = 'once' "
	"AND s.tablename = 'consume_log' AND s.attname = 'consumer_id'"
	"), size AS MATERIALIZED ("
	"SELECT reltuples::float8 AS rows, (SELECT 1::real - "
	"coalesce(pg_catalog.sum(share), 0) "
	"FROM noted) AS rest FROM pg_catalog.pg_class "
	"WHERE oid = 'once.consume_log'::regclass::oid) "
	"SELECT c.scope, few.rows, "
	"greatest(few.rows, size.rows * coalesce(noted.share, "
	"size.rest))::int8, "
	"(extract(epoch FROM pg_catalog.now() - first.at) * "
	"1000::numeric)::int8, "
	"(extract(epoch FROM pg_catalog.now() - due.at) * "
	"1000::numeric)::int8 - keep.ms "
	"FROM once.consumer AS c CROSS JOIN size "
	"CROSS JOIN LATERAL (SELECT CASE WHEN c.scope = ANY ($2::text[]) "
	"THEN nullif($1::int8, 0) END AS ms) AS own "
	"CROSS JOIN LATERAL (" KEPT ") AS keep "
	"LEFT JOIN noted ON noted.id = c.id "
	"LEFT JOIN LATERAL (SELECT l.consumed_at AS at "
	"FROM once.consume_log AS l WHERE l.consumer_id = c.id "
	"ORDER BY l.consumed_at LIMIT 1) AS first ON true "
	"LEFT JOIN LATERAL (SELECT pg_catalog.min(o.consumed_at) AS at FROM ("
	"SELECT l.topic, l.partition, l.message_offset, l.consumed_at "
	"FROM once.consume_log AS l WHERE l.consumer_id = c.id "
	"AND keep.ms >= 0 "
	"AND l.consumed_at < pg_catalog.now() - keep.ms::float8 * interval '1 "
	"millisecond' "
	"ORDER BY l.consumed_at LIMIT 1000) AS o "
	"LEFT JOIN (" ONCE__HELD_SQL(
		"c.id") ") AS h USING (topic, partition) "
			"WHERE h.next_offset IS NULL OR o.message_offset < "
			"h.next_offset) "
			"AS due ON true "
			"CROSS JOIN LATERAL (SELECT pg_catalog.count(*) AS "
			"rows FROM ("
			"SELECT FROM once.consume_log AS l WHERE "
			"l.consumer_id = c.id "
			"ORDER BY l.consumed_at LIMIT 10000) AS l) AS few "
			"ORDER BY c.scope";

enum {
	COUNTED_ROWS = 10000
};

/* The group's processes that were started before they last read under the
 * scope: those started since have other routes. */
static const char foreign_sql[] =
	"SELECT (SELECT i.host || ', pid ' || i.pid::text || ', of group ' "
	"|| i.group_name FROM once.consumer_group AS g "
	"JOIN once.instance AS i ON i.group_name = g.group_name "
	"AND i.started_at <= g.seen_at WHERE g.consumer_id = c.id "
	"AND once.is_alive(i.id) LIMIT 1) "
	"FROM once.consumer AS c WHERE c.scope = $1::text";

static void find_scope(const struct once_cleaner *cleaner,
		       struct once_log_reading *reading)
{
	const struct once_cleaner_options *options = &cleaner->options;

	for (size_t i = 0; i < options->scope_count; i++) {
		if (strcmp(options->scopes[i], reading->scope) != 0)
			continue;
		reading->known = 1;
		reading->index = i;
	}
}

static int64_t int64_or(const struct once_rows *rows, size_t row, size_t column,
			int64_t otherwise)
{
	if (once_rows_get(rows, row, column).data == NULL)
		return otherwise;
	return once__rows_int64(rows, row, column);
}

static void tell_row(const struct once_cleaner *cleaner,
		     const struct once_rows *rows, size_t row,
		     once_log_reading_f *told, void *arg)
{
	struct once_log_reading reading = {
		.scope = once_rows_get(rows, row, 0).data,
		.rows = once__rows_int64(rows, row, 1),
		.exact = once__rows_int64(rows, row, 1) < COUNTED_ROWS,
		.oldest_ms = int64_or(rows, row, 3, -1),
		.overdue_ms = int64_or(rows, row, 4, 0),
	};

	if (!reading.exact)
		reading.rows = once__rows_int64(rows, row, 2);
	find_scope(cleaner, &reading);
	told(arg, &reading);
}

enum once_status once_cleaner_read(struct once_cleaner *cleaner,
				   once_log_reading_f *told, void *arg,
				   struct once_error *err)
{
	const struct once_cleaner_options *options = &cleaner->options;
	struct once__pg_array scopes = { 0 };
	const struct once_rows *rows;
	enum once_status status = ONCE_OK;
	char retention[24];

	once__pg_array_init(&scopes, ONCE__PG_TEXT);
	for (size_t i = 0; i < options->scope_count; i++)
		once__pg_array_add(&scopes, bytes_text(options->scopes[i]));
	once__pg_begin(cleaner->pg);
	rows = once__pg_exec(
		cleaner->pg, ONCE__PG_OURS, read_sql,
		ONCE_PARAMS(once__pg_int8(retention, options->retention_ms),
			    once__pg_array_param(&scopes)));
	once__pg_array_fini(&scopes);
	if (rows == NULL)
		status = once__pg_error(cleaner->pg, err);
	for (size_t row = 0; rows != NULL && row < once_rows_count(rows); row++)
		tell_row(cleaner, rows, row, told, arg);
	once__pg_rollback(cleaner->pg);
	return status;
}

/* By the index parked_count alone. */
static const char parked_sql[] =
	"SELECT pg_catalog.count(*) FILTER (WHERE p.state = 'waiting'), "
	"pg_catalog.count(*) FILTER (WHERE p.state = 'dead') "
	"FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY "
	"AS r (scope, group_name, route, n) "
	"LEFT JOIN once.consumer AS c ON c.scope = r.scope "
	"LEFT JOIN LATERAL (SELECT o.state FROM once.parked AS o "
	"WHERE o.consumer_id = c.id AND o.group_name = r.group_name "
	"AND o.route = r.route UNION ALL SELECT a.state FROM once.parked AS a "
	"WHERE a.consumer_id = c.id AND a.group_name = '' AND a.route = '') "
	"AS p ON true "
	"GROUP BY r.n ORDER BY r.n";

static void take_counts(const struct once_rows *rows, size_t count,
			struct once_parked_count *counts)
{
	for (size_t i = 0; i < count && i < once_rows_count(rows); i++) {
		counts[i].waiting = once__rows_int64(rows, i, 0);
		counts[i].dead = once__rows_int64(rows, i, 1);
	}
}

enum once_status once_cleaner_count_parked(
	struct once_cleaner *cleaner, const struct once_parked_place *places,
	size_t count, struct once_parked_count *ret_counts,
	struct once_error *err)
{
	struct once__pg_array columns[3] = { 0 };
	const struct once_rows *rows;
	enum once_status status = ONCE_OK;

	for (size_t i = 0; i < 3; i++)
		once__pg_array_init(&columns[i], ONCE__PG_TEXT);
	for (size_t i = 0; i < count; i++) {
		once__pg_array_add(&columns[0], bytes_text(places[i].scope));
		once__pg_array_add(&columns[1], bytes_text(places[i].group));
		once__pg_array_add(&columns[2], bytes_text(places[i].route));
	}
	once__pg_begin(cleaner->pg);
	rows = once__pg_exec(cleaner->pg, ONCE__PG_OURS, parked_sql,
			     ONCE_PARAMS(once__pg_array_param(&columns[0]),
					 once__pg_array_param(&columns[1]),
					 once__pg_array_param(&columns[2])));
	if (rows == NULL)
		status = once__pg_error(cleaner->pg, err);
	else
		take_counts(rows, count, ret_counts);
	once__pg_rollback(cleaner->pg);
	for (size_t i = 0; i < 3; i++)
		once__pg_array_fini(&columns[i]);
	return status;
}

static enum once_status open_reader(struct once_cleaner *reader,
				    struct once_error *err)
{
	const struct once__pg_options session = {
		.conninfo = reader->options.conninfo,
		.application_name = reader->options.application_name,
		.limits = ONCE__PG_COMMAND_LIMITS,
	};
	enum once_status status = once__pg_open(&session, &reader->pg, err);

	if (status == ONCE_OK)
		status = once__schema_check_version(reader->pg, err);
	if (status == ONCE_OK)
		status = once__cleaner_settle(reader->pg, err);
	return status;
}

enum once_status once_log_read(const struct once_cleaner_options *options,
			       once_log_reading_f *told, void *arg,
			       struct once_error *err)
{
	struct once_cleaner reader = { .options = *options };
	enum once_status status = open_reader(&reader, err);

	if (status == ONCE_OK)
		status = once_cleaner_read(&reader, told, arg, err);
	once__pg_close(reader.pg);
	return status;
}

enum once_status once_cleaner_check_foreign(struct once_cleaner *cleaner,
					    const char *scope,
					    struct once_error *err)
{
	const struct once_rows *rows;
	enum once_status status = ONCE_OK;

	once__pg_begin(cleaner->pg);
	rows = once__pg_exec(cleaner->pg, ONCE__PG_OURS, foreign_sql,
			     ONCE_PARAMS(ONCE_TEXT(bytes_text(scope))));
	if (rows == NULL)
		status = once__pg_error(cleaner->pg, err);
	else if (once_rows_count(rows) == 0)
		status = error_set(err, ONCE_INVALID,
				   "the database knows no scope \"%s\"", scope);
	else if (once_rows_get(rows, 0, 0).data != NULL)
		status = error_set(
			err, ONCE_FENCED,
			"a running process reads under scope \"%s\" (%s); it "
			"cleans it by its own retention",
			scope, (const char *)once_rows_get(rows, 0, 0).data);
	once__pg_rollback(cleaner->pg);
	return status;
}
