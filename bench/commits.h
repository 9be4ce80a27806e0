/* commits.h - the yardstick of latency: a session that commits next to nothing,
 * a hundred times a second, on a thread of its own. */
#ifndef BENCH_COMMITS_H
#define BENCH_COMMITS_H

#include "moments.h"

#include <libpq-fe.h>
#include <once/types.h>
#include <pthread.h>
#include <stdbool.h>

struct commits {
	PGconn *conn;
	pthread_t thread;
	struct moments moments; /* of COMMIT, and of its turn */
	size_t size;
	_Atomic bool stopping;
	bool failed; /* `err` says how */
	struct once_error err;
};

/* For at most so long. */
void commits_start(struct commits *commits, const char *conninfo,
		   int64_t span_ns);
/* The moments stay. */
void commits_stop(struct commits *commits);
void commits_fini(struct commits *commits);

#endif
