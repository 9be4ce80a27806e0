/*
 * bench.h - what all stages of a run share: a topic full of messages, a
 * database, a directory.
 *
 * Every function of the bench ends the run with a sentence when it can't do
 * what it says or finds something wrong in the data (Check's way, as in the
 * test rig); only what runs on threads of its own returns a status.
 */
#ifndef BENCH_H
#define BENCH_H

#include <kafka_fixture.h>
#include <limits.h>
#include <pg_fixture.h>
#include <temp_dir.h>

enum {
	BENCH_PARTITIONS = 4,
	BENCH_WORKERS = 2, /* lanes, threads, sessions: in each stage */
	BENCH_VALUE_SIZE = 430
};

struct bench {
	int64_t messages;
	int64_t different;     /* of them; the rest repeats those, in turn */
	int64_t skipped;       /* of them, before the clock is started */
	const char *prefilter; /* lines of onced's configuration, or "" */
	struct kafka_fixture kafka;
	struct pg_fixture pg;
	struct temp_dir dir;
	char onced[PATH_MAX];  /* the program that is measured */
	char plugin[PATH_MAX]; /* and its handler */
};

/* What a stage did, and how long it took. */
struct pace {
	int64_t messages;
	int64_t took_ns;
};

static inline double pace_per_second(const struct pace *pace)
{
	return (double)pace->messages * 1e9 / (double)pace->took_ns;
}

#endif
