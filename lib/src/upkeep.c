/*
 * The cleaner walks along the index (consumer_id, consumed_at), from the oldest
 * row to the youngest that may go, in transactions as large as take a tenth or
 * a fifth of a second.
 *
 * It deletes only what it could lock at once, so it waits for nobody; a claim
 * that meets a row on its way out waits for one such transaction.
 */
#include "upkeep_impl.h"

#include "bytes.h"
#include "clock.h"
#include "error.h"
#include "pg_array.h"
#include "schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FEWEST_ROWS = 100,
	FIRST_ROWS = 500,
	MOST_ROWS = 50000,
	SHORT_MS = 100,
	LONG_MS = 200
};

/* Whatever is known of the table's contents, or isn't yet: by the index. */
static const char settings_sql[] =
	"SET enable_seqscan = off; SET enable_bitmapscan = off; "
	"SET enable_sort = off; SET jit = off; "
	"SET max_parallel_workers_per_gather = 0; SET lock_timeout = '500ms'";

/* Its name keeps the lock apart from those of instances and migrations. */
#define LOCK_KEY "pg_catalog.hashtextextended('onced cleaner ' || c.id::text, 0)"

/* What may go is decided here: a clock that is set during a turn doesn't change
 * it. */
#define KEPT ONCE__KEEP_SQL("c.id", "nullif($2::int8, 0)")

static const char lock_sql[] =
	"SELECT c.id, pg_catalog.pg_try_advisory_lock(" LOCK_KEY ")::int, "
	"keep.ms, "
	"(extract(epoch FROM pg_catalog.now()) * 1000::numeric)::int8, "
	"(extract(epoch FROM c.clock_right_at) * 1000::numeric)::int8, "
	"(pg_catalog.now() - keep.ms::float8 * interval '1 millisecond')::text "
	"FROM once.consumer AS c CROSS JOIN LATERAL (" KEPT ") AS keep "
	"WHERE c.scope = $1::text";

static const char unlock_sql[] = "SELECT pg_catalog.pg_advisory_unlock(" LOCK_KEY ") "
				 "FROM once.consumer AS c "
				 "WHERE c.id = $1::int8";

/* Deleting is the function's: it knows by itself what may go. */
static const char clean_sql[] =
	"SELECT c.looked_at, c.free_rows, c.removed, c.last_time, c.left_there "
	"FROM once.clean($1::int8, $2::timestamptz, $3::timestamptz, "
	"$4::int8, $5::int8, nullif($6::int8, 0)) AS c";

/* What it would look at, and remove; reading is enough for that. */
static const char dry_run_sql[] =
	"WITH old AS MATERIALIZED ("
	"SELECT topic, partition, message_offset, consumed_at "
	"FROM once.consume_log "
	"WHERE consumer_id = $1::int8 AND consumed_at >= $2::timestamptz "
	"AND consumed_at < $3::timestamptz AND $6::int8 IS NOT NULL "
	"ORDER BY consumed_at OFFSET $4::int8 LIMIT $5::int8), "
	"held AS MATERIALIZED (" ONCE__HELD_SQL("$1::int8") "), "
	"last AS (SELECT pg_catalog.max(consumed_at) AS at FROM old) "
	"SELECT (SELECT pg_catalog.count(*) FROM old), "
	"(SELECT pg_catalog.count(*) FROM old AS o LEFT JOIN held AS h "
	"USING (topic, partition) WHERE h.next_offset IS NULL "
	"OR o.message_offset < h.next_offset), 0, last.at, "
	"(SELECT pg_catalog.count(*) FROM old WHERE consumed_at = last.at) "
	"FROM last";

static const char audit_sql[] =
	"INSERT INTO once.audit (person, command, subject, rows_changed) "
	"VALUES ($1::text, 'gc', $2::text, $3::int8)";

/* ---- open and close ---- */

enum once_status once__cleaner_settle(struct once__pg *pg,
				      struct once_error *err)
{
	return once__pg_script(pg, settings_sql) ? ONCE_OK
						 : once__pg_error(pg, err);
}

enum once_status once_cleaner_open(const struct once_cleaner_options *options,
				   struct once_cleaner **ret_cleaner,
				   struct once_error *err)
{
	/* What a crash takes back of it is removed again. */
	const struct once__pg_options session = {
		.conninfo = options->conninfo,
		.application_name = options->application_name,
		.durability = ONCE_DURABILITY_SOURCE,
		.limits = ONCE__PG_USUAL_LIMITS,
	};
	struct once_cleaner *cleaner = calloc(1, sizeof(*cleaner));
	enum once_status status;

