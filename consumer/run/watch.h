/* watch.h - handlers that don't return: told once in the log, and in health for
 * as long as it lasts. */
#ifndef ONCED_WATCH_H
#define ONCED_WATCH_H

#include "config.h"
#include "lane.h"
#include "log_event.h"

struct text;

/* Is the call that goes on in the lane longer than its route allows? Adds who
 * and how long to `why`. Threads: any. */
bool watch_is_late(const struct config *cfg, unsigned index,
		   const struct lane_view *view, struct text *why);

/* Zeroed at first. */
struct watched_redis {
	struct log_party party;
	uint64_t errors; /* that were told */
};

/* A Redis that isn't asked now: as an event that goes on. Threads: main. */
void watch_tell_redis(const struct config *cfg,
		      const struct once_prefilter *prefilter,
		      struct watched_redis *redis);

/* Log it, unless `told_ms` (a lane's own, 0 at first) says that it was.
 * Threads: main. */
void watch_tell(const struct config *cfg, unsigned index,
		const struct lane_view *view, int64_t *told_ms);

#endif
