/*
 * sketch.h - the keys that are offered most often, in little memory: the
 * space-saving sketch of Metwally, Agrawal and El Abbadi, "Efficient
 *Computation of Frequent and Top-k Elements in Data Streams" (ICDT 2005).
 *
 * A fixed number of counters. A key that has none takes over the one that
 * stands lowest, and its count, which is then the error. So for every key
 *
 *	count - error <= how often it was offered <= count
 *
 * and one that was offered more often than the lowest count has a counter. As
 * long as there were fewer keys than counters, errors are 0.
 *
 * Threads: none of its own; callers lock.
 */
#ifndef ONCED_SKETCH_H
#define ONCED_SKETCH_H

#include <once/once.h>
#include <stdbool.h>

enum {
	SKETCH_COUNTERS = 128,
	SKETCH_KEY_SIZE = 256 /* no key of libonce's is longer */
};

struct sketch;

/* Two keys are one if kind, size, a hash of all their bytes, and the bytes that
 * are kept agree. */
struct sketch_entry {
	uint64_t count;
	uint64_t error;
	uint64_t hash;
	size_t size; /* of the whole key */
	enum once_key_kind kind;
	unsigned char key[SKETCH_KEY_SIZE]; /* its beginning */
};

/* NULL: no memory. */
struct sketch *sketch_create(void);
void sketch_destroy(struct sketch *sketch);
/* Constant time. */
void sketch_offer(struct sketch *sketch, enum once_key_kind kind,
		  struct once_bytes key);
/* What a key without a counter can have been offered at most. */
uint64_t sketch_lowest(const struct sketch *sketch);
uint64_t sketch_total(const struct sketch *sketch);
struct once_bytes sketch_entry_key(const struct sketch_entry *entry);

/* Several sketches in one list, with the same bounds as above. All zero is
 * empty. */
struct sketch_list {
	struct sketch_entry *entries;
	size_t count;
	uint64_t lowest; /* of a key that isn't in the list, at most */
	uint64_t total;  /* offers */
};

/* false: no memory, and the list is as it was. */
bool sketch_list_add(struct sketch_list *list, const struct sketch *sketch);
/* The highest counts first; of equal ones, those with the smaller error. */
void sketch_list_rank(struct sketch_list *list);
void sketch_list_fini(struct sketch_list *list);

#endif
