/*
 * marks.h - the local prefilter: marks in the process's memory, as many as its
 * bound allows. New ones push out old ones.
 *
 * Threads: any; all lanes share it, for an operation comes back in whatever
 * partition it likes.
 */
#ifndef ONCE__MARKS_H
#define ONCE__MARKS_H

#include "mark.h"

struct once__marks;

/* NULL: no memory. Less than a few KiB is rounded up. */
struct once__marks *once__marks_create(size_t max_bytes);
void once__marks_destroy(struct once__marks *marks);

/* Soon it will be looked for. */
void once__marks_prefetch(const struct once__marks *marks,
			  const struct once__digest *key);
bool once__marks_find(struct once__marks *marks, const struct once__digest *key,
		      struct once__mark *ret_mark);
/* `life_ms`: how long it may be believed; negative: for ever. */
void once__marks_put(struct once__marks *marks, const struct once__digest *key,
		     const struct once__mark *mark, int64_t life_ms);

/* How many there is room for. */
size_t once__marks_capacity(const struct once__marks *marks);

#endif
