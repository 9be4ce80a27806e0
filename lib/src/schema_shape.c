/*
 * Is schema `once` still as the migrations made it? Versions don't tell: a
 * restore that failed at an index, or a person, leaves tables on which all
 * seems to work, while the same message takes effect each time that it comes.
 *
 * The idea to hold: what the promise rests on is stated once, table by table,
 * and one statement asks the catalogs for what differs. More than that (an
 * index of somebody's, a column with a default) is let be.
 */
#include "bytes.h"
#include "error.h"
#include "pg_array.h"
#include "schema.h"

#include <stdio.h>

/* "columns": as the migrations write them. "keys": each a unique index, its
 * columns in alphabetical order. "watched": claims and positions are decided
 * here, so no trigger but ours runs on it; on the others none that comes
 * before a row, and so could swallow it. A test compares all this with what
 * the migrations make. */
struct shape {
	const char *table;
	const char *columns;
	const char *keys;
	const char *triggers;
	bool watched;
};

/* clang-format off */
static const struct shape shapes[] = {
	{ "consumer",
	  "id bigint not null, scope text not null, "
	  "clock_right_at timestamp with time zone not null",
	  "id; scope", "", true },
	{ "consume_log",
	  "consumer_id bigint not null, msg_id text not null, biz_id text, "
	  "topic text not null, partition integer not null, "
	  "message_offset bigint not null, fingerprint bytea, result bytea, "
	  "consumed_at timestamp with time zone not null",
	  "consumer_id, msg_id; biz_id, consumer_id", "", true },
	{ "consumer_group",
	  "consumer_id bigint not null, group_name text not null, "
	  "seen_at timestamp with time zone not null, retention_ms bigint",
	  "consumer_id, group_name", "", true },
	{ "position",
	  "group_name text not null, topic text not null, "
	  "partition integer not null, next_offset bigint not null, "
	  "attempts integer not null, anchor_offset bigint, "
	  "anchor_time_ms bigint, anchor_hash bytea, "
	  "updated_at timestamp with time zone not null, holder uuid, "
	  "tenure bigint, steps bigint not null, "
	  "log_generation integer not null, log_id text",
	  "group_name, partition, topic",
	  "set_by_hand, deleted_by_hand, inserted_by_hand", true },
	{ "tenure",
	  "id bigint not null, group_name text, topic text, "
	  "partition integer, from_offset bigint not null, to_offset bigint, "
	  "began_at timestamp with time zone not null",
	  "id", "", true },
	{ "log_identity",
	  "id uuid not null, epoch bigint not null, single boolean not null, "
	  "secret uuid not null",
	  "single", "", true },
	{ "parked",
	  "consumer_id bigint not null, topic text not null, "
	  "partition integer not null, message_offset bigint not null, "
	  "state text not null, retry_at timestamp with time zone, "
	  "attempts integer not null, crashes integer not null, "
	  "cause text not null, reason text not null, sqlstate text, "
	  "msg_id text, biz_id text, fingerprint bytea, "
	  "original_fingerprint bytea, message_time_ms bigint not null, "
	  "key bytea, value bytea, header_names bytea[] not null, "
	  "header_values bytea[] not null, "
	  "parked_at timestamp with time zone not null, "
	  "log_generation integer not null, group_name text not null, "
	  "route text not null",
	  "consumer_id, log_generation, message_offset, message_time_ms, "
	  "partition, topic", "", false },
	{ "instance",
	  "id uuid not null, group_name text not null, host text not null, "
	  "pid integer not null, version text not null, "
	  "started_at timestamp with time zone not null, "
	  "seen_at timestamp with time zone not null",
	  "id", "", true },
	{ "in_hand",
	  "instance_id uuid not null, lane integer not null, "
	  "consumer_id bigint not null, topic text not null, "
	  "partition integer not null, message_offset bigint not null, "
	  "since timestamp with time zone not null, "
	  "log_generation integer not null",
	  "instance_id, lane", "", true },
	{ "audit",
	  "id bigint not null, at timestamp with time zone not null, "
	  "database_role text not null, person text not null, "
	  "command text not null, subject text not null, "
	  "rows_changed bigint not null",
	  "id", "", false },
	{ "commit_guard",
	  "backend integer not null, released integer not null",
	  "backend", "", true },
};
/* clang-format on */

