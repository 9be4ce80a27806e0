/*
 * metrics.h - counters, gauges and histograms, and the page that Prometheus
 * reads (text format 0.0.4, or OpenMetrics 1.0).
 *
 * Families are a table of the caller's. A cell is one family with one set of
 * label values; whoever counts often keeps its pointer, and whoever counts each
 * message is one of the cell's writers, with a place of its own in it.
 *
 * Threads: any; a writer is one thread at a time. Finding a cell takes a lock;
 * counting takes none, and a writer's no more than a plain store.
 */
#ifndef ONCE_METRICS_H
#define ONCE_METRICS_H

#include "text.h"

enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM
};

enum {
	METRIC_LABELS_MAX = 3
};

struct metric_family {
	const char *name; /* a counter's without "_total" */
	enum metric_type type;
	const char *help; /* a line without quote or backslash */
	const char *labels[METRIC_LABELS_MAX + 1]; /* NULL-terminated */
	const double *bounds; /* of a histogram: rising; ends with 0 */
};

struct metrics;
struct metric_cell;

/* `families` outlives the registry. NULL: no memory. */
struct metrics *metrics_create(const struct metric_family *families,
			       size_t count);
void metrics_destroy(struct metrics *metrics);

/* Found or made; lives until it is removed: whoever removes cells is the one
 * who counts in them. `values`: one for each label of the family. NULL: no
 * memory. */
struct metric_cell *metrics_cell(struct metrics *metrics, size_t family,
				 const char *const *values);
/* The same, made with places for the writers 0 to writers - 1. */
struct metric_cell *metrics_cell_for(struct metrics *metrics, size_t family,
				     const char *const *values,
				     unsigned writers);
void metrics_remove(struct metrics *metrics, size_t family,
		    const char *const *values);

/* A NULL cell counts nothing. Counters and histograms only rise: an amount
 * below 0 or NaN isn't counted; only a gauge is set. */
void metric_add(struct metric_cell *cell, double amount);
void metric_set(struct metric_cell *cell, double value);
void metric_observe(struct metric_cell *cell, double value);
double metric_get(const struct metric_cell *cell);

/* By the writer alone: of a cell that has a place for it. */
void metric_add_by(struct metric_cell *cell, unsigned writer, double amount);
void metric_observe_by(struct metric_cell *cell, unsigned writer, double value);

/* Of all cells of a family; of a histogram, what was observed. */
double metrics_sum(struct metrics *metrics, size_t family);

void metrics_render(struct metrics *metrics, bool open_metrics,
		    struct text *page);

#endif
