/*
 * copy_stage.c - COPY of the same rows.
 *
 * The idea: a table is cut in two by its pages, so each session brings rows in
 * the order in which onced wrote them. The files were just written, so reading
 * them is reading memory.
 */
#include "copy_stage.h"

#include "copy_files.h"
#include "tables.h"

#include <check.h>
#include <clock.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

enum {
	TABLES = 2,
	SQL_SIZE = 256
};

static const char *const tables[TABLES] = { "once.consume_log", "refund" };

struct session {
	const struct bench *bench;
	int index; /* of BENCH_WORKERS */
	PGconn *conn;
	enum once_status status;
	struct once_error err;
};

static enum once_status make_path(const struct bench *bench, int table,
				  int part, char path[PATH_MAX],
				  struct once_error *err)
{
	char name[32];

	snprintf(name, sizeof(name), "rows-%d-%d", table, part);
	return temp_dir_path(path, bench->dir.path, name, err);
}

/* ---- out ---- */

static int64_t count_pages(struct bench *bench, const char *table)
{
	char sql[SQL_SIZE];

	snprintf(sql, sizeof(sql),
		 "SELECT pg_relation_size('%s') / "
		 "current_setting('block_size')::int",
		 table);
	return pg_fixture_get_int64(&bench->pg, sql);
}

static void export_part(struct bench *bench, int table, int part, int64_t pages)
{
	int64_t from = pages * part / BENCH_WORKERS;
	int64_t to = pages * (part + 1) / BENCH_WORKERS;
	struct once_error err = { 0 };
	char path[PATH_MAX];
	char sql[SQL_SIZE];

	snprintf(sql, sizeof(sql),
		 "COPY (SELECT * FROM %s WHERE ctid >= '(%" PRId64 ",0)' "
		 "AND ctid < '(%" PRId64 ",0)') TO STDOUT",
		 tables[table], from, to);
	ck_assert_msg(make_path(bench, table, part, path, &err) == ONCE_OK &&
			      copy_to_file(bench->pg.conn, sql, path, &err) ==
				      ONCE_OK,
		      "%s", err.text);
}

void copy_stage_export(struct bench *bench)
{
	for (int table = 0; table < TABLES; table++) {
		int64_t pages = count_pages(bench, tables[table]);

		for (int part = 0; part < BENCH_WORKERS; part++)
			export_part(bench, table, part, pages);
	}
}

/* ---- in ---- */

static enum once_status import_part(struct session *session, int table)
{
	char path[PATH_MAX];
	char sql[SQL_SIZE];
	enum once_status status = make_path(
		session->bench, table, session->index, path, &session->err);

	if (status != ONCE_OK)
		return status;
	snprintf(sql, sizeof(sql), "COPY %s FROM STDIN", tables[table]);
	return copy_from_file(session->conn, sql, path, &session->err);
}

static void *import(void *arg)
{
	struct session *session = arg;

	for (int table = 0; table < TABLES && session->status == ONCE_OK;
	     table++)
		session->status = import_part(session, table);
	return NULL;
}

static void open_session(struct session *session, const struct bench *bench,
			 int index)
{
	session->bench = bench;
	session->index = index;
	session->conn = PQconnectdb(bench->pg.conninfo);
	ck_assert_msg(PQstatus(session->conn) == CONNECTION_OK, "%s",
		      PQerrorMessage(session->conn));
}

static void run_at_once(struct session sessions[BENCH_WORKERS])
{
	pthread_t threads[BENCH_WORKERS];

	for (int i = 0; i < BENCH_WORKERS; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, import, &sessions[i]),
			0);
	for (int i = 0; i < BENCH_WORKERS; i++)
		pthread_join(threads[i], NULL);
}

void copy_stage_run(struct bench *bench, struct pace *ret_pace)
{
	struct session sessions[BENCH_WORKERS] = { 0 };
	int64_t start_ns;

	tables_empty(bench);
	for (int i = 0; i < BENCH_WORKERS; i++)
		open_session(&sessions[i], bench, i);
	start_ns = clock_ns();
	run_at_once(sessions);
	ret_pace->took_ns = clock_ns() - start_ns;
	ret_pace->messages = bench->messages;
	for (int i = 0; i < BENCH_WORKERS; i++) {
		ck_assert_msg(sessions[i].status == ONCE_OK, "%s",
			      sessions[i].err.text);
		PQfinish(sessions[i].conn);
	}
	tables_check(bench, bench->messages);
}