enum {
	SHAPES = sizeof(shapes) / sizeof(shapes[0])
};

/* An index that is put off to the COMMIT, or that leaves rows out, decides
 * nothing for a claim. $6: our version; of a newer schema we don't know the
 * triggers. */
static const char faults_sql[] =
	"WITH shape AS MATERIALIZED (SELECT s.name, s.columns, s.keys, "
	"s.triggers, s.watched, c.oid, c.relkind, c.relpersistence "
	"FROM ROWS FROM (pg_catalog.unnest($1::text[]), "
	"pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::text[]), "
	"pg_catalog.unnest($4::text[]), pg_catalog.unnest($5::int4[])) "
	"AS s (name, columns, keys, triggers, watched) "
	"JOIN pg_catalog.pg_class AS c ON c.relname = s.name "
	"JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
	"AND n.nspname = 'once'::name), "

	"fault AS (SELECT pg_catalog.format("
	"'once.%s is no ordinary, logged table'::text, s.name) AS what "
	"FROM shape AS s WHERE s.relkind NOT IN ('r', 'p') "
	"OR s.relpersistence <> 'p' "

	"UNION ALL SELECT pg_catalog.format("
	"'once.%s lacks the column \"%s\"'::text, s.name, w.wanted) "
	"FROM shape AS s CROSS JOIN LATERAL pg_catalog.unnest("
	"pg_catalog.string_to_array(s.columns, ', '::text)) AS w (wanted) "
	"WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS a "
	"CROSS JOIN LATERAL (SELECT pg_catalog.format('%s %s'::text, "
	"a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)) "
	"AS found) AS f WHERE a.attrelid = s.oid AND a.attnum > 0 "
	"AND NOT a.attisdropped AND (w.wanted = f.found OR a.attnotnull "
	"AND w.wanted = pg_catalog.format('%s not null'::text, f.found))) "

	"UNION ALL SELECT pg_catalog.format("
	"'once.%s lacks its unique key (%s)'::text, s.name, w.wanted) "
	"FROM shape AS s CROSS JOIN LATERAL pg_catalog.unnest("
	"pg_catalog.string_to_array(s.keys, '; '::text)) AS w (wanted) "
	"WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_index AS i "
	"WHERE i.indrelid = s.oid AND i.indisunique AND i.indisvalid "
	"AND i.indislive AND i.indisready AND i.indimmediate "
	"AND i.indpred IS NULL AND i.indexprs IS NULL "
	"AND coalesce(pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct'::text, "
	"'false'::text) = 'false'::text "
	"AND w.wanted = (SELECT pg_catalog.string_agg(a.attname::text, "
	"', '::text ORDER BY a.attname) FROM pg_catalog.generate_series("
	"0, i.indnkeyatts::int4 - 1) AS k (n) "
	"JOIN pg_catalog.pg_attribute AS a ON a.attrelid = s.oid "
	"AND a.attnum = i.indkey[k.n])) "

	"UNION ALL SELECT pg_catalog.format('trigger \"%s\" of once.%s is "
	"missing or disabled'::text, w.wanted, s.name) "
	"FROM shape AS s CROSS JOIN LATERAL pg_catalog.unnest("
	"pg_catalog.string_to_array(s.triggers, ', '::text)) AS w (wanted) "
	"WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_trigger AS t "
	"WHERE t.tgrelid = s.oid AND t.tgname = w.wanted "
	"AND t.tgenabled IN ('O', 'A')) "

	"UNION ALL SELECT pg_catalog.format("
	"'once.%s has a trigger that isn''t ours: %s'::text, s.name, t.tgname) "
	"FROM shape AS s JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = s.oid "
	"WHERE $6::int4 >= (SELECT pg_catalog.max(version) "
	"FROM once.migration) AND NOT t.tgisinternal AND t.tgenabled <> 'D' "
	"AND (s.watched = 1 OR t.tgtype::int4 & 3 = 3) "
	"AND NOT EXISTS (SELECT FROM pg_catalog.unnest("
	"pg_catalog.string_to_array(s.triggers, ', '::text)) AS w (wanted) "
	"WHERE t.tgname = w.wanted) "

	"UNION ALL SELECT pg_catalog.format("
	"'once.%s has a rule: %s'::text, s.name, r.rulename) "
	"FROM shape AS s JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = s.oid "
	"WHERE r.ev_enabled <> 'D' "

	"UNION ALL SELECT pg_catalog.format("
	"'row level security hides rows of once.%s'::text, s.name) "
	"FROM shape AS s WHERE pg_catalog.row_security_active(s.oid) "

	"UNION ALL SELECT 'once.commit_guard lacks its deferred foreign "
	"key'::text "
	"FROM shape AS s WHERE s.name = 'commit_guard'::text "
	"AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint AS f "
	"WHERE f.conrelid = s.oid AND f.contype = 'f' AND f.condeferrable "
	"AND f.conname = 'commit_guard_released_fkey'::name "
	"AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger AS t "
	"WHERE t.tgconstraint = f.oid AND t.tgenabled = 'D')) "

	"UNION ALL SELECT pg_catalog.format('the search_path names \"%s\" "
	"before pg_catalog'::text, p.name) FROM (SELECT p.name, "
	"pg_catalog.bool_or(p.name = 'pg_catalog'::name) OVER (ORDER BY p.n) "
	"AS found FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) "
	"WITH ORDINALITY AS p (name, n)) AS p WHERE NOT p.found "
	"AND NOT pg_catalog.starts_with(p.name::text, 'pg_temp_'::text)) "

	"SELECT pg_catalog.string_agg(what, '; '::text ORDER BY what) "
	"FROM fault";

