/*
 * Buckets of eight places. A key belongs into one bucket; the first cache line
 * of it has the eight tags, so that a look at a key that isn't there touches
 * one line, and else two. A full bucket gives up the place that its hand meets
 * first and that was not looked at since the hand came by last.
 */
#include "marks.h"

#include "clock.h"
#include "scope.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	BUCKET_PLACES = 8,
	COUNT_LOCKS = 64, /* a power of two */
	LINE_SIZE = 64,
	HUGE_PAGE_SIZE = 1 << 21,
	SECONDS_BITS = 28,
	FOR_EVER = (1 << SECONDS_BITS) - 1, /* eight years on */
};

struct place {
	uint64_t rest;  /* of the key, beside its tag */
	int64_t tenure; /* never 0 */
	int64_t offset;
	uint64_t other;
	unsigned char fingerprint[ONCE__FINGERPRINT_SIZE];
	unsigned until_s : SECONDS_BITS; /* since the table was made */
	unsigned has_fingerprint : 1;
	unsigned has_result : 1;
	unsigned was_looked_at : 1;
};

struct bucket {
	uint64_t tags[BUCKET_PLACES]; /* 0: a free place */
	struct place places[BUCKET_PLACES];
};

_Static_assert(sizeof(struct bucket) % LINE_SIZE == 0, "tags are a line");

struct lock {
	_Alignas(LINE_SIZE) pthread_mutex_t mutex;
	unsigned hand; /* of all its buckets: which place goes next */
};

struct once__marks {
	struct bucket *buckets;
	size_t count;
	int64_t made_ms;
	struct lock locks[COUNT_LOCKS];
};

/* ---- making ---- */

/* Looks go all over it, so its pages are as large as the system has them. */
static struct bucket *make_buckets(size_t count)
{
	size_t size = count * sizeof(struct bucket);
	size_t whole =
		(size + HUGE_PAGE_SIZE - 1) / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE;
	struct bucket *buckets;

	if (size < HUGE_PAGE_SIZE)
		whole = size;
	buckets = aligned_alloc(
		size < HUGE_PAGE_SIZE ? LINE_SIZE : HUGE_PAGE_SIZE, whole);
	if (buckets == NULL)
		return NULL;
	if (size >= HUGE_PAGE_SIZE)
		(void)madvise(buckets, whole, MADV_HUGEPAGE);
	memset(buckets, 0, size);
	return buckets;
}

struct once__marks *once__marks_create(size_t max_bytes)
{
	struct once__marks *marks = aligned_alloc(LINE_SIZE, sizeof(*marks));
	size_t count = max_bytes / sizeof(struct bucket) + 1;

	if (marks == NULL)
		return NULL;
	memset(marks, 0, sizeof(*marks));
	marks->buckets = make_buckets(count);
	if (marks->buckets == NULL) {
		free(marks);
		return NULL;
	}
	marks->count = count;
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
	return marks->count * BUCKET_PLACES;
}

/* ---- a key's bucket ---- */

/* In two: the tag, which also chooses the bucket, and the rest. */
static uint64_t tag_of(const struct once__digest *key)
{
	return once__digest_short(key);
}

static uint64_t rest_of(const struct once__digest *key)
{
	uint64_t rest;

	memcpy(&rest, key->bytes + sizeof(rest), sizeof(rest));
	return rest;
}

static size_t bucket_of(const struct once__marks *marks, uint64_t tag)
{
	return (size_t)((tag >> 32) * marks->count >> 32);
}

static struct lock *lock_of(struct once__marks *marks, size_t bucket)
{
	return &marks->locks[bucket & (COUNT_LOCKS - 1)];
}

static unsigned now_s(const struct once__marks *marks)
{
	return (unsigned)((clock_ms() - marks->made_ms) / 1000);
}

/* BUCKET_PLACES: it isn't there. */
static int find_place(const struct bucket *bucket, uint64_t tag, uint64_t rest)
{
	int i = 0;

	while (i < BUCKET_PLACES &&
	       (bucket->tags[i] != tag || bucket->places[i].rest != rest))
		i++;
	return i;
}

void once__marks_prefetch(const struct once__marks *marks,
			  const struct once__digest *key)
{
	__builtin_prefetch(marks->buckets[bucket_of(marks, tag_of(key))].tags);
}

/* ---- finding ---- */

static bool is_over(const struct once__marks *marks, const struct place *place)
{
	return place->until_s != FOR_EVER && place->until_s <= now_s(marks);
}

bool once__marks_find(struct once__marks *marks, const struct once__digest *key,
		      struct once__mark *ret_mark)
{
	uint64_t tag = tag_of(key);
	size_t at = bucket_of(marks, tag);
	struct bucket *bucket = &marks->buckets[at];
	scoped_lock pthread_mutex_t *held =
		scope_locked(&lock_of(marks, at)->mutex);
	int i = find_place(bucket, tag, rest_of(key));
	struct place *place = &bucket->places[i];

	(void)held;
	if (i == BUCKET_PLACES || is_over(marks, place))
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

/* The hand passes over what was looked at, but only once. */
static int give_up_one(struct bucket *bucket, unsigned *hand)
{
	for (;;) {
		int i = (int)((*hand)++ % BUCKET_PLACES);

		if (bucket->tags[i] == 0 || !bucket->places[i].was_looked_at)
			return i;
		bucket->places[i].was_looked_at = 0;
	}
}

static int choose_place(struct bucket *bucket, uint64_t tag, uint64_t rest,
			unsigned *hand)
{
	int i = find_place(bucket, tag, rest);

	for (int j = 0; i == BUCKET_PLACES && j < BUCKET_PLACES; j++)
		if (bucket->tags[j] == 0)
			return j;
	return i == BUCKET_PLACES ? give_up_one(bucket, hand) : i;
}

static unsigned until_s(const struct once__marks *marks, int64_t life_ms)
{
	int64_t until = now_s(marks) + life_ms / 1000;

	return life_ms < 0 || until >= FOR_EVER ? FOR_EVER : (unsigned)until;
}

void once__marks_put(struct once__marks *marks, const struct once__digest *key,
		     const struct once__mark *mark, int64_t life_ms)
{
	uint64_t tag = tag_of(key);
	size_t at = bucket_of(marks, tag);
	struct bucket *bucket = &marks->buckets[at];
	struct lock *lock = lock_of(marks, at);
	scoped_lock pthread_mutex_t *held = scope_locked(&lock->mutex);
	int i = choose_place(bucket, tag, rest_of(key), &lock->hand);
	struct place *place = &bucket->places[i];

	(void)held;
	bucket->tags[i] = tag;
	place->rest = rest_of(key);
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
