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
#include <string.h>
#include <syslog.h>

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

/* What earlier handlers have queued may lie here for long, and the server must
 * not take that for silence. */
static void breathe(struct once__batch *batch, int64_t timeout_ms,
		    int64_t now_ms)
{
	int64_t every_ms = batch->session->limits.idle_ms / 2;

	if (every_ms == 0 || every_ms > timeout_ms / 2)
		every_ms = timeout_ms / 2;
	if (timeout_ms == 0 || now_ms - batch->breathed_ms < every_ms)
		return;
	batch->breathed_ms = now_ms;
	once__pg_breathe(batch->session->pg);
}

static enum once__call_result call_handler(struct once__batch *batch,
					   struct once__work *work,
					   int64_t began_ns)
{
	struct once_session *session = batch->session;
	int64_t timeout_ms = work->route->timeout_ms;
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
	atomic_store_explicit(&session->moved_ms, began_ms,
			      memory_order_relaxed);
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

/* The next message's handler is to find the session as this one did. */
static void restore_after(struct once__batch *batch,
			  const struct once__work *work)
{
	struct once__pg *pg = batch->session->pg;

	if (once__pg_is_touched(pg) || batch->restores_each)
		once__pg_restore(pg, (size_t)(work - batch->works));
}

static bool handle_one(struct once__batch *batch, struct once__work *work,
		       int64_t now_ns)
{
	struct once__pg *pg = batch->session->pg;
	size_t kept = once__pg_kept(pg);
	enum once__call_result result;

	if (batch->calls++ == 0)
		batch->called_ns = now_ns;
	batch->last_called = work;
	once__pg_limit(pg, work->route->timeout_ms);
	result = call_handler(batch, work, now_ns);
	once__pg_forget(pg, kept);
	batch->has_verdict = result == ONCE__CALL_VERDICT;
	if (result == ONCE__CALL_DONE)
		restore_after(batch, work);
	return result == ONCE__CALL_DONE && once__pg_failure(pg) == NULL;
}

bool once__batch_handle(struct once__batch *batch, size_t from, size_t *to)
{
	for (size_t i = from; i < *to; i++) {
		struct once__work *work = &batch->works[i];
		int64_t now_ns;

		if (!is_to_be_called(work))
			continue;
		now_ns = clock_ns();
		if (once__batch_try_is_over(batch, now_ns)) {
			*to = i;
			batch->fitted = false; /* it might hold no more */
			break;
		}
		if (!handle_one(batch, work, now_ns))
			return false;
	}
	once__collect_send(&batch->session->collection, batch->session->pg);
	if (batch->calls > 0)
		once__pg_restore(batch->session->pg, ONCE__PG_OURS);
	fault_point("in_handler");
	return once__pg_failure(batch->session->pg) == NULL;
}

/* ---- settings that a handler left changed ---- */

static void tell_of(struct once_session *session, const struct once__work *work,
		    const char *names)
{
	char text[ONCE_REASON_SIZE + 128];

	session->restores[work->item->route] = true;
	session->restores_any = true;
	if (session->log == NULL)
		return;
	snprintf(text, sizeof(text),
		 "the handler leaves settings of the session changed: %s; they "
		 "are put back after each message",
		 names);
	session->log(session->log_arg, LOG_WARNING, &work->msg, work->route,
		     text);
}

/* A change that is found only after several calls may have been any one's, and
 * those after it were made under it: they are made again, one look after each.
 * What is found at the end even then came with the statements that they had
 * collected, after all calls. */
bool once__batch_judge_settings(struct once__batch *batch)
{
	struct once_session *session = batch->session;
	size_t count;
	const struct once__pg_stray *strays =
		once__pg_strays(session->pg, &count);

	for (size_t i = 0; i < count; i++) {
		bool is_anyones = strays[i].tag == ONCE__PG_OURS;
		const struct once__work *work =
			is_anyones ? batch->last_called
				   : &batch->works[strays[i].tag];

		if (is_anyones && batch->calls > 1 && !batch->restores_each) {
			batch->restores_each = true;
			once__pg_fail(session->pg, ONCE__PG_OURS, "40001",
				      "a handler left the session's settings "
				      "changed");
			return false;
		}
		if (!session->restores[work->item->route])
			tell_of(session, work, strays[i].names);
	}
	return true;
}

/* What a role, or a search path, that another handler left would fail with. */
static bool may_be_of_settings(const struct once__pg *pg, const char *sqlstate)
{
	if (strcmp(sqlstate, "25006") == 0)
		return !once__pg_is_read_only(pg);
	return strncmp(sqlstate, "42", 2) == 0 ||
	       strncmp(sqlstate, "3F", 2) == 0 ||
	       strcmp(sqlstate, "22007") == 0 || strcmp(sqlstate, "22008") == 0;
}

bool once__batch_may_be_spoilt(struct once__batch *batch,
			       const struct once__pg_failure *failure)
{
	bool spoilt = batch->calls > 1 && !batch->restores_each &&
		      may_be_of_settings(batch->session->pg, failure->sqlstate);

	if (!spoilt)
		return false;
	batch->restores_each = true;
	if (failure->tag < batch->count) /* what it decided, it did so */
		batch->works[failure->tag].decided = ONCE_PENDING_ENDING;
	return true;
}
