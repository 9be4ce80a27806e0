/*
 * The run of a batch. A range is tried as one transaction; the first message
 * that fails is taken out and the rest tried again; if another fails, the range
 * is halved, so that many failures cost a logarithm of tries each, not all the
 * others' work every time.
 */
#include "batch.h"

#include "backoff.h"
#include "bytes.h"
#include "call.h"
#include "error.h"
#include "outcome.h"

#include <stdio.h>
#include <time.h>

enum {
	MOST_REPEATS = 50,
	REPEAT_FIRST_MS = 1,
	REPEAT_MAX_MS = 50
};

/* ---- building ---- */

static size_t find_strand(struct once__batch *batch, struct once_strand *strand)
{
	size_t i = 0;

	if (strand == NULL)
		return ONCE__NO_STRAND;
	while (i < batch->move_count && batch->moves[i].strand != strand)
		i++;
	if (i == batch->move_count) {
		batch->moves[i].strand = strand;
		batch->move_count++;
	}
	return i;
}

static void decide_bad_key(struct once__work *work,
			   const struct once_error *err)
{
	struct once_item *item = work->item;

	bool halt = work->route->on_bad_key == ONCE_BAD_KEY_HALT &&
		    !item->parked; /* it holds up nobody */

	snprintf(item->reason, sizeof(item->reason), "%.*s",
		 ONCE_REASON_SIZE - 1, err->text);
	once__outcome_decide(work, halt ? ONCE__OUTCOME_UNKEYED_HALT
					: ONCE__OUTCOME_UNKEYED);
}

static void decide_crashed(struct once__work *work)
{
	struct once_item *item = work->item;

	snprintf(item->reason, sizeof(item->reason),
		 "%u processes died while they handled it", item->crashes);
	once__outcome_decide(work, ONCE__OUTCOME_KILLER);
}

/* A position that went back would unsay what others rely on. */
static enum once_status check_order(const struct once_item *item,
				    struct once_error *err)
{
	const struct once_record *record = &item->record;

	if (item->strand == NULL || record->offset >= item->strand->next_offset)
		return ONCE_OK;
	return error_set(err, ONCE_BUG,
			 "message %lld of %s [%d] lies before the position of "
			 "its strand, %lld",
			 (long long)record->offset, record->topic,
			 (int)record->partition,
			 (long long)item->strand->next_offset);
}

static enum once_status add_work(struct once__batch *batch,
				 struct once_item *item, struct once_error *err)
{
	struct once_session *session = batch->session;
	struct once__work *work = &batch->works[batch->count];
	enum once_status status;

	if (item->route >= session->route_count)
		return error_set(err, ONCE_BUG, "there is no route %zu",
				 item->route);
	if (check_order(item, err) != ONCE_OK)
		return ONCE_BUG;
	work->item = item;
	work->route = session->routes[item->route];
	work->consumer_id = session->consumer_ids[item->route];
	work->strand = find_strand(batch, item->strand);
	work->msg.record = &item->record;
	work->msg.arena = &session->arena;
	work->msg.members = &work->members;
	work->decided = ONCE_PENDING_ENDING;
	item->cause = ONCE_CAUSE_NONE;
	item->handler_ns = 0;
	item->unproven = 0;
	status = once__route_keys(work->route, &item->record, &session->arena,
				  &work->msg.keys, err);
	item->msg_id = work->msg.keys.msg_id;
	item->biz_id = work->msg.keys.biz_id;
	if (status == ONCE_INVALID)
		decide_bad_key(work, err);
	else if (status != ONCE_OK)
		return status;
	else if (work->route->max_crashes != 0 &&
		 item->crashes >= work->route->max_crashes)
		decide_crashed(work);
	batch->count++;
	return ONCE_OK;
}

static struct once__batch *make_batch(struct once_session *session,
				      size_t count)
{
	struct arena *arena = &session->arena;
	struct once__batch *batch = arena_take_zeroed(arena, 1, sizeof(*batch));

	if (batch == NULL)
		return NULL;
	batch->session = session;
	batch->works = arena_take_zeroed(arena, count, sizeof(*batch->works));
	batch->picked = arena_take_zeroed(arena, count, sizeof(void *));
	batch->moves = arena_take_zeroed(arena, count, sizeof(*batch->moves));
	batch->slots = arena_take(arena, once__batch_slots_needed(count));
	if (batch->works == NULL || batch->picked == NULL ||
	    batch->moves == NULL || batch->slots == NULL)
		return NULL;
	return batch;
}

static enum once_status build(struct once_session *session,
			      struct once_item *items, size_t count,
			      struct once__batch **ret_batch,
			      struct once_error *err)
{
	struct once__batch *batch;