	if (cleaner == NULL)
		return error_no_memory(err);
	cleaner->options = *options;
	cleaner->most_rows = FIRST_ROWS;
	status = once__pg_open(&session, &cleaner->pg, err);
	if (status == ONCE_OK && options->dry_run) /* reads, and no more */
		status = once__schema_check_version(cleaner->pg, err);
	else if (status == ONCE_OK)
		status = once__schema_check(cleaner->pg, err);
	if (status == ONCE_OK)
		status = once__cleaner_settle(cleaner->pg, err);
	if (status == ONCE_OK)
		*ret_cleaner = cleaner;
	else
		once_cleaner_close(cleaner);
	return status;
}

void once_cleaner_close(struct once_cleaner *cleaner)
{
	if (cleaner == NULL)
		return;
	once__pg_close(cleaner->pg);
	free(cleaner);
}

/* ---- a scope's turn ---- */

/* The failure as a status, and the end of the transaction. */
static enum once_status give_up(struct once__pg *pg, struct once_error *err)
{
	enum once_status status = once__pg_error(pg, err);

	once__pg_rollback(pg);
	return status;
}

static enum once_status refuse_unsaid(const char *scope, struct once_error *err)
{
	return error_set(err, ONCE_INVALID,
			 "no group has said how long the rows of scope \"%s\" "
			 "are kept; say it with --older-than, or start a "
			 "process that reads under it",
			 scope);
}

/* The lock is ours: may its rows go, and which? */
static enum once_status take_scope(struct once_cleaner *cleaner,
				   const struct once_rows *rows,
				   struct once_clean_step *step,
				   struct once_error *err)
{
	struct once__clean_place *at = &cleaner->at;
	struct once_bytes until = once_rows_get(rows, 0, 5);
	const struct once__clock clock = {
		.retention_ms = once__rows_int64(rows, 0, 2),
		.now_ms = once__rows_int64(rows, 0, 3),
		.right_ms = once__rows_int64(rows, 0, 4),
	};

	at->consumer_id = once__rows_int64(rows, 0, 0);
	if (until.data == NULL)
		return refuse_unsaid(cleaner->options.scopes[at->scope], err);
	snprintf(at->until, sizeof(at->until), "%s", (const char *)until.data);
	at->kept = clock.retention_ms < 0 ||
		   !once__cleaner_check_clock(cleaner, &clock, step);
	return ONCE_OK;
}

static enum once_status begin_scope(struct once_cleaner *cleaner,
				    struct once_clean_step *step,
				    struct once_error *err)
{
	struct once__clean_place *at = &cleaner->at;
	const char *scope = cleaner->options.scopes[at->scope];
	const struct once_rows *rows;
	enum once_status status = ONCE_OK;
	char own[24];

	once__pg_begin(cleaner->pg);
	rows = once__pg_exec(
		cleaner->pg, ONCE__PG_OURS, lock_sql,
		ONCE_PARAMS(ONCE_TEXT(bytes_text(scope)),
			    once__pg_int8(own, cleaner->options.retention_ms)));
	if (rows == NULL)
		return give_up(cleaner->pg, err);
	step->busy =
		once_rows_count(rows) > 0 && once__rows_int64(rows, 0, 1) == 0;
	snprintf(at->time, sizeof(at->time), "-infinity");
	at->left_behind = 0;
	if (once_rows_count(rows) > 0 && !step->busy)
		status = take_scope(cleaner, rows, step, err);
	if (status != ONCE_OK)
		once__pg_rollback(cleaner->pg);
	else if (once__pg_commit(cleaner->pg) != ONCE__PG_COMMITTED)
		status = give_up(cleaner->pg, err);
	return status; /* the lock is the session's */
}

/* If this fails, the session is lost, and the lock with it; the next step will
 * say so. */
static void end_scope(struct once_cleaner *cleaner,
		      struct once_clean_step *step)
{
	struct once__clean_place *at = &cleaner->at;
	char id[24];

	if (at->consumer_id != 0) {
		once__pg_begin(cleaner->pg);
		once__pg_exec(cleaner->pg, ONCE__PG_OURS, unlock_sql,
			      ONCE_PARAMS(once__pg_int8(id, at->consumer_id)));
		once__pg_rollback(cleaner->pg);
	}
	at->consumer_id = 0;
	at->scope++;
	step->scope_done = 1;
}

/* ---- a transaction ---- */

