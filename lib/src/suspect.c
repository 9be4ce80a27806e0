/* A short table, looked into only where somebody was suspected before. */
#include "suspect.h"

#include "hash.h"

#include <string.h>

enum {
	PROVEN = 3,    /* failures, where others commit */
	PRESUMED = 10, /* where nothing else tells */
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
						.commits = suspects->commits };
	}
	suspects->count++;
	suspect->failures++;
	suspect->explained = explained;
	suspect->failure = *failure;
	suspect->failure.class = ONCE__PG_MESSAGE;
	return suspect;
}

static bool others_commit(const struct once__suspects *suspects,
			  const struct once__suspect *suspect)
{
	return suspects->commits != suspect->commits;
}

static unsigned failures_needed(const struct once__suspects *suspects,
				const struct once__suspect *suspect)
{
	return suspect->explained && others_commit(suspects, suspect)
		       ? PROVEN
		       : PRESUMED;
}

bool once__suspect_is_strong(const struct once__suspect *suspect)
{
	return suspect->explained || suspect->failures >= PROVEN;
}

bool once__suspect_is_proven(const struct once__suspects *suspects,
			     const struct once__suspect *suspect)
{
	return suspect->failures >= failures_needed(suspects, suspect);
}

void once__suspect_pay(const struct once__suspects *suspects,
		       struct once__suspect *suspect)
{
	suspect->failures = others_commit(suspects, suspect)
				    ? failures_needed(suspects, suspect) - 1
				    : 0;
	suspect->commits = suspects->commits;
}
