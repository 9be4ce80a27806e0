/* arena.h - memory of one batch: taken piece by piece, given back at once. */
#ifndef ONCE_ARENA_H
#define ONCE_ARENA_H

#include <once/types.h>

struct arena_block;

/* All zero is an empty arena. */
struct arena {
	struct arena_block *blocks; /* the one in use first */
	size_t used;
};

/* Aligned for any type; not zeroed. NULL: no memory. */
void *arena_take(struct arena *arena, size_t size);
void *arena_take_zeroed(struct arena *arena, size_t count, size_t size);
/* A copy with a NUL behind it. */
char *arena_copy(struct arena *arena, struct once_bytes bytes);
/* Everything taken becomes invalid; one block is kept for the next batch. */
void arena_reset(struct arena *arena);
void arena_fini(struct arena *arena);

#endif