static enum once_status refuse(const char *faults, struct once_error *err)
{
	error_set(err, ONCE_TRANSIENT,
		  "schema \"once\" was changed, so nothing is handled; see \"A "
		  "schema that was changed\" in docs/operating.md: %s",
		  faults);
	if (err != NULL)
		snprintf(err->sqlstate, sizeof(err->sqlstate), "55000");
	return ONCE_TRANSIENT;
}

static const struct once_rows *ask(struct once__pg *pg)
{
	struct once__pg_array columns[4] = { 0 };
	struct once__pg_array watched = { 0 };
	const struct once_rows *rows;
	char version[24];

	for (size_t i = 0; i < 4; i++)
		once__pg_array_init(&columns[i], ONCE__PG_TEXT);
	once__pg_array_init(&watched, ONCE__PG_INT4);
	for (size_t i = 0; i < SHAPES; i++) {
		const struct shape *shape = &shapes[i];

		once__pg_array_add(&columns[0], bytes_text(shape->table));
		once__pg_array_add(&columns[1], bytes_text(shape->columns));
		once__pg_array_add(&columns[2], bytes_text(shape->keys));
		once__pg_array_add(&columns[3], bytes_text(shape->triggers));
		once__pg_array_add_int4(&watched, shape->watched);
	}
	rows = once__pg_exec(
		pg, ONCE__PG_OURS, faults_sql,
		ONCE_PARAMS(once__pg_array_param(&columns[0]),
			    once__pg_array_param(&columns[1]),
			    once__pg_array_param(&columns[2]),
			    once__pg_array_param(&columns[3]),
			    once__pg_array_param(&watched),
			    once__pg_int8(version, once_schema_version())));
	for (size_t i = 0; i < 4; i++)
		once__pg_array_fini(&columns[i]);
	once__pg_array_fini(&watched);
	return rows;
}

enum once_status once__schema_check_shape(struct once__pg *pg,
					  struct once_error *err)
{
	const struct once_rows *rows;
	enum once_status status = ONCE_OK;

	once__pg_begin(pg);
	rows = ask(pg);
	if (rows == NULL)
		status = once__pg_error(pg, err);
	else if (once_rows_get(rows, 0, 0).data != NULL)
		status = refuse(once_rows_get(rows, 0, 0).data, err);
	once__pg_rollback(pg);
	return status;
}
