/*
 * Buckets of eight places, a cache line each. A key belongs into one bucket, so
 * a look is one lock and at most eight comparisons; a full bucket gives up the
 * place that its hand meets first and that was not looked at since the hand
 * came by last.
 */
#include "marks.h"

#include "clock.h"
#include "scope.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUCKET_PLACES = 8,
	COUNT_LOCKS = 64, /* a power of two */
	LINE_SIZE = 64,
	SECONDS_BITS = 28,
	FOR_EVER = (1 << SECONDS_BITS) - 1, /* eight years on */
};

struct place {
	struct once__digest key;
	int64_t tenure; /* 0: free */
	int64_t offset;
	uint64_t other;
	unsigned char fingerprint[ONCE__FINGERPRINT_SIZE];
	unsigned until_s : SECONDS_BITS; /* since the table was made */
	unsigned has_fingerprint : 1;
	unsigned has_result : 1;
	unsigned was_looked_at : 1;
};

_Static_assert(sizeof(struct place) == LINE_SIZE, "a place is a cache line");

struct bucket {
	struct place places[BUCKET_PLACES];
};

struct lock {
	_Alignas(LINE_SIZE) pthread_mutex_t mutex;
	unsigned hand; /* of all its buckets: which place goes next */
};

struct once__marks {
	struct bucket *buckets;
	size_t mask; /* count - 1; the count is a power of two */
	int64_t made_ms;
	struct lock locks[COUNT_LOCKS];
};

/* ---- making ---- */

static size_t count_buckets(size_t max_bytes)
{
	size_t count = 1;

	while (2 * count * sizeof(struct bucket) <= max_bytes)
		count *= 2;
	return count;
}

struct once__marks *once__marks_create(size_t max_bytes)
{
	struct once__marks *marks = aligned_alloc(LINE_SIZE, sizeof(*marks));
	size_t count = count_buckets(max_bytes);

	if (marks == NULL)
		return NULL;
	memset(marks, 0, sizeof(*marks));
	marks->buckets =
		aligned_alloc(LINE_SIZE, count * sizeof(struct bucket));
	if (marks->buckets == NULL) {
		free(marks);
		return NULL;
	}
	memset(marks->buckets, 0, count * sizeof(struct bucket));
	marks->mask = count - 1;
	marks->made_ms = clock_ms();
	for (size_t i = 0; i < COUNT_LOCKS; i++)
		pthread_mutex_init(&marks->locks[i].mutex, NULL);
	return marks;
}

void once__marks_destroy(struct once__marks *marks)
{
	if (marks == NULL)
		return;
	for (size_t i = 0; i < COUNT_LOCKS; i++)
		pthread_mutex_destroy(&marks->locks[i].mutex);
	free(marks->buckets);
	free(marks);
}

size_t once__marks_capacity(const struct once__marks *marks)
{
	return (marks->mask + 1) * BUCKET_PLACES;
}

/* ---- a key's bucket ---- */

static size_t bucket_of(const struct once__marks *marks,
			const struct once__digest *key)
{
	return (size_t)once__digest_short(key) & marks->mask;
}

static struct lock *lock_of(struct once__marks *marks, size_t bucket)
{
	return &marks->locks[bucket & (COUNT_LOCKS - 1)];
}

static unsigned now_s(const struct once__marks *marks)
{
	return (unsigned)((clock_ms() - marks->made_ms) / 1000);
}

static struct place *find_place(struct bucket *bucket,
				const struct once__digest *key)
{
	for (int i = 0; i < BUCKET_PLACES; i++) {
		struct place *place = &bucket->places[i];

		if (place->tenure != 0 &&
		    memcmp(&place->key, key, sizeof(*key)) == 0)
			return place;
	}
	return NULL;
}

void once__marks_prefetch(const struct once__marks *marks,
			  const struct once__digest *key)
{
	const struct bucket *bucket = &marks->buckets[bucket_of(marks, key)];

	for (int i = 0; i < BUCKET_PLACES; i++)
		__builtin_prefetch(&bucket->places[i]);
}

/* ---- finding ---- */

bool once__marks_find(struct once__marks *marks, const struct once__digest *key,
		      struct once__mark *ret_mark)
{
	size_t at = bucket_of(marks, key);
	scoped_lock pthread_mutex_t *held =
		scope_locked(&lock_of(marks, at)->mutex);
	struct place *place = find_place(&marks->buckets[at], key);

	(void)held;
	if (place == NULL ||
	    (place->until_s != FOR_EVER && place->until_s <= now_s(marks)))
		return false;
	place->was_looked_at = 1;
	ret_mark->tenure = place->tenure;
	ret_mark->offset = place->offset;
	ret_mark->other = place->other;
	memcpy(ret_mark->fingerprint, place->fingerprint,
	       sizeof(place->fingerprint));
	ret_mark->has_fingerprint = place->has_fingerprint;
	ret_mark->has_result = place->has_result;
	return true;
}

/* ---- putting ---- */

static struct place *find_free(struct bucket *bucket)
{
	for (int i = 0; i < BUCKET_PLACES; i++)
		if (bucket->places[i].tenure == 0)
			return &bucket->places[i];
	return NULL;
}

/* The hand passes over what was looked at, but only once. */
static struct place *give_up_one(struct bucket *bucket, unsigned *hand)
{
	for (;;) {
		struct place *place =
			&bucket->places[(*hand)++ % BUCKET_PLACES];

		if (!place->was_looked_at)
			return place;
		place->was_looked_at = 0;
	}
}

static unsigned until_s(const struct once__marks *marks, int64_t life_ms)
{
	int64_t until = now_s(marks) + life_ms / 1000;

	return life_ms < 0 || until >= FOR_EVER ? FOR_EVER : (unsigned)until;
}

void once__marks_put(struct once__marks *marks, const struct once__digest *key,
		     const struct once__mark *mark, int64_t life_ms)
{
	size_t at = bucket_of(marks, key);
	struct bucket *bucket = &marks->buckets[at];
	struct lock *lock = lock_of(marks, at);
	scoped_lock pthread_mutex_t *held = scope_locked(&lock->mutex);
	struct place *place = find_place(bucket, key);

	(void)held;
	if (place == NULL)
		place = find_free(bucket);
	if (place == NULL)
		place = give_up_one(bucket, &lock->hand);
	place->key = *key;
	place->tenure = mark->tenure;
	place->offset = mark->offset;
	place->other = mark->other;
	memcpy(place->fingerprint, mark->fingerprint,
	       sizeof(place->fingerprint));
	place->until_s = until_s(marks, life_ms) & FOR_EVER;
	place->has_fingerprint = mark->has_fingerprint;
	place->has_result = mark->has_result;
	place->was_looked_at = 0;
}
