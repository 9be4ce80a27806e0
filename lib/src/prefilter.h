/* prefilter.h - what the sessions of a program share to stop duplicates before
 * the database is asked. Threads: any. */
#ifndef ONCE__PREFILTER_H
#define ONCE__PREFILTER_H

#include "marks.h"
#include "redis.h"

#include <once/once.h>
#include <stdatomic.h>

struct once_prefilter {
	struct once__marks *marks;     /* NULL: no local one */
	struct once__circuit *circuit; /* NULL: no Redis */
	int64_t ttl_ms;                /* of what Redis is told */
	int64_t retention_ms;          /* of a row; negative: for ever */
	bool pause;                    /* while Redis isn't there */
	atomic_bool warmed; /* somebody reads, or has read, the log */
};

/* How long a mark of a row of that age may be believed: by us, by Redis. */
int64_t once__prefilter_life_ms(const struct once_prefilter *prefilter,
				int64_t age_ms);

#endif