static const struct once_rows *remove_rows(struct once_cleaner *cleaner)
{
	const struct once_cleaner_options *options = &cleaner->options;
	const struct once__clean_place *at = &cleaner->at;
	char numbers[4][24];

	return once__pg_exec(
		cleaner->pg, ONCE__PG_OURS,
		options->dry_run ? dry_run_sql : clean_sql,
		ONCE_PARAMS(once__pg_int8(numbers[0], at->consumer_id),
			    ONCE_TEXT(bytes_text(at->time)),
			    ONCE_TEXT(bytes_text(at->until)),
			    once__pg_int8(numbers[1], at->left_behind),
			    once__pg_int8(numbers[2], cleaner->most_rows),
			    once__pg_int8(numbers[3], options->retention_ms)));
}

static void write_down(struct once_cleaner *cleaner, int64_t removed)
{
	const struct once_cleaner_options *options = &cleaner->options;
	char rows[24];

	if (options->person == NULL || options->dry_run || removed == 0)
		return;
	once__pg_send(cleaner->pg, ONCE__PG_OURS, audit_sql,
		      ONCE_PARAMS(ONCE_TEXT(bytes_text(options->person)),
				  ONCE_TEXT(bytes_text(options->subject)),
				  once__pg_int8(rows, removed)));
}

/* Behind the rows that were looked at. */
static void move_on(struct once__clean_place *at, const struct once_rows *rows)
{
	struct once_bytes time = once_rows_get(rows, 0, 3);

	if (time.data == NULL)
		return;
	if (!bytes_equal(time, bytes_text(at->time)))
		at->left_behind = 0;
	at->left_behind += once__rows_int64(rows, 0, 4);
	snprintf(at->time, sizeof(at->time), "%.*s", (int)time.size,
		 (const char *)time.data);
}

static void adapt(struct once_cleaner *cleaner, int64_t looked_at,
		  int64_t took_ms)
{
	if (took_ms > LONG_MS)
		cleaner->most_rows /= 2;
	else if (took_ms < SHORT_MS && looked_at == cleaner->most_rows)
		cleaner->most_rows *= 2;
	if (cleaner->most_rows < FEWEST_ROWS)
		cleaner->most_rows = FEWEST_ROWS;
	if (cleaner->most_rows > MOST_ROWS)
		cleaner->most_rows = MOST_ROWS;
}

static enum once_status clean(struct once_cleaner *cleaner,
			      struct once_clean_step *step, bool *ret_more,
			      struct once_error *err)
{
	struct once__clean_place next = cleaner->at;
	int64_t began_ms = clock_ms();
	int64_t looked_at;
	int64_t free_rows;
	int64_t removed;
	const struct once_rows *rows;

	once__pg_begin(cleaner->pg);
	rows = remove_rows(cleaner);
	if (rows == NULL)
		return give_up(cleaner->pg, err);
	looked_at = once__rows_int64(rows, 0, 0);
	free_rows = once__rows_int64(rows, 0, 1);
	removed = once__rows_int64(rows, 0, 2);
	move_on(&next, rows);
	write_down(cleaner, removed);
	if (once__pg_commit(cleaner->pg) != ONCE__PG_COMMITTED)
		return give_up(cleaner->pg, err);
	step->removed = cleaner->options.dry_run ? free_rows : removed;
	step->kept = looked_at - free_rows;
	step->took_ms = clock_ms() - began_ms;
	*ret_more = looked_at == cleaner->most_rows;
	cleaner->at = next;
	adapt(cleaner, looked_at, step->took_ms);
	return ONCE_OK;
}

enum once_status once_cleaner_step(struct once_cleaner *cleaner,
				   struct once_clean_step *ret_step,
				   struct once_error *err)
{
	const struct once_cleaner_options *options = &cleaner->options;
	struct once__clean_place *at = &cleaner->at;
	enum once_status status = ONCE_OK;
	bool more = false;
	bool nothing = options->retention_ms < 0 || options->scope_count == 0;

	memset(ret_step, 0, sizeof(*ret_step));
	ret_step->scope = at->scope;
	if (at->scope == 0 && at->consumer_id == 0 && !options->dry_run)
		status = once__cleaner_forget_tenures(cleaner, err);
	if (status == ONCE_OK && !nothing && at->consumer_id == 0)
		status = begin_scope(cleaner, ret_step, err);
	if (status == ONCE_OK && at->consumer_id != 0 && !at->kept)
		status = clean(cleaner, ret_step, &more, err);
	if (status == ONCE_OK && !nothing && !more)
		end_scope(cleaner, ret_step);
	ret_step->round_done = nothing || at->scope == options->scope_count;
	if (ret_step->round_done)
		at->scope = 0;
	return status;
}
