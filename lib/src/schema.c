/* Migrations are applied in order, each in a transaction with the row that
 * records it, under an advisory lock: ten processes at once apply each once.
 *
 * A row also says which libonce still runs on what it made: one that knows the
 * least version, or a later one. So the old and the new version of a program
 * run side by side while one replaces the other. */
#include "schema.h"

#include "bytes.h"
#include "error.h"
#include "hash.h"
#include "migrations.h"
#include "pg_array.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

#define CHECKSUM_SIZE (2 * ONCE__HASH128_SIZE + 1)

enum {
	LOCK_MS = 5000 /* for a table that somebody has; a migration itself
			   may take any time */
};

/* Other migrations are waited for longer than a table is. */
static const char lock_sql[] =
	"SET lock_timeout = '60s'; "
	"SELECT "
	"pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended('onced "
	"migrate', 0)); "
	"SET lock_timeout = '5s'";

static const char exists_sql[] =
	"SELECT (pg_catalog.to_regclass('once.migration') IS NOT NULL)::int";

static const char bootstrap_sql[] =
	"CREATE SCHEMA IF NOT EXISTS once;"
	"CREATE TABLE IF NOT EXISTS once.migration ("
	"version integer PRIMARY KEY, name text NOT NULL, "
	"checksum text NOT NULL, "
	"applied_at timestamptz NOT NULL DEFAULT pg_catalog.now());"
	"ALTER TABLE once.migration "
	"ADD COLUMN IF NOT EXISTS least_version integer";

/* Of what was applied after the versions that we know. Null: the migration's
 * own version. */
static const char least_sql[] =
	"SELECT coalesce(pg_catalog.max(coalesce((pg_catalog.to_jsonb(m) ->> "
	"'least_version'::text)::int, "
	"version)), 0) FROM once.migration AS m WHERE version > $1::int4";

static const char applied_sql[] =
	"SELECT checksum FROM once.migration WHERE version = $1::int4";

static const char newest_sql[] =
	"SELECT coalesce(pg_catalog.max(version), 0) FROM once.migration";

/* What running takes, as docs/roles.sql grants it. */
static const char lacking_sql[] =
	"SELECT pg_catalog.string_agg(pg_catalog.format("
	"'%s on once.%s'::text, privilege, name), ', '::text) "
	"FILTER (WHERE place IS NOT NULL), "
	"pg_catalog.string_agg(DISTINCT pg_catalog.format('once.%s'::text, "
	"name), ', '::text) FILTER (WHERE place IS NULL) "
	"FROM (VALUES ('consumer'::text, 'SELECT'::text), "
	"('consumer', 'INSERT'), ('consumer', 'UPDATE'), "
	"('consume_log', 'SELECT'), ('consume_log', 'INSERT'), "
	"('consume_log', 'UPDATE'), "
	"('consumer_group', 'SELECT'), ('consumer_group', 'INSERT'), "
	"('consumer_group', 'UPDATE'), ('position', 'SELECT'), "
	"('position', 'INSERT'), ('position', 'UPDATE'), "
	"('tenure', 'SELECT'), ('tenure', 'INSERT'), ('tenure', 'UPDATE'), "
	"('log_identity', 'SELECT'), "
	"('parked', 'SELECT'), ('parked', 'INSERT'), ('parked', 'UPDATE'), "
	"('parked', 'DELETE'), ('instance', 'SELECT'), ('instance', 'INSERT'), "
	"('instance', 'UPDATE'), ('instance', 'DELETE'), "
	"('in_hand', 'SELECT'), ('in_hand', 'INSERT'), ('in_hand', 'UPDATE'), "
	"('in_hand', 'DELETE'), ('audit', 'INSERT'), "
	"('commit_guard', 'SELECT'), ('commit_guard', 'INSERT'), "
	"('commit_guard', 'DELETE')) AS needed (name, privilege) "
	"CROSS JOIN LATERAL (SELECT pg_catalog.to_regclass(pg_catalog.format("
	"'once.%s'::text, name))::oid) AS found (place) "
	"WHERE place IS NULL OR NOT CASE privilege WHEN 'DELETE'::text "
	"THEN pg_catalog.has_table_privilege(place, privilege) "
	"ELSE pg_catalog.has_any_column_privilege(place, privilege) END";

/* The functions that delete for it. */
static const char lacking_functions_sql[] =
	"SELECT pg_catalog.string_agg(pg_catalog.format("
	"'EXECUTE on function %s'::text, p.oid::pg_catalog.regprocedure), "
	"', '::text), NULL FROM pg_catalog.pg_proc AS p "
	"JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace "
	"WHERE n.nspname = 'once'::name "
	"AND p.proname IN ('unclaim', 'clean', 'forget_tenures') "
	"AND NOT pg_catalog.has_function_privilege(p.oid, 'EXECUTE'::text)";

int once_schema_version(void)
{
	int newest = 0;

	for (const struct once__migration *at = once__migrations;
	     at->version != 0; at++)
		newest = at->version;
	return newest;
}

