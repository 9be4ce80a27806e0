/* A hash table with open addressing, at most half full. Nothing is removed, so
 * a search ends at the first free place. */
#include "name_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct name_entry {
	const char *name; /* NULL: free */
	size_t size;
	size_t number;
	uint64_t hash;
};

/* FNV-1a. The file is its owner's: nobody floods the table. */
static uint64_t hash_of(const char *name, size_t size)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)name[i]) *
		       UINT64_C(1099511628211);
	return hash;
}

/* Where it is, or would be. */
static struct name_entry *find_entry(const struct name_set *set,
				     const char *name, size_t size,
				     uint64_t hash)
{
	size_t at = (size_t)hash & (set->capacity - 1);

	for (;; at = (at + 1) & (set->capacity - 1)) {
		struct name_entry *entry = &set->entries[at];

		if (entry->name == NULL ||
		    (entry->hash == hash && entry->size == size &&
		     memcmp(entry->name, name, size) == 0))
			return entry;
	}
}

static bool grow(struct name_set *set)
{
	struct name_set grown = {
		.capacity = set->capacity == 0 ? 16 : set->capacity * 2,
		.count = set->count,
	};

	grown.entries = calloc(grown.capacity, sizeof(*grown.entries));
	if (grown.entries == NULL) {
		set->broken = true;
		return false;
	}
	for (size_t i = 0; i < set->capacity; i++) {
		const struct name_entry *entry = &set->entries[i];

		if (entry->name != NULL)
			*find_entry(&grown, entry->name, entry->size,
				    entry->hash) = *entry;
	}
	free(set->entries);
	*set = grown;
	return true;
}

bool name_set_add(struct name_set *set, const char *name, size_t size,
		  size_t number, size_t *ret_first)
{
	uint64_t hash = hash_of(name, size);
	struct name_entry *entry;

	if (set->count * 2 >= set->capacity && !grow(set))
		return true;
	entry = find_entry(set, name, size, hash);
	if (entry->name != NULL) {
		if (ret_first != NULL)
			*ret_first = entry->number;
		return false;
	}
	*entry = (struct name_entry){ name, size, number, hash };
	set->count++;
	return true;
}

bool name_set_find(const struct name_set *set, const char *name, size_t size,
		   size_t *ret_number)
{
	const struct name_entry *entry;

	if (set->capacity == 0)
		return false;
	entry = find_entry(set, name, size, hash_of(name, size));
	if (entry->name == NULL)
		return false;
	*ret_number = entry->number;
	return true;
}

void name_set_fini(struct name_set *set)
{
	free(set->entries);
	*set = (struct name_set){ 0 };
}
