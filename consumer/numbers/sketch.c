/* Counters of equal count stand in one group, and the groups in the order of
 * their counts: one up is one step to the next group, and the lowest counter is
 * at hand. Counters that nobody has yet stand in the group of 0. */
#include "sketch.h"

#include "bytes.h"

#include <stdlib.h>

enum {
	NONE = -1,
	COUNT_HEADS = 256, /* a power of two */
	COUNT_GROUPS = SKETCH_COUNTERS + 1
};

struct counter {
	struct sketch_entry entry;
	int group;
	int before; /* in the group */
	int behind;
	int same; /* the next one with the same head; NONE: the last one */
};

struct group {
	uint64_t count;
	int first; /* a counter */
	int lower; /* groups */
	int higher;
};

struct sketch {
	uint64_t total;
	int lowest; /* group */
	int spare;  /* groups that aren't in use, by `higher` */
	int heads[COUNT_HEADS];
	struct group groups[COUNT_GROUPS];
	struct counter counters[SKETCH_COUNTERS];
};

/* ---- which key ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
	return hash ^ hash >> 29;
}

/* Not for secrets: whoever makes two keys collide has one line of a table. */
static uint64_t hash_of(enum once_key_kind kind, struct once_bytes key)
{
	const unsigned char *at = key.data;
	uint64_t hash = mix((uint64_t)kind + 1, key.size);
	size_t left = key.size;
	uint64_t word;

	for (; left >= sizeof(word); left -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mix(hash, word);
		at += sizeof(word);
	}
	word = 0;
	if (left > 0)
		memcpy(&word, at, left);
	return mix(mix(hash, word), 0);
}

static size_t kept_of(size_t size)
{
	return size < SKETCH_KEY_SIZE ? size : SKETCH_KEY_SIZE;
}

struct once_bytes sketch_entry_key(const struct sketch_entry *entry)
{
	return bytes_of(entry->key, kept_of(entry->size));
}

static bool is_of(const struct sketch_entry *entry, uint64_t hash,
		  enum once_key_kind kind, struct once_bytes key)
{
	return entry->hash == hash && entry->kind == kind &&
	       entry->size == key.size &&
	       memcmp(entry->key, key.data, kept_of(key.size)) == 0;
}

static int *head_of(struct sketch *sketch, uint64_t hash)
{
	return &sketch->heads[hash & (COUNT_HEADS - 1)];
}

static int find(const struct sketch *sketch, uint64_t hash,
		enum once_key_kind kind, struct once_bytes key)
{
	int i = sketch->heads[hash & (COUNT_HEADS - 1)];

	while (i != NONE && !is_of(&sketch->counters[i].entry, hash, kind, key))
		i = sketch->counters[i].same;
	return i;
}

static void forget_key(struct sketch *sketch, int i)
{
	int *link = head_of(sketch, sketch->counters[i].entry.hash);

	while (*link != i)
		link = &sketch->counters[*link].same;
	*link = sketch->counters[i].same;
}

static void give_key(struct sketch *sketch, int i, uint64_t hash,
		     enum once_key_kind kind, struct once_bytes key)
{
	struct counter *counter = &sketch->counters[i];
	int *head = head_of(sketch, hash);

	counter->entry.error = counter->entry.count;
	counter->entry.hash = hash;
	counter->entry.kind = kind;
	counter->entry.size = key.size;
	memcpy(counter->entry.key, key.data, kept_of(key.size));
	counter->same = *head;
	*head = i;
}

/* ---- groups ---- */

static void join_group(struct sketch *sketch, int i, int group)
{
	struct counter *counter = &sketch->counters[i];

	counter->group = group;
	counter->before = NONE;
	counter->behind = sketch->groups[group].first;
	if (counter->behind != NONE)
		sketch->counters[counter->behind].before = i;
	sketch->groups[group].first = i;
}

/* An empty group between `lower` and what is above it. */
static int add_group(struct sketch *sketch, int lower, uint64_t count)
{
	int made = sketch->spare;
	struct group *group = &sketch->groups[made];

	sketch->spare = group->higher;
	group->count = count;
	group->first = NONE;
	group->lower = lower;
	group->higher = sketch->groups[lower].higher;
	if (group->higher != NONE)
		sketch->groups[group->higher].lower = made;
	sketch->groups[lower].higher = made;
	return made;
}

/* There is one above it: the counter that left it went there. */
static void remove_group(struct sketch *sketch, int removed)
{
	struct group *group = &sketch->groups[removed];

	sketch->groups[group->higher].lower = group->lower;
	if (group->lower == NONE)
		sketch->lowest = group->higher;
	else
		sketch->groups[group->lower].higher = group->higher;
	group->higher = sketch->spare;
	sketch->spare = removed;
}

