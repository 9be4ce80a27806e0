/* copy_files.c - COPY between a session and a file (libpq, "Functions
 * Associated with the COPY Command"). */
#include "copy_files.h"

#include <error.h>
#include <stdbool.h>
#include <stdio.h>

enum {
	CHUNK_SIZE = 65536
};

static enum once_status fail(PGconn *conn, struct once_error *err)
{
	return error_set(err, ONCE_TRANSIENT, "%s", PQerrorMessage(conn));
}

/* Send it, and wait until the server is ready for the rows. */
static enum once_status begin(PGconn *conn, const char *sql,
			      ExecStatusType ready, struct once_error *err)
{
	PGresult *res = PQexec(conn, sql);
	bool good = PQresultStatus(res) == ready;

	PQclear(res);
	return good ? ONCE_OK : fail(conn, err);
}

/* The last results, to the NULL behind them. */
static enum once_status end(PGconn *conn, struct once_error *err)
{
	enum once_status status = ONCE_OK;

	for (PGresult *res = PQgetResult(conn); res != NULL;
	     res = PQgetResult(conn)) {
		if (PQresultStatus(res) != PGRES_COMMAND_OK)
			status = fail(conn, err);
		PQclear(res);
	}
	return status;
}

static enum once_status fetch_rows(PGconn *conn, FILE *file,
				   struct once_error *err)
{
	char *row;
	int size;

	while ((size = PQgetCopyData(conn, &row, 0)) > 0) {
		fwrite(row, 1, (size_t)size, file);
		PQfreemem(row);
	}
	return size == -1 ? end(conn, err) : fail(conn, err);
}

static enum once_status send_rows(PGconn *conn, FILE *file,
				  struct once_error *err)
{
	char chunk[CHUNK_SIZE];
	size_t size;

	while ((size = fread(chunk, 1, sizeof(chunk), file)) > 0)
		if (PQputCopyData(conn, chunk, (int)size) != 1)
			return fail(conn, err);
	if (PQputCopyEnd(conn, NULL) != 1)
		return fail(conn, err);
	return end(conn, err);
}

enum once_status copy_to_file(PGconn *conn, const char *sql, const char *path,
			      struct once_error *err)
{
	FILE *file = fopen(path, "we");
	enum once_status status;

	if (file == NULL)
		return error_set(err, ONCE_CONFIG, "could not write \"%s\"",
				 path);
	status = begin(conn, sql, PGRES_COPY_OUT, err);
	if (status == ONCE_OK)
		status = fetch_rows(conn, file, err);
	if (fclose(file) != 0)
		return error_set(err, ONCE_CONFIG, "could not write \"%s\"",
				 path);
	return status;
}

enum once_status copy_from_file(PGconn *conn, const char *sql, const char *path,
				struct once_error *err)
{
	FILE *file = fopen(path, "re");
	enum once_status status;

	if (file == NULL)
		return error_set(err, ONCE_CONFIG, "could not read \"%s\"",
				 path);
	status = begin(conn, sql, PGRES_COPY_IN, err);
	if (status == ONCE_OK)
		status = send_rows(conn, file, err);
	fclose(file);
	return status;
}
