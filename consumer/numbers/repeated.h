/*
 * repeated.h - which keys come again and again, by route, since the process
 * started. Each lane counts in sketches of its own; whoever reads adds them up.
 */
#ifndef ONCED_REPEATED_H
#define ONCED_REPEATED_H

#include <once/once.h>

struct repeated;
struct repeated_lane;
struct text;

enum {
	REPEATED_SHOWN = 20,          /* keys of a route */
	REPEATED_KEY_CHARACTERS = 64, /* of a key, as it is shown */
};

/* Memory is taken at the first repetition: about 40 KB for each route in each
 * lane that has seen one. NULL: no memory. */
struct repeated *repeated_create(size_t routes, unsigned lanes);
void repeated_destroy(struct repeated *repeated);

/* Threads: the lane's. Nobody reads what it counts until it is released: for a
 * batch, not longer. */
struct repeated_lane *repeated_hold(struct repeated *repeated, unsigned lane);
void repeated_release(struct repeated_lane *lane);
/* A duplicate or a conflict: by the key that was hit. */
void repeated_count(struct repeated_lane *lane, const struct once_item *item);

/* Threads: any. An object: {"route": …, "total": how many repetitions,
 * "unlisted_most": how often a key that isn't listed can have come,
 * "keys": [{"key", "key_kind", "count", "error"}, …]}. */
void repeated_describe(struct repeated *repeated, size_t route,
		       const char *name, struct text *json);

#endif
