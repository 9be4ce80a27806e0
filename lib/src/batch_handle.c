/* The handlers' turn: each message that a try plans to handle is given to its
 * handler, or to duplicate() where it repeats another one. The first that fails
 * ends the try. */
#include "batch.h"
#include "bytes.h"
#include "call.h"
#include "clock.h"
#include "fault.h"
#include "outcome.h"

#include <stdio.h>

/* A statement is cut at the timeout; a transaction whose handler doesn't say a
 * word for twice that loses its session, and with it all its locks. */
static const char timeout_sql[] =
	"SELECT set_config('statement_timeout', $1::text, true), "
	"set_config('idle_in_transaction_session_timeout', $2::text, true)";

/* ---- those that repeat another ---- */

static void inherit_from_first(struct once__work *work)
{
	const struct once__work *first = work->first;

	work->stored = first->lost ? first->stored : first->msg.keys;
	work->stored_result =
		first->lost ? first->stored_result : first->result;
	work->key_kind = bytes_equal(work->stored.msg_id, work->msg.keys.msg_id)
				 ? ONCE_KEY_MSG_ID
				 : ONCE_KEY_BIZ_ID;
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

/* The mark tells of the row that the database would have found. */
static void inherit_from_mark(struct once__work *work)
{
	const struct once__mark *mark = &work->hit->mark;

	work->key_kind = once__mark_kind(mark, &work->row_key);
	work->stored = work->msg.keys;
	work->stored.fingerprint =
		mark->has_fingerprint
			? bytes_of(mark->fingerprint, sizeof(mark->fingerprint))
			: bytes_of(NULL, 0);
}

static bool is_repetition(const struct once__work *work)
{
	return work->first != NULL || work->lost || work->known;
}

static enum once_stage stage_of(const struct once__work *work)
{
	if (work->known)
		return work->hit->stage;
	return work->first != NULL ? ONCE_STAGE_BATCH : ONCE_STAGE_DATABASE;
}

static void plan_repetition(struct once__work *work)
{
	struct once_item *item = work->item;

	if (work->known)
		inherit_from_mark(work);
	else if (work->first != NULL)
		inherit_from_first(work);
	item->reason[0] = '\0';
	item->sqlstate[0] = '\0';
	item->stage = stage_of(work);
	item->key_kind = work->key_kind;
	once__outcome_plan(work, ONCE__OUTCOME_REPEATED);
	if (!is_conflict(work))
		return;
	once__outcome_plan(work, ONCE__OUTCOME_CONFLICTED);
	snprintf(item->reason, sizeof(item->reason),
		 "its %s was claimed by another payload",
		 once_key_kind_word(work->key_kind));
}

/* ---- the call ---- */

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

static enum once__call_result call_handler(struct once__batch *batch,
					   struct once__work *work)
{
	struct once_session *session = batch->session;
	int64_t timeout_ms = work->route->timeout_ms;
	int64_t began_ns = clock_ns();
	int64_t began_ms = began_ns / 1000000;
	enum once__call_result result;
	struct once_call call = {
		.pg = session->pg,
		.collection = &session->collection,
		.work = work,
		.tag = (size_t)(work - batch->works),
		.began_ns = began_ns,
		.deadline_ms = timeout_ms == 0 ? 0 : began_ms + timeout_ms,
		.log = session->log,
		.log_arg = session->log_arg,
	};

	breathe(batch, timeout_ms, began_ms);
	once__current_call_begin(&session->current_call, work->item, began_ms);
	result = once__call_run(&call, session->instances[work->item->route]);
	once__current_call_end(&session->current_call);
	return result;
}

/* Those that repeat another end here, unless their handler answers them. */
static bool is_to_be_called(struct once__work *work)
{
	if (work->planned != ONCE_HANDLED_ENDING)
		return false;
	if (!is_repetition(work))
		return true;
	plan_repetition(work);
	return work->planned == ONCE_DUPLICATE_ENDING &&
	       once__handler_duplicate(work->route->handler) != NULL;
}

static bool handle_one(struct once__batch *batch, struct once__work *work)
{
	enum once__call_result result;

	result = call_handler(batch, work);
	batch->has_verdict = result == ONCE__CALL_VERDICT;
	return result == ONCE__CALL_DONE &&
	       once__pg_failure(batch->session->pg) == NULL;
}

bool once__batch_handle(struct once__batch *batch, size_t from, size_t to)
{
	int64_t limit_ms = 0;

	for (size_t i = from; i < to; i++) {
		struct once__work *work = &batch->works[i];

		if (!is_to_be_called(work))
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
	return once__pg_failure(batch->session->pg) == NULL;
}