	session->unsettled = NULL;
	arena_reset(&session->arena);
	batch = make_batch(session, count);
	if (batch == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		enum once_status status;

		if (items[i].ending != ONCE_PENDING_ENDING)
			continue;
		status = add_work(batch, &items[i], err);
		if (status != ONCE_OK)
			return status;
	}
	*ret_batch = batch;
	return ONCE_OK;
}

/* ---- running ---- */

static void pause_before_repeat(unsigned repeats)
{
	int64_t ms = backoff_ms(repeats, REPEAT_FIRST_MS, REPEAT_MAX_MS);
	struct timespec pause = { 0, ms * 1000000 };

	nanosleep(&pause, NULL);
}

/* What was repeated in vain is the failure of the message that caused it, if
 * that is known. */
static enum once__try blame(struct once__batch *batch)
{
	if (batch->last.tag == ONCE__PG_OURS)
		return ONCE__TRY_STOP;
	if (batch->last.tag == ONCE__PG_SHARED)
		return ONCE__TRY_UNCLEAR;
	once__call_fail_late(&batch->works[batch->last.tag], &batch->last);
	return ONCE__TRY_DECIDED;
}

/* Until it is committed, halved, or stopped. */
static enum once__try try_again_and_again(struct once__batch *batch,
					  size_t from, size_t to,
					  struct once_error *err)
{
	unsigned repeats = 0;
	unsigned failures = 0;

	for (;;) {
		enum once__try what = once__batch_try(batch, from, to, err);

		if (what == ONCE__TRY_REPEAT && ++repeats <= MOST_REPEATS) {
			batch->stats->repeated++;
			pause_before_repeat(repeats);
			continue;
		}
		if (what == ONCE__TRY_REPEAT) {
			what = blame(batch);
			repeats = 0;
		}
		if (what == ONCE__TRY_DECIDED &&
		    (++failures == 1 || to - from == 1))
			continue;
		return what;
	}
}

static enum once_status run_range(struct once__batch *batch, size_t from,
				  size_t to, struct once_error *err)
{
	enum once__try what = try_again_and_again(batch, from, to, err);
	size_t middle = from + (to - from) / 2;
	enum once_status status;

	if (what == ONCE__TRY_COMMITTED)
		return ONCE_OK;
	if (what == ONCE__TRY_STOP || to - from == 1)
		return err->status;
	status = run_range(batch, from, middle, err);
	if (status != ONCE_OK)
		return status;
	return run_range(batch, middle, to, err);
}

/* Where a transaction that begins at `from` ends. What has a mark isn't
 * counted: it will hardly be claimed. */
static size_t end_of_range(const struct once__batch *batch, size_t from)
{
	size_t most = batch->session->max_messages;
	size_t unknown = 0;
	size_t to = from;

	if (most == 0)
		return batch->count;
	for (; to < batch->count; to++) {
		unknown += batch->works[to].hit == NULL;
		if (unknown > most)
			break;
	}
	return to;
}

static enum once_status run_ranges(struct once__batch *batch,
				   struct once_error *err)
{
	enum once_status status = ONCE_OK;
	size_t to;

	for (size_t from = 0; from < batch->count && status == ONCE_OK;
	     from = to) {
		to = end_of_range(batch, from);
		status = run_range(batch, from, to, err);
	}
	return status;
}

enum once_status once_session_run(struct once_session *session,
				  struct once_item *items, size_t count,
				  struct once_run_stats *ret_stats,
				  struct once_error *err)
{
	struct once_run_stats unwanted;
	struct once_error unread;
	struct once__batch *batch = NULL;
	enum once_status status;
	int64_t began_ns;

	ret_stats = ret_stats == NULL ? &unwanted : ret_stats;
	err = err == NULL ? &unread : err;
	*ret_stats = (struct once_run_stats){ 0 };
	error_clear(err);
	status = once_session_connect(session, err);
	began_ns = clock_ns();
	if (status == ONCE_OK)
		status = build(session, items, count, &batch, err);
	if (status != ONCE_OK || batch->count == 0)
		return status;
	batch->stats = ret_stats;
	batch->lap_ns = began_ns;
	once__batch_lap(batch, &ret_stats->keys_ns, true);
	status = once__batch_ask(batch, err);
	once__batch_lap(batch, &ret_stats->prefilter_ns, true);
	if (status != ONCE_OK)
		return status;
	status = run_ranges(batch, err);
	if (status == ONCE_UNKNOWN)
		session->unsettled = batch;
	return status;
}
