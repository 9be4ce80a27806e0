/*
 * describe.h - /status: the running process in one JSON object, for `onced
 * status`, `onced top`, the page for people, and scripts. Counts are since the
 * process started, and never reset.
 *
 * Threads: admin.
 */
#ifndef ONCED_DESCRIBE_H
#define ONCED_DESCRIBE_H

#include "config.h"

struct lane;
struct numbers;
struct source;
struct text;

struct described {
	const struct config *cfg;
	struct numbers *numbers;
	struct source *source;
	struct lane *const *lanes;
	unsigned lane_count;
	const struct once_prefilter *prefilter; /* NULL: none */
	int64_t started_ms;                     /* monotonic */
};

/* `why`: a line for each reason not to be ready. */
void describe_process(const struct described *described, bool ready,
		      const char *why, struct text *json);

#endif
