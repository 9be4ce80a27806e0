/* moments.c - percentiles of all that was seen, none of them from buckets. */
#include "moments.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void moments_read(struct moments *moments, const char *path)
{
	FILE *file = fopen(path, "re");
	struct stat state;

	ck_assert_msg(file != NULL && fstat(fileno(file), &state) == 0,
		      "onced has written no times: is libpq a shared library "
		      "of it?");
	moments->count = (size_t)state.st_size / sizeof(*moments->items);
	moments->items = calloc(moments->count + 1, sizeof(*moments->items));
	ck_assert_ptr_nonnull(moments->items);
	ck_assert_uint_eq(fread(moments->items, sizeof(*moments->items),
				moments->count, file),
			  moments->count);
	fclose(file);
}

void moments_fini(struct moments *moments)
{
	free(moments->items);
	*moments = (struct moments){ 0 };
}

static int compare(const void *a, const void *b)
{
	const int64_t *left = a;
	const int64_t *right = b;

	return (*left > *right) - (*left < *right);
}

/* Of one kind, sorted; the caller's. */
static int64_t *select_times(const struct moments *moments,
			     const struct window *window, size_t kind,
			     size_t *ret_count)
{
	int64_t *times = calloc(moments->count + 1, sizeof(*times));
	size_t count = 0;

	ck_assert_ptr_nonnull(times);
	for (size_t i = 0; i < moments->count; i++) {
		const struct moment *moment = &moments->items[i];

		if (moment->began_ns >= window->from_ns &&
		    moment->began_ns < window->to_ns)
			times[count++] = moment->took_ns[kind];
	}
	qsort(times, count, sizeof(*times), compare);
	*ret_count = count;
	return times;
}

/* The least time that so large a share didn't exceed. */
static double find_ms(const int64_t *times, size_t count, double share)
{
	size_t rank = (size_t)ceil(share * (double)count);

	return (double)times[rank == 0 ? 0 : rank - 1] / 1e6;
}

static const struct shown {
	const char *unit;
	double share;
} shown[SINCE_COUNT][3] = {
	{ { "p99, ms", 0.99 }, { "p50, ms", 0.5 }, { "p99.9, ms", 0.999 } },
	{ { "since sent: p50, ms", 0.5 }, { "since sent: p99, ms", 0.99 } },
	{ { "since handled: p50, ms", 0.5 },
	  { "since handled: p99, ms", 0.99 } },
};

void moments_add(const struct moments *moments, const struct window *window,
		 size_t kinds, struct results *results, const char *section,
		 const char *name)
{
	size_t count = 0;

	for (size_t kind = 0; kind < kinds; kind++) {
		int64_t *times = select_times(moments, window, kind, &count);

		ck_assert_msg(count > 0, "nothing was timed at: %s", name);
		for (size_t i = 0; i < 3 && shown[kind][i].unit != NULL; i++)
			results_add(
				results, section, name, shown[kind][i].unit,
				find_ms(times, count, shown[kind][i].share));
		free(times);
	}
	results_add(results, section, name, "samples", (double)count);
}
