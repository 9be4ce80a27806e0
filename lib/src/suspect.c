/* A short table, looked into only where somebody was suspected before. */
#include "suspect.h"

#include "hash.h"
#include "route.h"

#include <string.h>

enum {
	PROVEN = 3,    /* failures, where others commit */
	ALONE = 5,     /* where there are no others */
	PRESUMED = 10, /* where others fail, too, or nobody has said why */
	LESS = 2,      /* failures that lead to the next attempt */
	COUNT_SUSPECTS = sizeof(((struct once__suspects *)0)->table) /
			 sizeof(struct once__suspect)
};

static uint64_t place_of(const struct once__work *work)
{
	const struct once_record *record = work->msg.record;
	uint64_t parts[4] = {
		once__hash64(record->topic, strlen(record->topic)),
		(uint64_t)record->partition, (uint64_t)record->offset,
		(uint64_t)work->consumer_id
	};
	uint64_t place = once__hash64(parts, sizeof(parts));

	return place == 0 ? 1 : place;
}

struct once__suspect *once__suspects_find(struct once__suspects *suspects,
					  const struct once__work *work)
{
	uint64_t place;

	if (suspects->count == 0)
		return NULL;
	place = place_of(work);
	for (size_t i = 0; i < COUNT_SUSPECTS; i++)
		if (suspects->table[i].place == place)
			return &suspects->table[i];
	return NULL;
}

static bool others_commit(const struct once__suspect *suspect)
{
	return atomic_load(&suspect->shared->commits) != suspect->commits;
}

static bool others_fail(const struct once__suspect *suspect)
{
	return atomic_load(&suspect->shared->suspicions) -
		       suspect->suspicions !=
	       suspect->own;
}

static unsigned failures_needed(const struct once__suspect *suspect)
{
	if (!suspect->explained)
		return PRESUMED;
	if (others_commit(suspect))
		return PROVEN;
	return others_fail(suspect) ? PRESUMED : ALONE;
}

bool once__suspect_is_strong(const struct once__suspect *suspect)
{
	return suspect->explained || suspect->failures >= PROVEN;
}

bool once__suspect_is_proven(const struct once__suspect *suspect)
{
	return suspect->failures >= failures_needed(suspect);
}

static void begin_anew(struct once__suspect *suspect)
{
	suspect->commits = atomic_load(&suspect->shared->commits);
	suspect->suspicions = atomic_load(&suspect->shared->suspicions);
	suspect->own = 0;
}

void once__suspect_pay(struct once__suspect *suspect)
{
	bool convincing = others_commit(suspect) || !others_fail(suspect);

	suspect->failures = convincing ? failures_needed(suspect) - LESS : 0;
	begin_anew(suspect);
}

struct once__suspect *once__suspects_add(struct once__suspects *suspects,
					 const struct once__work *work,
					 const struct once__pg_failure *failure,
					 bool explained)
{
	struct once__suspect *suspect = once__suspects_find(suspects, work);

	if (suspect == NULL) {
		suspect = &suspects->table[suspects->next];
		suspects->next = (suspects->next + 1) % COUNT_SUSPECTS;
		*suspect =
			(struct once__suspect){ .place = place_of(work),
						.shared = work->route->shared };
		begin_anew(suspect);
	}
	atomic_fetch_add(&suspect->shared->suspicions, 1);
	suspect->own++;
	suspect->failures++;
	suspects->count++;
	suspect->explained = explained;
	suspect->failure = *failure;
	suspect->failure.class = ONCE__PG_MESSAGE;
	return suspect;
}
