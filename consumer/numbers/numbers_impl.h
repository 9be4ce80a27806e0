/* numbers_impl.h - the cells of what is counted, for the files of numbers.h:
 *
 *	numbers.c            found at the start, and counted
 *	numbers_partition.c  those that come and go with a partition
 *	numbers_view.c       read again: sums, /status, the page
 *	process_figures.c    what the system says of the process
 */
#ifndef ONCED_NUMBERS_IMPL_H
#define ONCED_NUMBERS_IMPL_H

#include "metric_families.h"
#include "metrics.h"
#include "numbers.h"
#include "repeated.h"

#include <stdatomic.h>

enum {
	COUNT_KEYS = 2,
	COUNT_STAGES = ONCE_STAGE_DATABASE, /* before it */
	COUNT_STATES = 2,
	COUNT_CAUSES = 0
#define X(name, word) +1
		ONCE_CAUSE_TABLE(X)
#undef X
};

struct route_numbers {
	const char *name; /* lives in the labels' cells, and here */
	struct metric_cell *handled;
	struct metric_cell *intercepts[COUNT_STAGES][COUNT_KEYS];
	struct metric_cell *backstop_hits[COUNT_KEYS];
	struct metric_cell *conflicts[COUNT_KEYS];
	struct metric_cell *unproven[COUNT_STAGES];
	struct metric_cell *dead[COUNT_CAUSES];
	struct metric_cell *retries[COUNT_CAUSES];
	struct metric_cell *paused[COUNT_CAUSES];
	struct metric_cell *takes_turns;
	struct metric_cell *postponed;
	struct metric_cell *resumed;
	struct metric_cell *handler_seconds;
	struct metric_cell *message_age;
	struct metric_cell *parked[COUNT_STATES];
	struct metric_cell *log_rows;
	struct metric_cell *log_oldest;
	struct metric_cell *log_in_doubt;
	struct metric_cell *log_overdue;
	struct metric_cell *log_deleted;
};

struct numbers {
	struct metrics *metrics;
	struct route_numbers *routes;
	size_t route_count;
	struct repeated *repeated;
	unsigned lane_count;
	struct metric_cell **lanes;
	struct metric_cell *stages[TIMED_COUNT];
	struct metric_cell *committed;
	struct metric_cell *rolled_back;
	struct metric_cell *unknown;
	struct metric_cell *repeated_tries;
	struct metric_cell *transaction_seconds;
	struct metric_cell *batch_messages;
	atomic_llong source_ms; /* of the last batch's newest message */
};

static inline struct metric_cell *numbers_cell(struct numbers *numbers,
					       enum metric family,
					       const char *first,
					       const char *second,
					       const char *third)
{
	const char *const values[] = { first, second, third };

	return metrics_cell(numbers->metrics, family, values);
}

/* What messages count, each by its lane. */
static inline struct metric_cell *numbers_lane_cell(struct numbers *numbers,
						    enum metric family,
						    const char *first,
						    const char *second,
						    const char *third)
{
	const char *const values[] = { first, second, third };

	return metrics_cell_for(numbers->metrics, family, values,
				numbers->lane_count);
}

#endif
