/*
 * bench.h - what all stages of a run share: a database, a directory, the
 * program that is measured, and what came out.
 *
 * Every function of the bench ends the run with a sentence when it can't do
 * what it says or finds something wrong in the data (Check's way, as in the
 * test rig); only what runs on threads of its own returns a status.
 */
#ifndef BENCH_H
#define BENCH_H

#include "results.h"

#include <limits.h>
#include <pg_fixture.h>
#include <redis_server.h>
#include <temp_dir.h>

enum {
	/* Where a scenario says nothing else. */
	BENCH_LANES = 2,         /* or threads, each with a session */
	BENCH_MAX_MESSAGES = 500 /* of a transaction */
};

/* All that onced's claims are made under. */
#define BENCH_SCOPE "bench"

struct bench {
	int64_t messages; /* of a topic */
	int rounds;
	int64_t growth_rows;    /* the log's, in the end */
	int64_t span_s;         /* of each load, where latency is measured */
	int64_t top_per_second; /* messages; 0: to be found out */
	struct pg_fixture pg;
	struct redis_server redis; /* not running until a stage needs it */
	struct temp_dir dir;
	char onced[PATH_MAX];  /* the program that is measured */
	char plugin[PATH_MAX]; /* and its handler */
	char clock[PATH_MAX];  /* bench_clock.so */
	int runs;              /* of it: each has a group of its own */
	pid_t postgres;        /* the servers' processes; 0: not known */
	pid_t kafka;
	struct results results;
};

#endif
