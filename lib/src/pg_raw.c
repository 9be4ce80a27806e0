/* The session as libpq's users know it, for handlers that need it. While it is
 * given away, a row in once.commit_guard makes any COMMIT but ours fail. */
#include "pg_impl.h"

#include <poll.h>
#include <string.h>

static const char defer_sql[] =
	"SET CONSTRAINTS once.commit_guard_released_fkey DEFERRED";
static const char guard_sql[] =
	"INSERT INTO once.commit_guard (backend, released) "
	"VALUES (pg_catalog.pg_backend_pid(), -1)";
static const char release_sql[] =
	"DELETE FROM once.commit_guard WHERE backend = "
	"pg_catalog.pg_backend_pid()";

/* Beforehand, so that it tells whether the session's statements are still there
 * when the handler is done. */
static void prepare_release(struct once__pg *pg)
{
	struct once__pg_statement *statement =
		once__pg_statements_get(&pg->statements, release_sql);

	if (!pg->failed && !pg->lost && statement != NULL &&
	    !once__pg_prepare(pg, ONCE__PG_OURS, statement))
		once__pg_lose(pg);
}

struct pg_conn *once__pg_enter_raw(struct once__pg *pg)
{
	once__pg_send(pg, ONCE__PG_OURS, defer_sql, NULL, 0);
	once__pg_send_exactly(pg, 1, guard_sql, NULL, 0);
	prepare_release(pg);
	once__pg_sync(pg);
	if (pg->failed || pg->lost)
		return NULL;
	if (!PQexitPipelineMode(pg->conn) ||
	    PQsetnonblocking(pg->conn, 0) != 0) {
		once__pg_lose(pg);
		return NULL;
	}
	pg->backend = PQbackendPID(pg->conn);
	pg->touched = true;
	return pg->conn;
}

static const char ended_text[] = "the handler ended the transaction";

/* NULL: it is still the session, and the transaction, that we gave away. */
static const char *raw_fault(const struct once__pg *pg)
{
	PGTransactionStatusType status = PQtransactionStatus(pg->conn);

	if (PQbackendPID(pg->conn) != pg->backend)
		return "the handler opened another session";
	if (status == PQTRANS_IDLE)
		return ended_text;
	if (status != PQTRANS_INTRANS && status != PQTRANS_INERROR)
		return "the handler left the session busy";
	return NULL;
}

/* A guard that is gone was rolled back, whatever has begun since. */
static bool release_guard(struct once__pg *pg, size_t tag)
{
	const struct once_rows *rows =
		once__pg_exec(pg, ONCE__PG_OURS, release_sql, NULL, 0);

	if (rows != NULL && once_rows_affected(rows) == 1)
		return true;
	if (rows != NULL) {
		once__pg_fail(pg, tag, "2D000", ended_text);
	} else if (strcmp(pg->failure.sqlstate, "26000") == 0) {
		pg->failed = false;
		pg->lost = true;
		once__pg_fail(pg, tag, "2D000",
			      "the handler dropped the session's statements");
	}
	return false;
}

bool once__pg_leave_raw(struct once__pg *pg, size_t tag)
{
	int64_t limited_ms = pg->limited_ms;
	const char *fault = raw_fault(pg);

	if (PQstatus(pg->conn) == CONNECTION_BAD) {
		once__pg_lose(pg);
		return false;
	}
	if (PQtransactionStatus(pg->conn) == PQTRANS_INERROR)
		once__pg_fail(pg, tag, "25P02",
			      "the handler left the transaction failed");
	if (fault != NULL)
		once__pg_fail(pg, tag, "2D000", fault);
	if (fault != NULL || PQsetnonblocking(pg->conn, 1) != 0 ||
	    !PQenterPipelineMode(pg->conn)) {
		pg->lost = true; /* who knows what else it did */
		return false;
	}
	if (pg->failed)
		return false;
	once__pg_restore(pg, tag); /* the guard is ours to release */
	once__pg_limit(pg, limited_ms);
	return release_guard(pg, tag);
}

/* What it waits for is asked again and again: it may be busy at first. */
static void wait_for_script(struct once__pg *pg)
{
	int64_t ask_ms = pg->options.limits.lock_ms / 2;
	int timeout_ms = ask_ms > 0 ? (int)ask_ms : -1;
	struct pollfd fd = { PQsocket(pg->conn), POLLIN, 0 };

	while (PQisBusy(pg->conn)) {
		if (poll(&fd, 1, timeout_ms) == 0)
			once__pg_ask_blockers(pg);
		else if (!PQconsumeInput(pg->conn))
			return;
	}
}

/* The first failure counts; nothing of the script runs after it. */
static bool run_script(struct once__pg *pg, const char *sql)
{
	static const struct once__pg_owed owed = { .tag = ONCE__PG_OURS };
	PGresult *res;

	pg->blockers[0] = '\0';
	if (!PQsendQuery(pg->conn, sql)) {
		once__pg_lose(pg);
		return false;
	}
	wait_for_script(pg);
	while ((res = PQgetResult(pg->conn)) != NULL) {
		if (!once__pg_succeeded(res))
			once__pg_fail_with(pg, &owed, res);
		PQclear(res);
		wait_for_script(pg);
	}
	return !pg->failed;
}

bool once__pg_script(struct once__pg *pg, const char *sql)
{
	bool done;

	once__pg_clear(pg);
	if (pg->lost)
		return false;
	if (!PQexitPipelineMode(pg->conn) || PQsetnonblocking(pg->conn, 0)) {
		once__pg_lose(pg);
		return false;
	}
	done = run_script(pg, sql);
	if (PQsetnonblocking(pg->conn, 1) || !PQenterPipelineMode(pg->conn))
		once__pg_lose(pg);
	return done && !pg->lost;
}
