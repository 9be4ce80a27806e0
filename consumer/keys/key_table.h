/*
 * key_table.h - the keys that were met, by their digests: 28 bytes each and at
 * most 11 of an index, however long the keys are. Two keys with one digest of
 * 128 bits won't be met.
 *
 * Threads: main.
 */
#ifndef ONCED_KEY_TABLE_H
#define ONCED_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_TABLE_NOBODY UINT32_MAX

struct key_entry {
	uint32_t digest[4];
	uint32_t claim; /* who has it; NOBODY: it was only seen */
	uint32_t place; /* where it was seen first */
	uint32_t seen : 31;
	uint32_t elsewhere : 1; /* and then in another place */
};

/* All zero is empty. */
struct key_table {
	struct key_entry *entries;
	size_t count;
	size_t capacity;
	uint32_t *slots; /* index + 1 of an entry; 0: free */
	size_t slot_count;
	size_t elsewhere; /* how many entries are */
};

/* The key's entry, after this sight of it; it is valid until the next one is
 * added. NULL: out of memory. */
struct key_entry *key_table_see(struct key_table *table,
				const unsigned char digest[16], uint32_t place);
void key_table_fini(struct key_table *table);

#endif
