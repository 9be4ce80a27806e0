/* Whose turn is it to run transactions of a route? Asked in one order of
 * routes, like all that is locked. */
#include "batch.h"

#include "turns.h"

#include <string.h>

/* What the session does about a route, in one try. */
enum {
	NO_MESSAGE,
	GOES_LOOSE,
	TAKES_IT,
	HAS_BEGUN, /* its turn, by a number of its own in the queue */
	PROBES
};

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

static void sort_routes(struct once__batch *batch, size_t from, size_t to)
{
	struct once_session *session = batch->session;
	int64_t now_ms = clock_ms();

	memset(session->turns, 0, session->route_count);
	for (size_t i = from; i < to; i++) {
		const struct once__work *work = &batch->works[i];
		char *turn = &session->turns[work->item->route];

		if (*turn == NO_MESSAGE && is_tried(work))
			*turn = once__turns_are_taken(
					&work->route->shared->turns, now_ms)
					? TAKES_IT
					: GOES_LOOSE;
	}
}

/* It began before the deadlock that makes its route take turns, and is likely
 * to be a part of the next. */
static bool is_overtaken(void *arg)
{
	struct once__batch *batch = arg;
	const struct once_session *session = batch->session;
	int64_t now_ms = clock_ms();

	for (size_t i = 0; i < session->route_count; i++)
		if (session->turns[i] == GOES_LOOSE &&
		    once__turns_are_taken(&session->routes[i]->shared->turns,
					  now_ms))
			return true;
	return false;
}

/* Of the routes in that state, the one with the lowest number above `after`;
 * route_count: there is none. Of routes that share a scope, and so a lock, one
 * is enough. */
static size_t next_route(const struct once_session *session, char state,
			 int64_t *after)
{
	size_t next = session->route_count;

	for (size_t i = 0; i < session->route_count; i++)
		if (session->turns[i] == state &&
		    session->consumer_ids[i] > *after &&
		    (next == session->route_count ||
		     session->consumer_ids[i] < session->consumer_ids[next]))
			next = i;
	if (next < session->route_count)
		*after = session->consumer_ids[next];
	return next;
}

void once__batch_begin_turn(struct once__batch *batch, size_t from, size_t to)
{
	struct once_session *session = batch->session;
	int64_t now_ms = clock_ms();
	int64_t id = 0;
	size_t next;

	if (!may_help(batch))
		return;
	sort_routes(batch, from, to);
	for (size_t i = 0; i < session->route_count; i++) {
		struct once__turns *turns = &session->routes[i]->shared->turns;

		if (session->turns[i] == GOES_LOOSE)
			atomic_fetch_add(&turns->loose, 1);
		else if (session->turns[i] == TAKES_IT &&
			 once__turns_begin_probe(turns, now_ms))
			session->turns[i] = PROBES;
	}
	while ((next = next_route(session, TAKES_IT, &id)) <
	       session->route_count) {
		once__turns_begin(&session->routes[next]->shared->turns);
		session->turns[next] = HAS_BEGUN;
	}
}

void once__batch_take_turns(struct once__batch *batch)
{
	const struct once_session *session = batch->session;
	int64_t id = 0;

	if (!may_help(batch))
		return;
	once__pg_impatient(session->pg, is_overtaken, batch);
	while (next_route(session, HAS_BEGUN, &id) < session->route_count)
		once__turns_take(session->pg, id);
}

void once__batch_end_turn(struct once__batch *batch)
{
	struct once_session *session = batch->session;

	for (size_t i = 0; i < session->route_count; i++) {
		struct once__turns *turns = &session->routes[i]->shared->turns;

		if (session->turns[i] == GOES_LOOSE)
			atomic_fetch_sub(&turns->loose, 1);
		else if (session->turns[i] == PROBES)
			once__turns_end_probe(turns);
		else if (session->turns[i] == HAS_BEGUN)
			once__turns_end(turns);
	}
	memset(session->turns, 0, session->route_count);
}
