/*
 * A pooler in transaction mode gives each transaction whichever server session
 * is free. Prepared statements, session settings and advisory locks are then
 * some other client's, now and then; so it is looked for before anything
 * depends on it.
 *
 * The idea: a pooler of any mode shows in that the process that it names at the
 * connect isn't the server's. Its mode shows with two connections: both hold a
 * transaction, both end it, and begin the next one in another order. With a
 * session each, each keeps its server process.
 */
#include "clock.h"
#include "error.h"
#include "pg_conninfo.h"

#include <errno.h>
#include <libpq-fe.h>
#include <once/once.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	ANSWER_MS = 2000, /* for a session that a full pool doesn't have */
	ROUNDS = 4        /* all orders of two beginnings and two ends */
};

static PGconn *connect_to(const char *conninfo)
{
	const char *const names[] = { "connect_timeout", "dbname",
				      "fallback_application_name", NULL };
	const char *const values[] = { "10", conninfo, "onced check", NULL };

	return PQconnectdbParams(names, values, 1);
}

/* false: not in time. */
static bool is_answered(PGconn *conn)
{
	int64_t end_ms = clock_ms() + ANSWER_MS;
	struct pollfd fd = { PQsocket(conn), POLLIN, 0 };

	while (PQisBusy(conn)) {
		int64_t left_ms = end_ms - clock_ms();

		if (left_ms <= 0)
			return false;
		if (poll(&fd, 1, (int)left_ms) < 0 && errno != EINTR)
			return false;
		if (!PQconsumeInput(conn))
			return true; /* lost, and that is an answer */
	}
	return true;
}

/* Of the server's process; 0: it failed, -1: because the pooler knows no
 * transactions. */
static int take_pid(PGconn *conn)
{
	static const char protocol_violation[] = "08P01";
	const char *sqlstate;
	int pid = 0;
	PGresult *res;

	while ((res = PQgetResult(conn)) != NULL) {
		sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
		if (PQresultStatus(res) == PGRES_TUPLES_OK)
			pid = (int)strtol(PQgetvalue(res, 0, 0), NULL, 10);
		else if (sqlstate != NULL &&
			 strcmp(sqlstate, protocol_violation) == 0)
			pid = -1;
		PQclear(res);
	}
	return pid;
}

/* ---- whose session is it? ---- */

struct pair {
	PGconn *conns[2];
	int pids[2]; /* in the last round; 0: there was none */
};

enum finding {
	FINDING_OWN, /* sessions are clients' own, as far as is seen */
	FINDING_SHARED,
	FINDING_UNCLEAR
};

/* false: there was no answer in time. */
static bool end(PGconn *conn)
{
	if (!PQsendQuery(conn, "COMMIT") || !is_answered(conn))
		return false;
	(void)take_pid(conn); /* it has none, and is read to its end */
	return true;
}

/* A session that comes when the other one ends its transaction is its own. */
static enum finding wait_for_other(struct pair *pair, int at)
{
	return end(pair->conns[!at]) && is_answered(pair->conns[at]) &&
			       take_pid(pair->conns[at]) > 0
		       ? FINDING_SHARED
		       : FINDING_UNCLEAR;
}

static enum finding begin(struct pair *pair, int at, bool alone)
{
	PGconn *conn = pair->conns[at];
	int before = pair->pids[at];

	if (!PQsendQuery(conn, "BEGIN; SELECT pg_backend_pid()"))
		return FINDING_UNCLEAR;
	if (!is_answered(conn))
		return alone ? FINDING_UNCLEAR : wait_for_other(pair, at);
	pair->pids[at] = take_pid(conn);
	if (pair->pids[at] == 0)
		return FINDING_UNCLEAR;
	return pair->pids[at] == -1 || (before != 0 && before != pair->pids[at])
		       ? FINDING_SHARED
		       : FINDING_OWN;
}

static enum finding run_round(struct pair *pair, int begins, int ends)
{
	enum finding finding = begin(pair, begins, true);

	if (finding == FINDING_OWN)
		finding = begin(pair, !begins, false);
	if (finding != FINDING_OWN)
		return finding;
	return end(pair->conns[ends]) && end(pair->conns[!ends])
		       ? FINDING_OWN
		       : FINDING_UNCLEAR;
}

static enum finding find_mode(struct pair *pair)
{
	enum finding finding = FINDING_OWN;

	for (int i = 0; i < ROUNDS && finding == FINDING_OWN; i++)
		finding = run_round(pair, i % 2, i / 2 % 2);
	return finding;
}

static bool has_pooler(PGconn *conn)
{
	int pid = 0;

	if (PQsendQuery(conn, "SELECT pg_backend_pid()") && is_answered(conn))
		pid = take_pid(conn);
	return pid > 0 && pid != PQbackendPID(conn);
}

static enum once_status refuse(PGconn *conn, struct once_error *err)
{
	const char *host = PQhost(conn);

	return error_set(err, ONCE_CONFIG,
			 "at %s:%s is a pooler in transaction mode (such as "
			 "PgBouncer), which gives each transaction another "
			 "session of the database; onced needs sessions of its "
			 "own: set pool_mode = session for this database, or "
			 "write the server's own address into "
			 "database.conninfo",
			 host == NULL ? "" : host, PQport(conn));
}

/* Who can't be reached is not our question, and a full pool no proof. */
enum once_status once_pooler_check(const char *conninfo, struct once_error *err)
{
	struct pair pair = { { NULL, NULL }, { 0, 0 } };
	enum once_status status = once__pg_conninfo_check(conninfo, err);

	if (status != ONCE_OK)
		return status;
	pair.conns[0] = connect_to(conninfo);
	if (has_pooler(pair.conns[0])) {
		pair.conns[1] = connect_to(conninfo);
		if (find_mode(&pair) == FINDING_SHARED)
			status = refuse(pair.conns[0], err);
	}
	PQfinish(pair.conns[0]);
	PQfinish(pair.conns[1]);
	return status;
}

/* A pooler may be the reason for whatever else fails. */
enum once_status once_database_check(const char *conninfo,
				     struct once_error *err)
{
	struct once_error found = { 0 };
	enum once_status status = once_schema_check(conninfo, &found);
	bool is_reached = status != ONCE_TRANSIENT || found.sqlstate[0] != '\0';

	if (is_reached && once_pooler_check(conninfo, err) != ONCE_OK)
		return ONCE_CONFIG;
	if (status != ONCE_OK && err != NULL)
		*err = found;
	return status;
}
