/*
 * pg_fixture.c - a database of a test's own.
 *
 * The idea: a database costs some 50 ms, and isolates a test from every other
 * one; nothing is ever cleaned up row by row.
 */
#include "pg_fixture.h"

#include "process.h"
#include "servers.h"

#include <check.h>
#include <clock.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static PGconn *open_session(const char *conninfo)
{
	PGconn *conn = PQconnectdb(conninfo);

	if (PQstatus(conn) != CONNECTION_OK)
		ck_abort_msg("%s", PQerrorMessage(conn));
	return conn;
}

static PGresult *run(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(res);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		ck_abort_msg("%s: %s", sql, PQerrorMessage(conn));
	return res;
}

/* As conninfo writes values: in quotes, with \ before ' and \. */
static size_t add_option(char *to, size_t size, const char *name,
			 const char *value)
{
	size_t used = (size_t)snprintf(to, size, "%s='", name);

	for (; *value != '\0' && used + 4 < size; value++) {
		if (*value == '\'' || *value == '\\')
			to[used++] = '\\';
		to[used++] = *value;
	}
	return used + (size_t)snprintf(to + used, size - used, "' ");
}

static void change_database(char *to, size_t size, const char *conninfo,
			    const char *database)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	size_t used = 0;

	ck_assert_msg(options != NULL, "\"%s\" is no conninfo", conninfo);
	for (PQconninfoOption *option = options; option->keyword != NULL;
	     option++) {
		if (option->val == NULL ||
		    strcmp(option->keyword, "dbname") == 0)
			continue;
		ck_assert_uint_lt(used + strlen(option->val) * 2 + 64, size);
		used += add_option(to + used, size - used, option->keyword,
				   option->val);
	}
	add_option(to + used, size - used, "dbname", database);
	PQconninfoFree(options);
}

static void run_at_server(const struct pg_fixture *pg, const char *verb,
			  const char *rest)
{
	PGconn *conn = open_session(pg->server);
	char sql[128];

	snprintf(sql, sizeof(sql), "%s DATABASE \"%s\" %s", verb, pg->database,
		 rest);
	PQclear(run(conn, sql));
	PQfinish(conn);
}

void pg_fixture_init_at(struct pg_fixture *pg, const char *conninfo)
{
	snprintf(pg->database, sizeof(pg->database), "once_test_%d_%" PRIx64,
		 (int)getpid(), (uint64_t)clock_ns());
	snprintf(pg->server, sizeof(pg->server), "%s", conninfo);
	run_at_server(pg, "CREATE", "");
	change_database(pg->conninfo, sizeof(pg->conninfo), conninfo,
			pg->database);
	pg->conn = open_session(pg->conninfo);
}

void pg_fixture_init(struct pg_fixture *pg)
{
	const char *conninfo = servers_find(SERVER_PG);

	ck_assert_msg(conninfo != NULL, "there is no PostgreSQL");
	pg_fixture_init_at(pg, conninfo);
}

void pg_fixture_fini(struct pg_fixture *pg)
{
	PQfinish(pg->conn);
	pg->conn = NULL;
	run_at_server(pg, "DROP", "WITH (FORCE)");
}

void pg_fixture_reconnect(struct pg_fixture *pg)
{
	PQfinish(pg->conn);
	pg->conn = open_session(pg->conninfo);
}

int64_t pg_fixture_end_sessions(struct pg_fixture *pg, const char *name)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT count(pg_terminate_backend(pid)) "
		 "FROM pg_stat_activity WHERE datname = current_database() "
		 "AND application_name LIKE '%s'",
		 name);
	return pg_fixture_get_int64(pg, sql);
}

void pg_fixture_save(struct pg_fixture *pg)
{
	struct pg_fixture saved = *pg;
	char template[128];

	snprintf(saved.database, sizeof(saved.database), "%.50s_saved",
		 pg->database);
	snprintf(template, sizeof(template), "TEMPLATE \"%s\"", pg->database);
	PQfinish(pg->conn);
	run_at_server(&saved, "CREATE", template);
	pg->conn = open_session(pg->conninfo);
}

void pg_fixture_restore(struct pg_fixture *pg)
{
	struct pg_fixture saved = *pg;
	char rename[128];

	snprintf(saved.database, sizeof(saved.database), "%.50s_saved",
		 pg->database);
	snprintf(rename, sizeof(rename), "RENAME TO \"%s\"", pg->database);
	PQfinish(pg->conn);
	run_at_server(pg, "DROP", "WITH (FORCE)");
	run_at_server(&saved, "ALTER", rename);
	pg->conn = open_session(pg->conninfo);
}

void pg_fixture_run(struct pg_fixture *pg, const char *sql)
{
	PQclear(run(pg->conn, sql));
}

void pg_fixture_psql(struct pg_fixture *pg, const char *path,
		     const char *variable, const char *other_variable)
{
	const char *argv[] = { "psql", "-Xq",    "-d", pg->conninfo,
			       "-v",   variable, "-v", other_variable,
			       "-f",   path,     NULL };
	const struct process_options options = { .argv = argv };
	struct once_error err = { 0 };
	int code = process_run(&options, 30000, &err);

	ck_assert_msg(code == 0, "psql -f %s: %d %s", path, code, err.text);
}

char *pg_fixture_get_text(struct pg_fixture *pg, const char *sql)
{
	PGresult *res = run(pg->conn, sql);
	char *text = NULL;

	ck_assert_msg(PQntuples(res) > 0, "no row: %s", sql);
	if (!PQgetisnull(res, 0, 0)) {
		text = strdup(PQgetvalue(res, 0, 0));
		ck_assert_ptr_nonnull(text);
	}
	PQclear(res);
	return text;
}

int64_t pg_fixture_get_int64(struct pg_fixture *pg, const char *sql)
{
	char *text = pg_fixture_get_text(pg, sql);
	char *end = text;
	int64_t value = text == NULL ? 0 : strtoll(text, &end, 10);

	ck_assert_msg(text != NULL && *end == '\0' && end != text,
		      "\"%s\" is no whole number: %s",
		      text == NULL ? "NULL" : text, sql);
	free(text);
	return value;
}
