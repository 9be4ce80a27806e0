/* moments.h - how long things took: a list, and its percentiles. */
#ifndef BENCH_MOMENTS_H
#define BENCH_MOMENTS_H

#include "bench_clock.h"
#include "results.h"

struct moments {
	struct moment *items;
	size_t count;
};

/* A part of time. */
struct window {
	int64_t from_ns;
	int64_t to_ns;
};

/* What bench_clock.so has written. */
void moments_read(struct moments *moments, const char *path);
void moments_fini(struct moments *moments);

/* p99, p50, p99.9 of what began in the window, in ms, of the first `kinds` of
 * times, and how many they are. The name must live on. */
void moments_add(const struct moments *moments, const struct window *window,
		 size_t kinds, struct results *results, const char *section,
		 const char *name);

#endif
