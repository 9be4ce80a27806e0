/* A session's transactions: only the tag COMMIT, answered on the same session,
 * is success. */
#include "pg_impl.h"

#include <stdio.h>
#include <string.h>

size_t once__pg_kept(const struct once__pg *pg)
{
	return pg->kept_count;
}

void once__pg_forget(struct once__pg *pg, size_t kept)
{
	while (pg->kept_count > kept)
		PQclear(pg->kept[--pg->kept_count]);
}

void once__pg_clear(struct once__pg *pg)
{
	once__pg_forget(pg, 0);
	if (!pg->lost)
		pg->failed = false;
}

/* Keys in another encoding would be other keys, and a session that has one in
 * spite of pg_settings.c isn't to be trusted. */
static void check_text(struct once__pg *pg)
{
	const char *encoding = PQparameterStatus(pg->conn, "client_encoding");

	if (!pg->lost && (encoding == NULL || strcmp(encoding, "UTF8") != 0))
		once__pg_lose(pg);
}

void once__pg_begin(struct once__pg *pg)
{
	static const char *const begins[] = {
		[ONCE_READ_COMMITTED] = "BEGIN ISOLATION LEVEL READ COMMITTED",
		[ONCE_REPEATABLE_READ] =
			"BEGIN ISOLATION LEVEL REPEATABLE READ",
		[ONCE_SERIALIZABLE] = "BEGIN ISOLATION LEVEL SERIALIZABLE",
	};

	once__pg_clear(pg);
	pg->cancelled = false;
	pg->transactions++;
	pg->stray_count = 0;
	pg->touched = false;
	pg->committing = false;
	pg->limited_ms = -1;
	pg->blockers[0] = '\0';
	pg->patience_ms = once__pg_patience_ms(&pg->options);
	check_text(pg);
	once__pg_send_control(pg, begins[pg->options.isolation], false);
}

void once__pg_make_durable(struct once__pg *pg)
{
	static const char sql[] =
		"SELECT pg_catalog.set_config('synchronous_commit', 'on', "
		"true) "
		"WHERE pg_catalog.current_setting('synchronous_commit') = "
		"'off'";

	once__pg_send(pg, ONCE__PG_OURS, sql, NULL, 0);
}

enum once__pg_commit once__pg_commit(struct once__pg *pg)
{
	bool committed;

	pg->meanwhile = NULL;
	pg->impatient = NULL;
	if (pg->failed || pg->lost)
		return ONCE__PG_NOT_COMMITTED;
	once__pg_clear(pg);
	pg->committing = true;
	once__pg_send_control(pg, "COMMIT", true);
	once__pg_sync(pg);
	if (pg->lost)
		return ONCE__PG_UNKNOWN;
	if (pg->failed || pg->kept_count != 1)
		return ONCE__PG_NOT_COMMITTED;
	committed = strcmp(PQcmdStatus(pg->kept[0]), "COMMIT") == 0;
	if (!committed)
		once__pg_fail(pg, ONCE__PG_OURS, "25P02",
			      "COMMIT was answered with a rollback");
	return committed ? ONCE__PG_COMMITTED : ONCE__PG_NOT_COMMITTED;
}

static void deallocate(struct once__pg *pg,
		       struct once__pg_statement *statement)
{
	char sql[48];

	if (statement->state != ONCE__PG_READY)
		return;
	snprintf(sql, sizeof(sql), "DEALLOCATE %s", statement->name);
	once__pg_send_control(pg, sql, false);
	statement->state = ONCE__PG_NEW;
}

static void forget_statements(struct once__pg *pg)
{
	pg->outdated = false;
	pg->generation++;
	for (size_t i = 0; i < ONCE__PG_STATEMENTS_MAX; i++)
		deallocate(pg, &pg->statements.table[i]);
	once__pg_sync(pg);
	if (pg->failed && !pg->lost)
		once__pg_lose(pg);
}

unsigned once__pg_generation(const struct once__pg *pg)
{
	return pg->generation;
}

/* The next session may find a better server; and what has made a statement of
 * ours fail may be of this one. A COMMIT is refused for what handlers wrote. */
static bool is_useless(const struct once__pg *pg)
{
	const struct once__pg_failure *failure = &pg->failure;

	if (failure->class == ONCE__PG_SERVER)
		return true;
	return failure->tag == ONCE__PG_OURS && failure->answered &&
	       failure->class != ONCE__PG_REPEAT &&
	       failure->class != ONCE__PG_LOCKED && !pg->committing;
}

void once__pg_rollback(struct once__pg *pg)
{
	bool useless = pg->failed && is_useless(pg);

	pg->meanwhile = NULL;
	pg->impatient = NULL;
	once__pg_sync(pg);
	once__pg_clear(pg);
	once__pg_send_control(pg, "ROLLBACK", false);
	once__pg_sync(pg);
	if (!pg->lost &&
	    (useless || PQtransactionStatus(pg->conn) != PQTRANS_IDLE))
		once__pg_lose(pg);
	once__pg_clear(pg);
	if (pg->outdated && !pg->lost)
		forget_statements(pg);
	once__pg_clear(pg);
}
