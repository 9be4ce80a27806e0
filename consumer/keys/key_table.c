/* Entries lie one behind the other; a table of their numbers, never more than
 * three quarters full, finds them. */
#include "key_table.h"

#include <stdlib.h>
#include <string.h>

enum {
	SMALLEST = 64
};

static uint32_t *find_slot(uint32_t *slots, size_t slot_count,
			   const struct key_entry *entries,
			   const uint32_t digest[4])
{
	size_t at = ((size_t)digest[0] << 32 | digest[1]) & (slot_count - 1);

	while (slots[at] != 0 && memcmp(entries[slots[at] - 1].digest, digest,
					sizeof(entries[0].digest)) != 0)
		at = (at + 1) & (slot_count - 1);
	return &slots[at];
}

static bool grow_slots(struct key_table *table)
{
	size_t count =
		table->slot_count == 0 ? SMALLEST : 2 * table->slot_count;
	uint32_t *slots;

	if (4 * (table->count + 1) <= 3 * table->slot_count)
		return true;
	slots = calloc(count, sizeof(*slots));
	if (slots == NULL)
		return false;
	for (size_t i = 0; i < table->count; i++)
		*find_slot(slots, count, table->entries,
			   table->entries[i].digest) = (uint32_t)i + 1;
	free(table->slots);
	table->slots = slots;
	table->slot_count = count;
	return true;
}

static bool grow_entries(struct key_table *table)
{
	size_t capacity = table->capacity + table->capacity / 2 + SMALLEST;
	struct key_entry *entries;

	if (table->count < table->capacity)
		return true;
	if (capacity >= KEY_TABLE_NOBODY)
		return false;
	entries = realloc(table->entries, capacity * sizeof(*entries));
	if (entries == NULL)
		return false;
	table->entries = entries;
	table->capacity = capacity;
	return true;
}

static struct key_entry *see_again(struct key_table *table,
				   struct key_entry *entry, uint32_t place)
{
	entry->seen++;
	if (entry->place != place && !entry->elsewhere) {
		entry->elsewhere = 1;
		table->elsewhere++;
	}
	return entry;
}

struct key_entry *key_table_see(struct key_table *table,
				const unsigned char digest[16], uint32_t place)
{
	struct key_entry *entry;
	uint32_t words[4];
	uint32_t *slot;

	memcpy(words, digest, sizeof(words));
	if (!grow_slots(table) || !grow_entries(table))
		return NULL;
	slot = find_slot(table->slots, table->slot_count, table->entries,
			 words);
	if (*slot != 0)
		return see_again(table, &table->entries[*slot - 1], place);
	entry = &table->entries[table->count++];
	memcpy(entry->digest, words, sizeof(words));
	entry->claim = KEY_TABLE_NOBODY;
	entry->place = place;
	entry->seen = 1;
	entry->elsewhere = 0;
	*slot = (uint32_t)table->count;
	return entry;
}

void key_table_fini(struct key_table *table)
{
	free(table->entries);
	free(table->slots);
	*table = (struct key_table){ 0 };
}
