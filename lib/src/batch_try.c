/*
 * One try is one transaction: plan, claim, handle, finish, COMMIT. The idea to
 * hold: nothing a try finds out is true before its COMMIT is answered. Until
 * then it stands in `planned`, and a failed try leaves only what was `decided`
 * about the message that failed.
 */
#include "batch.h"
#include "bytes.h"
#include "call.h"
#include "error.h"
#include "fault.h"
#include "outcome.h"
#include "parked.h"

#include <stdio.h>

/* ---- plan ---- */

static void reset_work(struct once__work *work)
{
	static const struct once__keys none;

	work->first = NULL;
	work->repeated = false;
	work->known = false;
	work->claimed = false;
	work->lost = false;
	work->shares = false;
	work->stored = none;
	work->stored_result = bytes_of(NULL, 0);
	work->result = bytes_of(NULL, 0);
	work->planned = work->decided;
}

/* The first one of its strand that doesn't end now. */
static void plan_stop(struct once__move *move, const struct once__work *work)
{
	if (!move->stopped && work->planned == ONCE_RETRY_ENDING)
		move->attempts = work->item->attempt;
	move->stopped = true;
}

static void plan_step(struct once__batch *batch, const struct once__work *work)
{
	struct once__move *move;

	if (work->strand == ONCE__NO_STRAND)
		return;
	move = &batch->moves[work->strand];
	if (!once_ending_is_final(work->planned)) {
		plan_stop(move, work);
		return;
	}
	move->next_offset = work->msg.record->offset + 1;
	move->attempts = 0;
	move->last = work->msg.record;
}

static void plan_work(struct once__batch *batch, struct once__work *work)
{
	reset_work(work);
	if (work->decided == ONCE_PENDING_ENDING)
		once__outcome_plan(work, ONCE__OUTCOME_DONE);
	if (work->strand != ONCE__NO_STRAND &&
	    batch->moves[work->strand].stopped)
		work->planned = ONCE_HELD_ENDING;
	plan_step(batch, work);
}

static void reset_moves(struct once__batch *batch)
{
	for (size_t i = 0; i < batch->move_count; i++) {
		struct once__move *move = &batch->moves[i];

		move->next_offset = move->strand->next_offset;
		move->attempts = move->strand->attempts;
		move->last = NULL;
		move->stopped = move->was_stopped;
	}
}

/* true: there is something to commit. */
static bool plan(struct once__batch *batch, size_t from, size_t to)
{
	bool useful = false;

	reset_moves(batch);
	for (size_t i = from; i < to; i++) {
		plan_work(batch, &batch->works[i]);
		useful =
			useful || once_ending_is_final(batch->works[i].planned);
	}
	for (size_t i = 0; i < batch->move_count; i++)
		useful = useful || once__move_is_useful(&batch->moves[i]);
	return useful;
}

/* What was planned for works[to..end) isn't. */
static void unplan(struct once__batch *batch, size_t from, size_t to,
		   size_t end)
{
	once__batch_unclaim(batch, to, end);
	reset_moves(batch);
	for (size_t i = from; i < to; i++)
		plan_step(batch, &batch->works[i]);
}

/* ---- finish ---- */

bool once__work_is_parked(const struct once__work *work)
{
	if (work->planned == ONCE_CONFLICT_ENDING)
		return work->route->on_conflict == ONCE_CONFLICT_PARK;
	return work->planned == ONCE_DEAD_ENDING ||
	       work->planned == ONCE_WAITING_ENDING;
}

static void finish_parked(struct once_session *session,
			  const struct once__work *work)
{
	if (once__work_is_parked(work))
		once__parked_add(session->pg, work,
				 once__session_group(session));
	else if (work->item->parked)
		once__parked_remove(session->pg, work);
}

static bool finish(struct once__batch *batch, size_t from, size_t to,
		   bool *ret_fenced)
{
	struct once_session *session = batch->session;

	once__batch_set_results(batch, from, to);
	once__batch_note(batch, from, to);
	for (size_t i = from; i < to; i++)
		finish_parked(session, &batch->works[i]);
	once__session_let_go(session);
	return once__positions_move(&session->positions, session->pg,
				    batch->moves, batch->move_count,
				    ret_fenced) &&
	       once__pg_wait(session->pg) && once__batch_judge_settings(batch);
}

void once__batch_publish(struct once__batch *batch, size_t from, size_t to)
{
	once__batch_count_dead(batch, from, to);
	for (size_t i = from; i < to; i++)
		batch->works[i].item->ending = batch->works[i].planned;
	for (size_t i = 0; i < batch->move_count; i++) {
		struct once__move *move = &batch->moves[i];

		move->strand->next_offset = move->next_offset;
		move->strand->attempts = move->attempts;
		move->was_stopped = move->stopped;
	}
}

/* ---- the ending of a try ---- */

static enum once__try give_up(struct once__batch *batch, enum once__try what)
{
	once__pg_rollback(batch->session->pg);
	batch->stats->rolled_back++;
	return what;
}

/* The server does its work, whatever it refuses to others. */
static void count_handled(struct once__batch *batch, size_t from, size_t to)
{
	const struct once_route *counted = NULL;

	for (size_t i = from; i < to; i++) {
		const struct once__work *work = &batch->works[i];

		if (work->planned != ONCE_HANDLED_ENDING ||
		    work->route == counted)
			continue;
		counted = work->route;
		atomic_fetch_add(&counted->shared->commits, 1);
	}
}

