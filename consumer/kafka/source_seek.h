/* source_seek.h - for `onced seek`: what a place in a topic is in offsets. */
#ifndef ONCED_SOURCE_SEEK_H
#define ONCED_SOURCE_SEEK_H

#include "config.h"

#include <once/types.h>

struct seek_request {
	const char *topic;
	int32_t partition; /* -1: all */
	const char *to;    /* "earliest", "latest", an offset, "@TIME" */
};

/* Ask Kafka. `ret_offsets`: by partition, -1 where it isn't asked for; the
 * caller's. Threads: main. TRANSIENT: no broker answers. INVALID: there is no
 * such place. FENCED: the group has members. */
enum once_status source_find_offsets(const struct config *cfg,
				     const struct seek_request *request,
				     int64_t **ret_offsets, size_t *ret_count,
				     struct once_error *err);

#endif
