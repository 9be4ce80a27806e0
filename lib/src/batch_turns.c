/* Whose turn is it to run transactions of a route? Asked in one order of
 * routes, like all that is locked. */
#include "batch.h"

#include "turns.h"

/* Above READ COMMITTED it would wait with its eyes shut: see turns.h. */
static bool may_help(const struct once__batch *batch)
{
	return batch->session->isolation == ONCE_READ_COMMITTED;
}

static bool is_tried(const struct once__work *work)
{
	return work->planned == ONCE_HANDLED_ENDING;
}

void once__batch_meet(struct once__batch *batch, size_t from, size_t to)
{
	int64_t now_ms = clock_ms();

	if (!may_help(batch) ||
	    !once__sqlstate_is(batch->last.sqlstate, "40P01"))
		return;
	for (size_t i = from; i < to; i++)
		if (is_tried(&batch->works[i]))
			once__turns_meet(&batch->works[i].route->shared->turns,
					 now_ms);
}

/* A message of that route that takes turns which has the lowest number behind
 * `after`; NULL: there is none. */
static const struct once__work *next_route(const struct once__batch *batch,
					   size_t from, size_t to,
					   int64_t after, int64_t now_ms)
{
	const struct once__work *next = NULL;

	for (size_t i = from; i < to; i++) {
		const struct once__work *work = &batch->works[i];

		if (work->consumer_id > after &&
		    (next == NULL || work->consumer_id < next->consumer_id) &&
		    is_tried(work) &&
		    once__turns_are_taken(&work->route->shared->turns, now_ms))
			next = work;
	}
	return next;
}

static bool takes_turns(const struct once_session *session, int64_t now_ms)
{
	for (size_t i = 0; i < session->route_count; i++)
		if (once__turns_are_taken(&session->routes[i]->shared->turns,
					  now_ms))
			return true;
	return false;
}

void once__batch_take_turns(struct once__batch *batch, size_t from, size_t to)
{
	const struct once__work *work;
	int64_t now_ms = clock_ms();
	int64_t after = 0;

	if (!may_help(batch) || !takes_turns(batch->session, now_ms))
		return;
	while ((work = next_route(batch, from, to, after, now_ms)) != NULL) {
		struct once__turns *turns = &work->route->shared->turns;

		after = work->consumer_id;
		if (batch->probed == NULL &&
		    once__turns_begin_probe(turns, now_ms))
			batch->probed = turns;
		else
			once__turns_take(batch->session->pg, after);
	}
}

void once__batch_end_turn(struct once__batch *batch)
{
	if (batch->probed != NULL)
		once__turns_end_probe(batch->probed);
	batch->probed = NULL;
}