static enum once__try commit(struct once__batch *batch, size_t from, size_t to,
			     struct once_error *err)
{
	struct once_run_stats *stats = batch->stats;
	enum once__pg_commit answer;

	fault_point("before_commit");
	answer = once__pg_commit(batch->session->pg);
	once__batch_lap(batch, &stats->commit_ns, true);
	switch (answer) {
	case ONCE__PG_COMMITTED:
		fault_point("after_commit");
		batch->session->in_hand = false;
		stats->committed++;
		count_handled(batch, from, to);
		once__batch_tell(batch); /* of the moves; then they are made */
		once__batch_lap(batch, &stats->prefilter_ns, true);
		once__batch_publish(batch, from, to);
		return ONCE__TRY_COMMITTED;
	case ONCE__PG_NOT_COMMITTED:
		return give_up(batch,
			       once__batch_judge(batch, from, to, true, err));
	case ONCE__PG_UNKNOWN:
		break;
	}
	(void)once__pg_error(batch->session->pg, err);
	batch->last = *once__pg_failure(batch->session->pg);
	once__batch_suspect(batch, from, to);
	err->status = ONCE_UNKNOWN;
	batch->doubt_from = from;
	batch->doubt_to = to;
	return ONCE__TRY_STOP;
}

/* Those that come out of once.parked are ours while their rows are locked. */
static bool lock_parked(struct once__batch *batch, size_t from, size_t to,
			bool *ret_gone)
{
	for (size_t i = from; i < to; i++) {
		bool waits = true;

		if (batch->works[i].item->parked &&
		    !once__parked_lock(batch->session->pg, &batch->works[i],
				       &waits))
			return false;
		*ret_gone = *ret_gone || !waits;
	}
	return true;
}

/* It is none of this batch's time. */
static void use_the_wait(void *arg)
{
	struct once__batch *batch = arg;
	int64_t began_ns = clock_ns();

	batch->session->meanwhile(batch->session->meanwhile_arg);
	batch->lap_ns += clock_ns() - began_ns;
}

/* Never what a handler waits for: it has a time limit. */
static void offer_wait(struct once__batch *batch, bool offered)
{
	if (batch->session->meanwhile != NULL)
		once__pg_meanwhile(batch->session->pg,
				   offered ? use_the_wait : NULL, batch);
}

static bool claim(struct once__batch *batch, size_t from, size_t *to)
{
	bool done;

	once__batch_find_duplicates(batch, from, *to);
	offer_wait(batch, true);
	done = once__batch_claim(batch, from, to);
	offer_wait(batch, false);
	return done;
}

static bool handle(struct once__batch *batch, size_t from, size_t *to,
		   size_t end, bool *ret_fenced)
{
	if (!once__batch_handle(batch, from, to) ||
	    once__batch_brake(batch, from, *to))
		return false;
	if (*to < end)
		unplan(batch, from, *to, end);
	offer_wait(batch, true);
	if (!finish(batch, from, *to, ret_fenced))
		return false;
	once__batch_learn(batch);
	return true;
}

static bool work_through(struct once__batch *batch, size_t from, size_t *to,
			 bool *ret_fenced)
{
	struct once_run_stats *stats = batch->stats;
	size_t end = *to;

	batch->lap_ns = clock_ns();
	return once__batch_lap(batch, &stats->prefilter_ns,
			       once__batch_prove(batch, from, end)) &&
	       once__batch_lap(batch, &stats->claim_ns,
			       claim(batch, from, to)) &&
	       once__batch_lap(batch, &stats->handler_ns,
			       handle(batch, from, to, end, ret_fenced));
}

/* A database that has lost their rows may have given the numbers to others. */
static void refresh_consumers(struct once__batch *batch, size_t from, size_t to)
{
	const int64_t *ids = batch->session->consumer_ids;

	for (size_t i = from; i < to; i++)
		batch->works[i].consumer_id = ids[batch->works[i].item->route];
}

enum once__try once__batch_try(struct once__batch *batch, size_t from,
			       size_t *to, struct once_error *err)
{
	bool fenced = false;

	batch->has_verdict = false;
	batch->breathed_ms = 0;
	batch->calls = 0;
	batch->fitted = false;
	batch->began_ms = clock_ms();
	if (!plan(batch, from, *to)) {
		once__batch_publish(batch, from, *to);
		return ONCE__TRY_COMMITTED;
	}
	/* Lost, if a handler has spoilt it in the try before. */
	if (once_session_connect(batch->session, err) != ONCE_OK)
		return ONCE__TRY_STOP;
	refresh_consumers(batch, from, *to);
	once__collect_reset(&batch->session->collection);
	once__batch_begin_turn(batch, from, *to);
	once__pg_begin(batch->session->pg);
	once__batch_take_turns(batch);
	if (!lock_parked(batch, from, *to, &fenced) ||
	    (!fenced && !work_through(batch, from, to, &fenced)))
		return give_up(batch,
			       once__batch_judge(batch, from, *to, false, err));
	if (fenced) {
		error_set(err, ONCE_FENCED,
			  "the position in the database isn't where this "
			  "process left it");
		return give_up(batch, ONCE__TRY_STOP);
	}
	return commit(batch, from, *to, err);
}
