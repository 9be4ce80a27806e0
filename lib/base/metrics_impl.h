/*
 * metrics_impl.h - the metrics from within. Their parts:
 *
 *	metrics.c       cells are found, made and removed
 *	metric_cell.c   counting in one
 *	metrics_page.c  all of them, as text
 */
#ifndef ONCE_METRICS_IMPL_H
#define ONCE_METRICS_IMPL_H

#include "metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum {
	METRIC_CACHE_LINE = 64
};

struct metric_cell {
	struct metric_cell *next;
	const struct metric_family *family;
	char *labels;  /* as on the page: a="x",b="y" */
	size_t places; /* the first is everybody's, then one for each writer */
	size_t stride; /* words of a place: whole cache lines */
	_Alignas(METRIC_CACHE_LINE) atomic_ullong words[];
};

struct metrics {
	const struct metric_family *families;
	size_t count;
	pthread_mutex_t mutex;
	struct metric_cell **cells; /* by family; mutex */
};

/* Keeps the labels; NULL: no memory, and they aren't kept. */
struct metric_cell *metric_cell_create(const struct metric_family *family,
				       unsigned writers, char *labels);
void metric_cell_destroy(struct metric_cell *cell);

/* Of a histogram: the values that are in its bucket, and not in those before.
 */
unsigned long long metric_cell_get_bucket(const struct metric_cell *cell,
					  size_t i);

#endif