static void format_checksum(const struct once__migration *migration,
			    char checksum[CHECKSUM_SIZE])
{
	unsigned char digest[ONCE__HASH128_SIZE];

	once__hash128(bytes_text("migration"), bytes_text(migration->sql),
		      digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(checksum + 2 * i, 3, "%02x", digest[i]);
}

/* ---- reading ---- */

static enum once_status read_number(struct once__pg *pg, const char *sql,
				    int64_t *ret_number, struct once_error *err)
{
	const struct once_rows *rows;

	once__pg_begin(pg);
	rows = once__pg_exec(pg, ONCE__PG_OURS, sql, ONCE_NO_PARAMS);
	if (rows == NULL) {
		enum once_status status = once__pg_error(pg, err);

		once__pg_rollback(pg);
		return status;
	}
	*ret_number = once__rows_int64(rows, 0, 0);
	once__pg_rollback(pg);
	return ONCE_OK;
}

static enum once_status read_newest(struct once__pg *pg, int64_t *ret_version,
				    struct once_error *err)
{
	int64_t exists = 0;
	enum once_status status = read_number(pg, exists_sql, &exists, err);

	*ret_version = 0;
	if (status != ONCE_OK || !exists)
		return status;
	return read_number(pg, newest_sql, ret_version, err);
}

static enum once_status refuse_newer(int64_t version, int64_t least,
				     struct once_error *err)
{
	return error_set(err, ONCE_CONFIG,
			 "the database has schema version %lld, which takes a "
			 "libonce that knows version %lld at least; this one "
			 "knows versions up to %d; install the newer one",
			 (long long)version, (long long)least,
			 once_schema_version());
}

/* Does what is newer than us let us run? */
static enum once_status check_newer(struct once__pg *pg, int64_t version,
				    struct once_error *err)
{
	const struct once_rows *rows;
	enum once_status status = ONCE_OK;
	int64_t least = 0;
	char ours[24];

	once__pg_begin(pg);
	rows = once__pg_exec(
		pg, ONCE__PG_OURS, least_sql,
		ONCE_PARAMS(once__pg_int8(ours, once_schema_version())));
	if (rows == NULL)
		status = once__pg_error(pg, err);
	else
		least = once__rows_int64(rows, 0, 0);
	once__pg_rollback(pg);
	if (least > once_schema_version())
		return refuse_newer(version, least, err);
	return status;
}

/* It may be on its way back: a restore, a person. */
static enum once_status report_missing(const char *tables,
				       struct once_error *err)
{
	error_set(err, ONCE_TRANSIENT, "the database has no table %s any more",
		  tables);
	if (err != NULL)
		snprintf(err->sqlstate, sizeof(err->sqlstate), "42P01");
	return ONCE_TRANSIENT;
}

static enum once_status check_rights(struct once__pg *pg, const char *sql,
				     struct once_error *err)
{
	const struct once_rows *rows;
	enum once_status status = ONCE_OK;

	once__pg_begin(pg);
	rows = once__pg_exec(pg, ONCE__PG_OURS, sql, ONCE_NO_PARAMS);
	if (rows == NULL)
		status = once__pg_error(pg, err);
	else if (once_rows_get(rows, 0, 1).data != NULL)
		status = report_missing(once_rows_get(rows, 0, 1).data, err);
	else if (once_rows_get(rows, 0, 0).data != NULL)
		status =
			error_set(err, ONCE_DENIED,
				  "the database role lacks %s; grant it, as in "
				  "docs/roles.sql",
				  (const char *)once_rows_get(rows, 0, 0).data);
	once__pg_rollback(pg);
	return status;
}

enum once_status once__schema_check_version(struct once__pg *pg,
					    struct once_error *err)
{
	int64_t version;
	enum once_status status = read_newest(pg, &version, err);

	if (status != ONCE_OK)
		return status;
	if (version == 0)
		return error_set(err, ONCE_CONFIG,
				 "the database has no schema \"once\", version "
				 "%d is needed; run \"onced migrate\"",
				 once_schema_version());
	if (version < once_schema_version())
		return error_set(
			err, ONCE_CONFIG,
			"the database has schema version %lld, version "
			"%d is needed; run \"onced migrate\"",
			(long long)version, once_schema_version());
	if (version > once_schema_version())
		return check_newer(pg, version, err);
	return ONCE_OK;
}

enum once_status once__schema_check(struct once__pg *pg, struct once_error *err)
{
	enum once_status status = once__schema_check_version(pg, err);

	if (status == ONCE_OK)
		status = check_rights(pg, lacking_sql, err);
	if (status == ONCE_OK)
		status = check_rights(pg, lacking_functions_sql, err);
	return status == ONCE_OK ? once__schema_check_shape(pg, err) : status;
}

enum once_status once_schema_check(const char *conninfo, struct once_error *err)
{
	struct once__pg_options options = { .conninfo = conninfo,
					    .application_name = "onced",
					    .limits = ONCE__PG_USUAL_LIMITS };
	struct once__pg *pg = NULL;
	enum once_status status = once__pg_open(&options, &pg, err);

	if (status != ONCE_OK)
		return status;
	status = once__schema_check(pg, err);
	if (status == ONCE_TRANSIENT && err != NULL &&
	    (strcmp(err->sqlstate, "42P01") == 0 ||
	     strcmp(err->sqlstate, "55000") == 0))
		status = err->status = ONCE_CONFIG; /* nothing runs yet */
	if (status == ONCE_OK)
		status = once__schema_check_published(pg, err);
	once__pg_close(pg);
	return status;
}

/* ---- applying ---- */

/* OK and `ret_applied`: is it there, with the checksum that we know? */
static enum once_status was_applied(struct once__pg *pg,
				    const struct once__migration *migration,
				    bool *ret_applied, struct once_error *err)
{
	char expected[CHECKSUM_SIZE];
	char number[16];
	const struct once_rows *rows;
	enum once_status status = ONCE_OK;

	snprintf(number, sizeof(number), "%d", migration->version);
	format_checksum(migration, expected);
	once__pg_begin(pg);
	rows = once__pg_exec(pg, ONCE__PG_OURS, applied_sql,
			     ONCE_PARAMS(ONCE_TEXT(bytes_text(number))));
	*ret_applied = rows != NULL && once_rows_count(rows) > 0;
	if (rows == NULL)
		status = once__pg_error(pg, err);
	else if (*ret_applied &&
		 !bytes_equal(once_rows_get(rows, 0, 0), bytes_text(expected)))
		status = error_set(err, ONCE_CONFIG,
				   "migration %s in the database isn't the one "
				   "this version has; it was changed after it "
				   "was applied",
				   migration->name);
	once__pg_rollback(pg);
	return status;
}

static enum once_status run_script(struct once__pg *pg, const char *what,
				   const char *sql, struct once_error *err)
{
	enum once_status status;

	if (once__pg_script(pg, sql))
		return ONCE_OK;
	status = once__pg_error(pg, err);
	error_prefix(err, "could not %s", what);
	return status;
}

static enum once_status apply(struct once__pg *pg,
			      const struct once__migration *migration,
			      struct once_error *err)
{
	scoped_text struct text script = { 0 };
	char checksum[CHECKSUM_SIZE];

	format_checksum(migration, checksum);
	/* Nobody else's functions, whatever the role's path leads to. */
	text_adds(&script, "BEGIN;\nSET LOCAL search_path = pg_catalog, "
			   "pg_temp;\n");
	text_adds(&script, migration->sql);
	text_addf(&script,
		  "\n;INSERT INTO once.migration (version, name, checksum, "
		  "least_version) VALUES (%d, '%s', '%s', %d);\nCOMMIT",
		  migration->version, migration->name, checksum,
		  migration->least_version);
	if (script.broken)
		return error_no_memory(err);
	return run_script(pg, "apply the migration", script.data, err);
}

static enum once_status migrate_one(struct once__pg *pg, bool exists,
				    const struct once__migration *migration,
				    bool dry_run, bool *ret_now,
				    struct once_error *err)
{
	enum once_status status = ONCE_OK;
	bool applied = false;

	if (exists)
		status = was_applied(pg, migration, &applied, err);
	*ret_now = !applied;
	if (status != ONCE_OK || applied || dry_run)
		return status;
	status = apply(pg, migration, err);
	if (status != ONCE_OK)
		error_prefix(err, "%s", migration->name);
	return status;
}

static enum once_status migrate_all(struct once__pg *pg, bool exists,
				    bool dry_run, once_migration_f *told,
				    void *arg, struct once_error *err)
{
	for (const struct once__migration *at = once__migrations;
	     at->version != 0; at++) {
		bool now = false;
		enum once_status status =
			migrate_one(pg, exists, at, dry_run, &now, err);

		if (status != ONCE_OK)
			return status;
		if (told != NULL)
			told(arg, at->version, at->name, now, at->sql);
	}
	return ONCE_OK;
}

static enum once_status migrate(struct once__pg *pg, bool dry_run,
				once_migration_f *told, void *arg,
				struct once_error *err)
{
	int64_t version;
	enum once_status status = read_newest(pg, &version, err);

	if (status != ONCE_OK)
		return status;
	if (version > once_schema_version())
		status = check_newer(pg, version, err);
	if (version < once_schema_version() && !dry_run) {
		status = run_script(pg, "wait for other migrations", lock_sql,
				    err);
		if (status == ONCE_OK)
			status = run_script(pg, "create the schema",
					    bootstrap_sql, err);
	}
	if (status != ONCE_OK)
		return status;
	return migrate_all(pg, version > 0 || !dry_run, dry_run, told, arg,
			   err);
}

enum once_status once_migrate(const char *conninfo, int dry_run,
			      once_migration_f *told, void *arg,
			      struct once_error *err)
{
	struct once__pg_options options = { .conninfo = conninfo,
					    .application_name = "onced migrate",
					    .limits = { .lock_ms = LOCK_MS } };
	struct once__pg *pg = NULL;
	enum once_status status = once__pg_open(&options, &pg, err);

	if (status != ONCE_OK)
		return status;
	status = migrate(pg, dry_run != 0, told, arg, err);
	once__pg_close(pg);
	return status;
}
