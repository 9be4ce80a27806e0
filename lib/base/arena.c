/* A list of blocks; taking is moving a mark. A batch takes thousands of small
 * pieces (keys, parameters) that all end together. */
#include "arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_SIZE = 256 * 1024
};

struct arena_block {
	struct arena_block *next;
	size_t size;
	alignas(max_align_t) unsigned char data[];
};

static struct arena_block *add_block(struct arena *arena, size_t at_least)
{
	size_t size = at_least > BLOCK_SIZE ? at_least : BLOCK_SIZE;
	struct arena_block *block = malloc(sizeof(*block) + size);

	if (block == NULL)
		return NULL;
	block->size = size;
	block->next = arena->blocks;
	arena->blocks = block;
	arena->used = 0;
	return block;
}

void *arena_take(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->blocks;
	void *taken;

	if (size > SIZE_MAX - alignof(max_align_t) - sizeof(*block))
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (block == NULL || block->size - arena->used < size)
		block = add_block(arena, size);
	if (block == NULL)
		return NULL;
	taken = block->data + arena->used;
	arena->used += size;
	return taken;
}

void *arena_take_zeroed(struct arena *arena, size_t count, size_t size)
{
	void *taken;

	if (size != 0 && count > SIZE_MAX / size)
		return NULL;
	taken = arena_take(arena, count * size);
	if (taken != NULL)
		memset(taken, 0, count * size);
	return taken;
}

char *arena_copy(struct arena *arena, struct once_bytes bytes)
{
	char *copy = arena_take(arena, bytes.size + 1);

	if (copy == NULL)
		return NULL;
	if (bytes.size > 0)
		memcpy(copy, bytes.data, bytes.size);
	copy[bytes.size] = '\0';
	return copy;
}

static void free_blocks(struct arena_block *block)
{
	while (block != NULL) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
}

void arena_reset(struct arena *arena)
{
	struct arena_block *kept = arena->blocks;

	arena->used = 0;
	if (kept == NULL)
		return;
	free_blocks(kept->next);
	kept->next = NULL;
	if (kept->size > BLOCK_SIZE)
		arena_fini(arena);
}

void arena_fini(struct arena *arena)
{
	free_blocks(arena->blocks);
	arena->blocks = NULL;
	arena->used = 0;
}
