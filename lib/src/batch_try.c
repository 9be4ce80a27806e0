/*
 * One try is one transaction: plan, claim, handle, finish, COMMIT. The idea to
 * hold: nothing a try finds out is true before its COMMIT is answered. Until
 * then it stands in `planned`, and a failed try leaves only what was `decided`
 * about the message that failed.
 */
#include "batch.h"
#include "bytes.h"
#include "call.h"
#include "clock.h"
#include "error.h"
#include "fault.h"
#include "outcome.h"
#include "parked.h"

#include <stdio.h>

/* A statement is cut at the timeout; a transaction whose handler doesn't say a
 * word for twice that loses its session, and with it all its locks. */
static const char timeout_sql[] =
	"SELECT set_config('statement_timeout', $1::text, true), "
	"set_config('idle_in_transaction_session_timeout', $2::text, true)";

/* ---- plan ---- */

static void reset_work(struct once__work *work)
{
	static const struct once__keys none;

	work->first = NULL;
	work->claimed = false;
	work->lost = false;
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

static void plan_work(struct once__batch *batch, struct once__work *work)
{
	struct once__move *move;

	reset_work(work);
	if (work->decided == ONCE_PENDING_ENDING)
		once__outcome_plan(work, ONCE__OUTCOME_DONE);
	if (work->strand == ONCE__NO_STRAND)
		return;
	move = &batch->moves[work->strand];
	if (move->stopped)
		work->planned = ONCE_HELD_ENDING;
	if (!once_ending_is_final(work->planned)) {
		plan_stop(move, work);
		return;
	}
	move->next_offset = work->msg.record->offset + 1;
	move->attempts = 0;
	move->last = work->msg.record;
}

static void reset_move(struct once__move *move)
{
	move->next_offset = move->strand->next_offset;
	move->attempts = move->strand->attempts;
	move->last = NULL;
	move->stopped = move->was_stopped;
}

/* true: there is something to commit. */
static bool plan(struct once__batch *batch, size_t from, size_t to)
{
	bool useful = false;

	for (size_t i = 0; i < batch->move_count; i++)
		reset_move(&batch->moves[i]);
	for (size_t i = from; i < to; i++) {
		plan_work(batch, &batch->works[i]);
		useful =
			useful || once_ending_is_final(batch->works[i].planned);
	}
	for (size_t i = 0; i < batch->move_count; i++)
		useful = useful || once__move_is_useful(&batch->moves[i]);
	return useful;
}

/* ---- handle ---- */

static void inherit_from_first(struct once__work *work)
{
	const struct once__work *first = work->first;

	work->stored = first->lost ? first->stored : first->msg.keys;
	work->stored_result =
		first->lost ? first->stored_result : first->result;
}

/* The same msg_id for another operation is no re-send, whatever the payload
 * looks like. */
static bool is_conflict(const struct once__work *work)
{
	struct once_bytes ours = work->msg.keys.biz_id;
	struct once_bytes theirs = work->stored.biz_id;

	if (work->key_kind == ONCE_KEY_MSG_ID && ours.data != NULL &&
	    theirs.data != NULL && !bytes_equal(ours, theirs))
		return true;
	return once__fingerprints_differ(work->msg.keys.fingerprint,
					 work->stored.fingerprint);
}

static void plan_repetition(struct once__work *work)
{
	struct once_item *item = work->item;

	if (work->first != NULL)
		inherit_from_first(work);
	item->stage =
		work->first != NULL ? ONCE_STAGE_BATCH : ONCE_STAGE_DATABASE;
	item->key_kind = work->key_kind;
	once__outcome_plan(work, ONCE__OUTCOME_REPEATED);
	if (!is_conflict(work))
		return;
	once__outcome_plan(work, ONCE__OUTCOME_CONFLICTED);
	snprintf(item->reason, sizeof(item->reason),
		 "its %s was claimed by another payload",
		 once_key_kind_word(work->key_kind));
}

static void limit_statements(struct once__batch *batch, int64_t timeout_ms)
{
	char once[24];
	char twice[24];

	once__pg_send(batch->session->pg, ONCE__PG_OURS, timeout_sql,
		      ONCE_PARAMS(once__pg_int8(once, timeout_ms),
				  once__pg_int8(twice, 2 * timeout_ms)));
}

/* What earlier handlers have queued may lie here for long, and the server must
 * not take that for silence. */
static void breathe(struct once__batch *batch, int64_t timeout_ms,
		    int64_t now_ms)
{
	if (timeout_ms == 0 || now_ms - batch->breathed_ms < timeout_ms / 2)
		return;
	batch->breathed_ms = now_ms;
	once__pg_breathe(batch->session->pg);
}

static void watch(struct once_session *session, const struct once__work *work,
		  int64_t began_ms)
{
	struct once__watch *seen = &session->watch;
	const struct once_record *record = work->msg.record;

	atomic_store_explicit(&seen->route, work->item->route,
			      memory_order_relaxed);
	atomic_store_explicit(&seen->topic, record->topic,
			      memory_order_relaxed);
	atomic_store_explicit(&seen->partition, record->partition,
			      memory_order_relaxed);
	atomic_store_explicit(&seen->offset, record->offset,
			      memory_order_relaxed);
	atomic_store_explicit(&seen->began_ms, began_ms, memory_order_release);
}

static enum once__call_result call_handler(struct once__batch *batch,
					   struct once__work *work)
{
	struct once_session *session = batch->session;
	int64_t timeout_ms = work->route->timeout_ms;
	int64_t began_ms = clock_ms();
	enum once__call_result result;
	struct once_call call = {
		.pg = session->pg,
		.collection = &session->collection,
		.work = work,
		.tag = (size_t)(work - batch->works),
		.deadline_ms = timeout_ms == 0 ? 0 : began_ms + timeout_ms,
		.log = session->log,
		.log_arg = session->log_arg,
	};

	breathe(batch, timeout_ms, began_ms);
	watch(session, work, began_ms);
	result = once__call_run(&call, session->instances[work->item->route]);
	atomic_store_explicit(&session->watch.began_ms, 0,
			      memory_order_relaxed);
	return result;
}

static bool handle_one(struct once__batch *batch, struct once__work *work)
{
	enum once__call_result result;

	if (work->first != NULL || work->lost)
		plan_repetition(work);
	if (work->planned == ONCE_CONFLICT_ENDING)
		return true;
	result = call_handler(batch, work);
	batch->has_verdict = result == ONCE__CALL_VERDICT;
	return result == ONCE__CALL_DONE &&
	       once__pg_failure(batch->session->pg) == NULL;
}

static bool handle(struct once__batch *batch, size_t from, size_t to)
{
	int64_t limit_ms = 0;

	for (size_t i = from; i < to; i++) {
		struct once__work *work = &batch->works[i];

		if (work->planned != ONCE_HANDLED_ENDING)
			continue;
		if (work->route->timeout_ms != limit_ms) {
			limit_ms = work->route->timeout_ms;
			limit_statements(batch, limit_ms);
		}
		if (!handle_one(batch, work))
			return false;
	}
	once__collect_send(&batch->session->collection, batch->session->pg);
	if (limit_ms != 0)
		limit_statements(batch, 0);
	fault_point("in_handler");
	return once__pg_wait(batch->session->pg);
}

/* ---- finish ---- */

bool once__work_is_parked(const struct once__work *work)
{
	if (work->planned == ONCE_CONFLICT_ENDING)
		return work->route->on_conflict == ONCE_CONFLICT_PARK;
	return work->planned == ONCE_DEAD_ENDING ||
	       work->planned == ONCE_WAITING_ENDING;
}

static void finish_parked(struct once__pg *pg, const struct once__work *work)
{
	if (once__work_is_parked(work))
		once__parked_add(pg, work);
	else if (work->item->parked)
		once__parked_remove(pg, work);
}

static bool finish(struct once__batch *batch, size_t from, size_t to,
		   bool *ret_fenced)
{
	struct once_session *session = batch->session;

	once__batch_set_results(batch, from, to);
	for (size_t i = from; i < to; i++)
		finish_parked(session->pg, &batch->works[i]);
	return once__positions_move(&session->positions, session->pg,
				    batch->moves, batch->move_count,
				    ret_fenced) &&
	       once__pg_wait(session->pg);
}

void once__batch_publish(struct once__batch *batch, size_t from, size_t to)
{
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

/* Whose fault, and so what next; the transaction is still open. */
static enum once__try judge(struct once__batch *batch, struct once_error *err)
{
	const struct once__pg_failure *failure =
		once__pg_failure(batch->session->pg);

	if (failure == NULL || batch->has_verdict)
		return ONCE__TRY_DECIDED;
	batch->last = *failure;
	(void)once__pg_error(batch->session->pg, err);
	if (failure->class == ONCE__PG_REPEAT)
		return ONCE__TRY_REPEAT;
	if (failure->class != ONCE__PG_MESSAGE)
		return ONCE__TRY_STOP;
	if (failure->tag == ONCE__PG_OURS || failure->tag == ONCE__PG_SHARED)
		return ONCE__TRY_UNCLEAR;
	if (batch->works[failure->tag].decided == ONCE_PENDING_ENDING)
		once__call_fail_late(&batch->works[failure->tag], failure);
	return ONCE__TRY_DECIDED;
}

static enum once__try give_up(struct once__batch *batch, enum once__try what)
{
	once__pg_rollback(batch->session->pg);
	batch->stats->rolled_back++;
	return what;
}

/* The culprit of a refused COMMIT is known only if one message was in it. */
static enum once__try judge_commit(struct once__batch *batch, size_t from,
				   size_t to, struct once_error *err)
{
	enum once__try what = judge(batch, err);
	struct once__work *work = &batch->works[from];

	if (what != ONCE__TRY_UNCLEAR || to - from != 1 ||
	    work->decided != ONCE_PENDING_ENDING)
		return what;
	once__call_fail_late(work, once__pg_failure(batch->session->pg));
	return ONCE__TRY_DECIDED;
}

static enum once__try commit(struct once__batch *batch, size_t from, size_t to,
			     struct once_error *err)
{
	fault_point("before_commit");
	switch (once__pg_commit(batch->session->pg)) {
	case ONCE__PG_COMMITTED:
		fault_point("after_commit");
		batch->stats->committed++;
		once__batch_publish(batch, from, to);
		return ONCE__TRY_COMMITTED;
	case ONCE__PG_NOT_COMMITTED:
		return give_up(batch, judge_commit(batch, from, to, err));
	case ONCE__PG_UNKNOWN:
		break;
	}
	(void)once__pg_error(batch->session->pg, err);
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

static bool work_through(struct once__batch *batch, size_t from, size_t to,
			 bool *ret_fenced)
{
	return once__batch_claim(batch, from, to) && handle(batch, from, to) &&
	       finish(batch, from, to, ret_fenced);
}

enum once__try once__batch_try(struct once__batch *batch, size_t from,
			       size_t to, struct once_error *err)
{
	bool fenced = false;

	batch->has_verdict = false;
	batch->breathed_ms = 0;
	if (!plan(batch, from, to)) {
		once__batch_publish(batch, from, to);
		return ONCE__TRY_COMMITTED;
	}
	/* Lost, if a handler has spoilt it in the try before. */
	if (once_session_connect(batch->session, err) != ONCE_OK)
		return ONCE__TRY_STOP;
	once__collect_reset(&batch->session->collection);
	once__batch_find_duplicates(batch, from, to);
	once__pg_begin(batch->session->pg);
	if (!lock_parked(batch, from, to, &fenced) ||
	    (!fenced && !work_through(batch, from, to, &fenced)))
		return give_up(batch, judge(batch, err));
	if (fenced) {
		error_set(err, ONCE_FENCED,
			  "the position in the database isn't where this "
			  "process left it");
		return give_up(batch, ONCE__TRY_STOP);
	}
	return commit(batch, from, to, err);
}
