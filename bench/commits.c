/*
 * commits.c - BEGIN, a row, COMMIT; the clock stands around COMMIT.
 *
 * The idea: a row there must be. A transaction that has written nothing doesn't
 * wait for the disk. And one that is due while the one before it stands still
 * waits for its turn, as messages do: without that, a disk that stalls for a
 * tenth of a second would be one slow COMMIT, and a thousand slow messages.
 */
#include "commits.h"

#include <check.h>
#include <clock.h>
#include <error.h>
#include <stdlib.h>
#include <time.h>

enum {
	PER_SECOND = 100
};

#define SECOND_NS INT64_C(1000000000)

static bool run_sql(struct commits *commits, const char *sql)
{
	PGresult *res = PQexec(commits->conn, sql);

	commits->failed = PQresultStatus(res) != PGRES_COMMAND_OK;
	PQclear(res);
	if (commits->failed)
		error_set(&commits->err, ONCE_TRANSIENT, "%s: %s", sql,
			  PQerrorMessage(commits->conn));
	return !commits->failed;
}

static bool commit_one(struct commits *commits, int64_t waited_ns)
{
	struct moment *moment = &commits->moments.items[commits->moments.count];

	if (!run_sql(commits, "BEGIN") ||
	    !run_sql(commits, "INSERT INTO little VALUES (1)"))
		return false;
	moment->began_ns = clock_ns();
	if (!run_sql(commits, "COMMIT"))
		return false;
	moment->took_ns[0] = waited_ns + clock_ns() - moment->began_ns;
	commits->moments.count++;
	return true;
}

static void *run(void *arg)
{
	struct commits *commits = arg;
	int64_t next_ns = clock_ns();
	int64_t free_ns = next_ns;
	bool good = true;

	while (good && !commits->stopping &&
	       commits->moments.count < commits->size) {
		const struct timespec until = { next_ns / SECOND_NS,
						next_ns % SECOND_NS };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		good = commit_one(commits,
				  free_ns > next_ns ? free_ns - next_ns : 0);
		free_ns = clock_ns();
		next_ns += SECOND_NS / PER_SECOND;
	}
	return NULL;
}

void commits_start(struct commits *commits, const char *conninfo,
		   int64_t span_ns)
{
	*commits = (struct commits){
		.conn = PQconnectdb(conninfo),
		.size = (size_t)(span_ns / (SECOND_NS / PER_SECOND)) + 1,
	};
	commits->moments.items =
		calloc(commits->size, sizeof(*commits->moments.items));
	ck_assert_ptr_nonnull(commits->moments.items);
	ck_assert_msg(PQstatus(commits->conn) == CONNECTION_OK, "%s",
		      PQerrorMessage(commits->conn));
	ck_assert_int_eq(pthread_create(&commits->thread, NULL, run, commits),
			 0);
}

void commits_stop(struct commits *commits)
{
	commits->stopping = true;
	pthread_join(commits->thread, NULL);
	ck_assert_msg(!commits->failed, "%s", commits->err.text);
	PQfinish(commits->conn);
	commits->conn = NULL;
}

void commits_fini(struct commits *commits)
{
	moments_fini(&commits->moments);
}
