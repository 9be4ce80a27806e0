/*
 * copy_session.c - a transaction of two COPYs (libpq, "Functions Associated
 * with the COPY Command").
 *
 * The idea: its four statements are one query, so that the server goes from one
 * to the next without being asked again.
 */
#include "copy_session.h"

#include <error.h>
#include <stdbool.h>
#include <string.h>

static const char transaction_sql[] =
	"BEGIN; " COPY_LOG_SQL "; " COPY_REFUND_SQL "; COMMIT";

static enum once_status fail(PGconn *conn, struct once_error *err)
{
	return error_set(err, ONCE_TRANSIENT, "%s", PQerrorMessage(conn));
}

enum once_status copy_session_open(const char *conninfo, const char *durability,
				   PGconn **ret_conn, struct once_error *err)
{
	bool waits = strcmp(durability, "database") == 0;
	PGconn *conn = PQconnectdb(conninfo);
	PGresult *res;
	bool good;

	*ret_conn = conn;
	if (PQstatus(conn) != CONNECTION_OK)
		return fail(conn, err);
	res = PQexec(conn, waits ? "SET synchronous_commit = on"
				 : "SET synchronous_commit = off");
	good = PQresultStatus(res) == PGRES_COMMAND_OK;
	PQclear(res);
	return good ? ONCE_OK : fail(conn, err);
}

/* The next result has to be this one. */
static enum once_status expect(PGconn *conn, ExecStatusType wanted,
			       struct once_error *err)
{
	PGresult *res = PQgetResult(conn);
	bool good = PQresultStatus(res) == wanted;

	PQclear(res);
	return good ? ONCE_OK : fail(conn, err);
}

static enum once_status copy(PGconn *conn, const struct text *rows,
			     struct once_error *err)
{
	enum once_status status = expect(conn, PGRES_COPY_IN, err);

	if (status != ONCE_OK)
		return status;
	if (rows->broken ||
	    PQputCopyData(conn, rows->data, (int)rows->size) != 1 ||
	    PQputCopyEnd(conn, NULL) != 1)
		return fail(conn, err);
	return expect(conn, PGRES_COMMAND_OK, err);
}

enum once_status copy_session_run(PGconn *conn, const struct copy_rows *rows,
				  struct once_error *err)
{
	enum once_status status;

	if (PQsendQuery(conn, transaction_sql) != 1)
		return fail(conn, err);
	status = expect(conn, PGRES_COMMAND_OK, err); /* BEGIN */
	if (status == ONCE_OK)
		status = copy(conn, &rows->log, err);
	if (status == ONCE_OK)
		status = copy(conn, &rows->refund, err);
	if (status == ONCE_OK)
		status = expect(conn, PGRES_COMMAND_OK, err); /* COMMIT */
	if (status == ONCE_OK && PQgetResult(conn) != NULL)
		return error_set(err, ONCE_BUG, "more results than statements");
	return status;
}