static void leave_group(struct sketch *sketch, int i)
{
	struct counter *counter = &sketch->counters[i];

	if (counter->behind != NONE)
		sketch->counters[counter->behind].before = counter->before;
	if (counter->before != NONE)
		sketch->counters[counter->before].behind = counter->behind;
	else
		sketch->groups[counter->group].first = counter->behind;
	if (sketch->groups[counter->group].first == NONE)
		remove_group(sketch, counter->group);
}

static void count_one(struct sketch *sketch, int i)
{
	int group = sketch->counters[i].group;
	int higher = sketch->groups[group].higher;
	uint64_t count = ++sketch->counters[i].entry.count;

	if (higher == NONE || sketch->groups[higher].count != count)
		higher = add_group(sketch, group, count);
	leave_group(sketch, i);
	join_group(sketch, i, higher);
}

/* ---- the sketch ---- */

struct sketch *sketch_create(void)
{
	struct sketch *sketch = calloc(1, sizeof(*sketch));

	if (sketch == NULL)
		return NULL;
	for (int i = 0; i < COUNT_HEADS; i++)
		sketch->heads[i] = NONE;
	for (int i = 0; i < COUNT_GROUPS; i++)
		sketch->groups[i] =
			(struct group){ 0, NONE, NONE,
					i + 1 < COUNT_GROUPS ? i + 1 : NONE };
	sketch->lowest = 0;
	sketch->spare = 1;
	sketch->groups[0].higher = NONE;
	for (int i = 0; i < SKETCH_COUNTERS; i++)
		join_group(sketch, i, 0);
	return sketch;
}

void sketch_destroy(struct sketch *sketch)
{
	free(sketch);
}

void sketch_offer(struct sketch *sketch, enum once_key_kind kind,
		  struct once_bytes key)
{
	uint64_t hash;
	int i;

	if (key.data == NULL)
		return;
	hash = hash_of(kind, key);
	i = find(sketch, hash, kind, key);
	if (i == NONE) {
		i = sketch->groups[sketch->lowest].first;
		if (sketch->counters[i].entry.count > 0)
			forget_key(sketch, i);
		give_key(sketch, i, hash, kind, key);
	}
	count_one(sketch, i);
	sketch->total++;
}

uint64_t sketch_lowest(const struct sketch *sketch)
{
	return sketch->groups[sketch->lowest].count;
}

uint64_t sketch_total(const struct sketch *sketch)
{
	return sketch->total;
}

/* ---- several ---- */

/* What the sketch knows of an entry; of one it doesn't: its lowest count, which
 * may all be wrong. */
static void add_to_entry(struct sketch_entry *entry,
			 const struct sketch *sketch,
			 bool listed[SKETCH_COUNTERS])
{
	int i = find(sketch, entry->hash, entry->kind,
		     bytes_of(entry->key, entry->size));
	uint64_t lowest = sketch_lowest(sketch);

	if (i != NONE)
		listed[i] = true;
	entry->count += i == NONE ? lowest : sketch->counters[i].entry.count;
	entry->error += i == NONE ? lowest : sketch->counters[i].entry.error;
}

bool sketch_list_add(struct sketch_list *list, const struct sketch *sketch)
{
	bool listed[SKETCH_COUNTERS] = { false };
	struct sketch_entry *entries =
		realloc(list->entries, (list->count + SKETCH_COUNTERS) *
					       sizeof(*list->entries));

	if (entries == NULL)
		return false;
	list->entries = entries;
	for (size_t i = 0; i < list->count; i++)
		add_to_entry(&entries[i], sketch, listed);
	for (int i = 0; i < SKETCH_COUNTERS; i++) {
		const struct sketch_entry *entry = &sketch->counters[i].entry;

		if (entry->count == 0 || listed[i])
			continue;
		entries[list->count] = *entry;
		entries[list->count].count += list->lowest;
		entries[list->count++].error += list->lowest;
	}
	list->lowest += sketch_lowest(sketch);
	list->total += sketch->total;
	return true;
}

static int compare_entries(const void *first, const void *second)
{
	const struct sketch_entry *a = first;
	const struct sketch_entry *b = second;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->error != b->error)
		return a->error < b->error ? -1 : 1;
	return bytes_compare(sketch_entry_key(a), sketch_entry_key(b));
}

void sketch_list_rank(struct sketch_list *list)
{
	if (list->count > 0)
		qsort(list->entries, list->count, sizeof(*list->entries),
		      compare_entries);
}

void sketch_list_fini(struct sketch_list *list)
{
	free(list->entries);
	*list = (struct sketch_list){ 0 };
}
