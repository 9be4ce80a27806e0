/*
 * Who is to be tried alone? The idea to hold: a try that ended with the
 * server's fault tells at most one name. The others go first, and so do nothing
 * but wait for as long as it really is the server's.
 */
#include "batch.h"

#include "call.h"

#include <string.h>

/* A disk that is full refuses whoever needs a new page, not whoever is wrong.
 */
static bool is_everybodys(const struct once__pg_failure *failure)
{
	return strcmp(failure->sqlstate, "53100") == 0;
}

void once__batch_suspect(struct once__batch *batch, size_t from, size_t to)
{
	struct once_session *session = batch->session;
	const struct once__pg_failure *failure = &batch->last;
	bool explained = failure->tag != ONCE__PG_OURS &&
			 failure->tag != ONCE__PG_SHARED;
	bool unclear = failure->tag == ONCE__PG_SHARED ||
		       once__pg_is_lost(session->pg) ||
		       once__sqlstate_is(failure->sqlstate, "57P");

	if (is_everybodys(failure) || (!explained && !unclear))
		return;
	if (explained)
		once__suspects_add(&session->suspects,
				   &batch->works[failure->tag], failure, true);
	else if (to - from == 1)
		once__suspects_add(&session->suspects, &batch->works[from],
				   failure, false);
	if (!explained)
		session->most_at_once = (to - from + 1) / 2;
}

static void decide_suspect(struct once_session *session,
			   struct once__work *work)
{
	struct once__suspect *suspect =
		once__suspects_find(&session->suspects, work);

	if (suspect == NULL || !once__suspect_is_strong(suspect))
		return;
	if (once__suspect_is_proven(suspect)) {
		once__call_fail_late(work, &suspect->failure);
		once__suspect_pay(suspect);
		return;
	}
	work->suspect = suspect;
	work->decided = ONCE_HELD_ENDING;
}

void once__batch_set_aside(struct once__batch *batch)
{
	if (batch->session->suspects.count == 0)
		return;
	for (size_t i = 0; i < batch->count; i++)
		if (batch->works[i].decided == ONCE_PENDING_ENDING)
			decide_suspect(batch->session, &batch->works[i]);
}

bool once__batch_take_back(struct once__batch *batch, size_t at)
{
	struct once__work *work = &batch->works[at];

	for (size_t i = 0; i < at && work->strand != ONCE__NO_STRAND; i++)
		if (batch->works[i].strand == work->strand &&
		    !once_ending_is_final(batch->works[i].item->ending))
			return false;
	if (work->strand != ONCE__NO_STRAND)
		batch->moves[work->strand].was_stopped = false;
	work->decided = ONCE_PENDING_ENDING;
	work->item->ending = ONCE_PENDING_ENDING;
	return true;
}
