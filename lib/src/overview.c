/* What the database says of a group, for people and dashboards. Cheap: nothing
 * here reads the whole log. */
#include "bytes.h"
#include "error.h"
#include "pg.h"
#include "schema.h"

static const char *const position_names[] = { "topic",       "partition",
					      "next_offset", "age_seconds",
					      "attempts",    "holder" };
/* A holder that is gone holds nothing. */
static const char positions_sql[] =
	"SELECT p.topic, p.partition, p.next_offset, "
	"extract(epoch FROM pg_catalog.now() - p.updated_at)::bigint, "
	"p.attempts, "
	"coalesce(i.host || ':' || i.pid::text, '') FROM once.position AS p "
	"LEFT JOIN (SELECT id, host, pid FROM once.instance "
	"WHERE group_name = $1::text AND once.is_alive(id)) AS i "
	"ON i.id = p.holder WHERE p.group_name = $1::text "
	"ORDER BY p.topic, p.partition";

static const char *const parked_names[] = { "scope", "state", "cause",
					    "count", "group", "route" };
/* Of the group's routes, whatever their scope is called; and what nobody is
 * named for, in a scope that the group reads under. */
static const char parked_sql[] =
	"SELECT c.scope, p.state, p.cause, pg_catalog.count(*), p.group_name, "
	"p.route FROM once.parked AS p "
	"JOIN once.consumer AS c ON c.id = p.consumer_id "
	"WHERE p.group_name = $1::text OR EXISTS ("
	"SELECT FROM once.consumer_group AS g WHERE g.consumer_id = c.id "
	"AND g.group_name = $1::text) "
	"OR pg_catalog.starts_with(c.scope, $1::text || '/') "
	"GROUP BY 1, 2, 3, 5, 6 ORDER BY 1, 2, 3, 5, 6";

/* Of all groups. Up to ten thousand are counted; beyond, it is the planner's
 * estimate, which is of the last time that the table was analyzed: null, if it
 * never was. What is larger since then is taken to be filled as it was. */
static const char *const log_names[] = { "rows", "rows_about", "bytes" };
static const char log_sql[] =
	"SELECT CASE WHEN few.rows < 10000 THEN few.rows END, "
	"CASE WHEN c.relpages > 0 AND c.reltuples >= 0 THEN "
	"(c.reltuples::float8 / c.relpages::float8 "
	"* (pg_catalog.pg_relation_size(c.oid) "
	"/ pg_catalog.current_setting('block_size')::int8)::float8)::int8 END, "
	"pg_catalog.pg_total_relation_size(c.oid) "
	"FROM pg_catalog.pg_class AS c CROSS JOIN LATERAL (SELECT "
	"pg_catalog.count(*) AS rows FROM (SELECT FROM once.consume_log "
	"ORDER BY consumer_id, consumed_at LIMIT 10000) AS l) AS few "
	"WHERE c.oid = 'once.consume_log'::regclass::oid "
	"AND $1::text IS NOT NULL";

enum {
	MOST_COLUMNS = 6
};

static const struct section {
	const char *name;
	const char *sql;
	const char *const *columns;
	size_t column_count;
} sections[] = {
	{ "position", positions_sql, position_names, 6 },
	{ "parked", parked_sql, parked_names, 6 },
	{ "log", log_sql, log_names, 3 },
};

static void tell(const struct section *section, const struct once_rows *rows,
		 once_overview_f *told, void *arg)
{
	for (size_t row = 0; row < once_rows_count(rows); row++) {
		const char *values[MOST_COLUMNS];

		for (size_t i = 0; i < section->column_count; i++)
			values[i] = once_rows_get(rows, row, i).data;
		told(arg, section->name, section->columns, values,
		     section->column_count);
	}
}

static enum once_status read_sections(struct once__pg *pg, const char *group,
				      once_overview_f *told, void *arg,
				      struct once_error *err)
{
	once__pg_begin(pg);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		const struct once_rows *rows = once__pg_exec(
			pg, ONCE__PG_OURS, sections[i].sql,
			ONCE_PARAMS(ONCE_TEXT(bytes_text(group))));

		if (rows == NULL)
			return once__pg_error(pg, err);
		tell(&sections[i], rows, told, arg);
	}
	once__pg_rollback(pg);
	return ONCE_OK;
}

enum once_status once_overview(const char *conninfo, const char *group,
			       once_overview_f *told, void *arg,
			       struct once_error *err)
{
	struct once__pg_options options = { .conninfo = conninfo,
					    .application_name = "onced status",
					    .limits = ONCE__PG_USUAL_LIMITS };
	struct once__pg *pg = NULL;
	enum once_status status = once__pg_open(&options, &pg, err);

	if (status == ONCE_OK)
		status = once__schema_check_version(pg, err);
	if (status == ONCE_OK)
		status = read_sections(pg, group, told, arg, err);
	once__pg_close(pg);
	return status;
}
