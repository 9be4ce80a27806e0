/*
 * A brake: when message after message ends dead of one cause, it isn't the
 * messages, and a topic would go into the dead letters while people sleep. The
 * idea to hold: what counts is what is committed, in all sessions of the route;
 * a handled message in between begins anew.
 */
#include "batch.h"

#include "outcome.h"

#include <stdio.h>

static bool is_dead(const struct once__work *work)
{
	return work->planned != ONCE_WAITING_ENDING &&
	       once__work_is_parked(work);
}

/* Those that are parked already fill nothing. */
static bool is_counted(const struct once__work *work)
{
	return work->route->halt_after_dead != 0 && !work->item->parked &&
	       work->strand != ONCE__NO_STRAND;
}

static struct once__streak streak_after(struct once__streak streak,
					const struct once__work *work)
{
	if (work->planned == ONCE_HANDLED_ENDING)
		return (struct once__streak){ ONCE_CAUSE_NONE, 0 };
	if (!is_dead(work))
		return streak;
	if (streak.cause != work->item->cause)
		streak = (struct once__streak){ work->item->cause, 0 };
	streak.count++;
	return streak;
}

static void decide_brake(struct once__work *work)
{
	struct once_item *item = work->item;
	char why[ONCE_REASON_SIZE];

	snprintf(why, sizeof(why), "%s", item->reason);
	snprintf(item->reason, sizeof(item->reason),
		 "%u messages in a row ended dead (%s), and this one would: "
		 "%.80s%scorrect that and restart, or raise halt_after_dead",
		 work->route->halt_after_dead, once_cause_word(item->cause),
		 why, why[0] == '\0' ? "" : "; ");
	once__outcome_decide(work, ONCE__OUTCOME_BRAKED);
}

static void begin_streaks(struct once__batch *batch)
{
	struct once_session *session = batch->session;

	for (size_t i = 0; i < session->route_count; i++)
		session->streaks[i] =
			atomic_load(&session->routes[i]->shared->streak);
	for (size_t i = 0; i < batch->move_count; i++)
		batch->moves[i].braked = false;
}

/* One that would be one too many stops its strand; true: there is one. */
bool once__batch_brake(struct once__batch *batch, size_t from, size_t to)
{
	bool braked = false;

	begin_streaks(batch);
	for (size_t i = from; i < to; i++) {
		struct once__work *work = &batch->works[i];
		struct once__streak *streak =
			&batch->session->streaks[work->item->route];
		struct once__streak after = streak_after(*streak, work);

		if (!is_counted(work) || batch->moves[work->strand].braked)
			continue;
		if (after.count > work->route->halt_after_dead) {
			decide_brake(work);
			batch->moves[work->strand].braked = true;
			braked = true;
		} else {
			*streak = after;
		}
	}
	return braked;
}

void once__batch_count_dead(struct once__batch *batch, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		const struct once__work *work = &batch->works[i];
		_Atomic struct once__streak *shared =
			&work->route->shared->streak;
		struct once__streak before;

		if (!is_counted(work) ||
		    (work->planned != ONCE_HANDLED_ENDING && !is_dead(work)))
			continue;
		before = atomic_load_explicit(shared, memory_order_relaxed);
		if (before.count == 0 && work->planned == ONCE_HANDLED_ENDING)
			continue;
		atomic_store(shared, streak_after(before, work));
	}
}
