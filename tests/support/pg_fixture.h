/*
 * pg_fixture.h - a database of a test's own. All functions fail the test when
 * they can't do what they say.
 *
 * For a checked fixture or the test itself: the session must be the test
 * process's own.
 */
#ifndef TEST_PG_FIXTURE_H
#define TEST_PG_FIXTURE_H

#include <libpq-fe.h>
#include <once/types.h>

struct pg_fixture {
	PGconn *conn;
	char conninfo[512]; /* of the new database */
	char database[64];
	char server[512]; /* conninfo to create and drop it with */
};

/* A new, empty database on the shared server, and a session in it. */
void pg_fixture_init(struct pg_fixture *pg);
/* The same on a server of the test's own. */
void pg_fixture_init_at(struct pg_fixture *pg, const char *conninfo);
/* Drop it; sessions in it are cut off. */
void pg_fixture_fini(struct pg_fixture *pg);
/* A new session, after the server was restarted. */
void pg_fixture_reconnect(struct pg_fixture *pg);

/* Cut off the sessions in it that have this application_name, or one like it
 * (SQL's LIKE). How many there were. */
int64_t pg_fixture_end_sessions(struct pg_fixture *pg, const char *name);

/* A copy of the database as it is, and the copy in its place; nobody else may
 * be in it. */
void pg_fixture_save(struct pg_fixture *pg);
void pg_fixture_restore(struct pg_fixture *pg);

/* One or several statements. */
void pg_fixture_run(struct pg_fixture *pg, const char *sql);
/* A file that psql understands, with two variables, "name=value". */
void pg_fixture_psql(struct pg_fixture *pg, const char *path,
		     const char *variable, const char *other_variable);
/* The first value of the first row: a number, */
int64_t pg_fixture_get_int64(struct pg_fixture *pg, const char *sql);
/* or a text; NULL for SQL's NULL. The caller's. */
char *pg_fixture_get_text(struct pg_fixture *pg, const char *sql);

#endif
