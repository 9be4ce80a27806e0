/*
 * pg_server.h - a PostgreSQL of a test's own, from the installed binaries: for
 * tests that stop it, kill it or fill it up. (Others share the run's; see
 * servers.h.) Also started by root, where it runs as `postgres` or `nobody`.
 */
#ifndef TEST_PG_SERVER_H
#define TEST_PG_SERVER_H

#include "process.h"
#include "temp_dir.h"

struct pg_server {
	struct temp_dir dir;
	struct process process;
	int port;
	char data[PATH_MAX];
	char log[PATH_MAX];   /* all that it logged, restarts included */
	char clock[PATH_MAX]; /* the file that sets its clock; "": ours */
	char conninfo[128];   /* its superuser, database postgres, by TCP */
};

/* initdb and start. `settings`: "name=value" on top of ours, NULL-terminated;
 * may be NULL. CONFIG: no PostgreSQL is installed. Whatever is returned, give
 * it to pg_server_destroy(). */
enum once_status pg_server_create(struct pg_server *server,
				  const char *const *settings,
				  struct once_error *err) ONCE_MUST_CHECK;
/* With a clock that a test sets. CONFIG: libfaketime isn't installed. */
enum once_status pg_server_create_with_clock(
	struct pg_server *server, struct once_error *err) ONCE_MUST_CHECK;
/* "+40d": it is as far ahead of ours from now on; "+0". */
void pg_server_set_clock(const struct pg_server *server, const char *offset);
/* A copy of `primary` that follows it and answers questions (a hot standby);
 * returns when it answers. As above. */
enum once_status pg_server_create_standby(
	struct pg_server *server, const struct pg_server *primary,
	struct once_error *err) ONCE_MUST_CHECK;
/* At the port and with the data of before; returns when it answers. */
enum once_status pg_server_start(struct pg_server *server,
				 struct once_error *err) ONCE_MUST_CHECK;
/* A fast shutdown: sessions are cut off with 57P01, a checkpoint is made. */
void pg_server_stop(struct pg_server *server);
/* Its immediate mode: nothing is written any more; what a commit didn't wait
 * for may be lost. */
void pg_server_crash(struct pg_server *server);
/* Nothing of it runs any more, but its sockets stay. */
void pg_server_freeze(struct pg_server *server);
void pg_server_thaw(struct pg_server *server);
/* SIGKILL to the postmaster; returns when its children are gone too. */
void pg_server_kill(struct pg_server *server);
void pg_server_destroy(struct pg_server *server);

#endif
