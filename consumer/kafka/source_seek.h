/* source_seek.h - for `onced seek`: what a place in a topic is in offsets, and
 * what stands there. */
#ifndef ONCED_SOURCE_SEEK_H
#define ONCED_SOURCE_SEEK_H

#include "config.h"

#include <once/once.h>

struct seek_request {
	const char *topic;
	int32_t partition; /* -1: all */
	const char *to; /* "earliest", "latest", "group", an offset, "@TIME" */
	/* The group's rows, by partition; there may be more partitions. */
	const struct once_position *positions;
	size_t position_count;
};

/* Is a partition's log the one that its position is of? */
enum seek_log {
	SEEK_LOG_SAME,     /* or it has no anchor that could tell */
	SEEK_LOG_UNPROVEN, /* what was handled last has been removed */
	SEEK_LOG_ANOTHER
};

struct seek_place {
	int64_t offset; /* -1: it stays */
	/* From there on all messages are younger, by Kafka's time, than the
	 * retention: what was handled of them is in the log. */
	int64_t remembered;
	enum seek_log log;
};

/* Ask Kafka. `ret_places`: by partition; the caller's. Threads: main.
 * TRANSIENT: no broker answers. INVALID: there is no such place. FENCED: the
 * group has members. */
enum once_status source_find_places(const struct config *cfg,
				    const struct seek_request *request,
				    struct seek_place **ret_places,
				    size_t *ret_count, struct once_error *err);

#endif
