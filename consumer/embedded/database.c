/* Simple queries, one after the other. */
#include "database.h"

#include "error.h"
#include "scope.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define scoped_result scoped(clear_result)

struct database {
	PGconn *conn;
};

static void clear_result(PGresult **res)
{
	PQclear(*res);
}

static void ignore_notice(void *arg, const PGresult *res)
{
	(void)arg;
	(void)res;
}

/* libpq ends its messages with a newline. */
static enum once_status fail(struct database *database, const char *what,
			     struct once_error *err)
{
	const char *text = PQerrorMessage(database->conn);
	size_t size = strlen(text);

	while (size > 0 && text[size - 1] == '\n')
		size--;
	return error_set(err,
			 PQstatus(database->conn) == CONNECTION_OK
				 ? ONCE_INVALID
				 : ONCE_TRANSIENT,
			 "%s: %.*s", what, (int)size, text);
}

enum once_status database_open(const char *conninfo,
			       struct database **ret_database,
			       struct once_error *err)
{
	struct database *database = calloc(1, sizeof(*database));
	enum once_status status;

	if (database == NULL)
		return error_no_memory(err);
	database->conn = PQconnectdb(conninfo);
	if (PQstatus(database->conn) == CONNECTION_OK) {
		PQsetNoticeReceiver(database->conn, ignore_notice, NULL);
		*ret_database = database;
		return ONCE_OK;
	}
	status = fail(database, "could not connect to the database", err);
	database_close(database);
	return status;
}

void database_close(struct database *database)
{
	if (database == NULL)
		return;
	PQfinish(database->conn);
	free(database);
}

enum once_status database_run(struct database *database, const char *sql,
			      struct once_error *err)
{
	scoped_result PGresult *res = PQexec(database->conn, sql);
	ExecStatusType status = PQresultStatus(res);

	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
	    status == PGRES_EMPTY_QUERY)
		return ONCE_OK;
	return fail(database, "could not run the SQL", err);
}

enum once_status database_ask(struct database *database, const char *sql,
			      int64_t *ret_numbers, size_t count,
			      struct once_error *err)
{
	scoped_result PGresult *res = PQexec(database->conn, sql);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		return fail(database, "could not ask the database", err);
	if (PQntuples(res) != 1 || (size_t)PQnfields(res) != count)
		return error_set(err, ONCE_BUG, "another answer was expected");
	for (size_t i = 0; i < count; i++)
		ret_numbers[i] = strtoll(PQgetvalue(res, 0, (int)i), NULL, 10);
	return ONCE_OK;
}

static bool put(struct database *database, struct once_bytes lines)
{
	const char *at = lines.data;
	size_t left = lines.size;

	while (left > 0) {
		size_t part = left < 65536 ? left : 65536;

		if (PQputCopyData(database->conn, at, (int)part) != 1)
			return false;
		at += part;
		left -= part;
	}
	return PQputCopyEnd(database->conn, NULL) == 1;
}

enum once_status database_copy(struct database *database, const char *sql,
			       struct once_bytes lines, struct once_error *err)
{
	scoped_result PGresult *res = PQexec(database->conn, sql);
	bool sent =
		PQresultStatus(res) == PGRES_COPY_IN && put(database, lines);
	PGresult *last = sent ? PQgetResult(database->conn) : NULL;
	bool taken = PQresultStatus(last) == PGRES_COMMAND_OK;

	PQclear(last);
	if (!taken)
		return fail(database, "could not copy to the database", err);
	while ((last = PQgetResult(database->conn)) != NULL)
		PQclear(last);
	return ONCE_OK;
}
