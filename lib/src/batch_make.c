/*
 * Items become a batch: their keys are made and the prefilters asked, none of
 * which needs the database. So it can be done ahead, while the database works
 * on the batch before; what is true only then is looked at again.
 */
#include "batch.h"

#include "bytes.h"
#include "error.h"
#include "outcome.h"

#include <stdio.h>

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
	work->msg.arena = batch->arena;
	work->msg.reading = &work->reading;
	work->reading.record = &item->record;
	work->reading.arena = batch->arena;
	work->decided = ONCE_PENDING_ENDING;
	item->cause = ONCE_CAUSE_NONE;
	item->handler_ns = 0;
	item->unproven = 0;
	status = once__route_keys(work->route, &work->reading, &work->msg.keys,
				  err);
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

static struct once__batch *take_room(struct once_session *session,
				     struct arena *arena, size_t count)
{
	struct once__batch *batch = arena_take_zeroed(arena, 1, sizeof(*batch));

	if (batch == NULL)
		return NULL;
	batch->session = session;
	batch->arena = arena;
	batch->works = arena_take_zeroed(arena, count, sizeof(*batch->works));
	batch->picked = arena_take_zeroed(arena, count, sizeof(void *));
	batch->moves = arena_take_zeroed(arena, count, sizeof(*batch->moves));
	batch->slots = arena_take(arena, once__batch_slots_needed(count));
	if (batch->works == NULL || batch->picked == NULL ||
	    batch->moves == NULL || batch->slots == NULL)
		return NULL;
	return batch;
}

static enum once_status add_works(struct once__batch *batch,
				  struct once_item *items, size_t count,
				  struct once_error *err)
{
	enum once_status status = ONCE_OK;

	for (size_t i = 0; i < count && status == ONCE_OK; i++)
		if (items[i].ending == ONCE_PENDING_ENDING)
			status = add_work(batch, &items[i], err);
	return status;
}

/* In the memory that the batch before it doesn't use: that one may be going on.
 */
static enum once_status make(struct once_session *session,
			     struct once_item *items, size_t count,
			     struct once__batch **ret_batch,
			     struct once_error *err)
{
	struct arena *arena = &session->arenas[1 - session->arena];
	struct once__batch *batch;
	int64_t began_ns = clock_ns();
	enum once_status status;

	arena_reset(arena);
	batch = take_room(session, arena, count);
	if (batch == NULL)
		return error_no_memory(err);
	batch->items = items;
	batch->item_count = count;
	batch->lap_ns = began_ns;
	status = add_works(batch, items, count, err);
	once__batch_lap(batch, &batch->keys_ns, true);
	if (status == ONCE_OK)
		status = once__batch_ask(batch, err);
	once__batch_lap(batch, &batch->prefilter_ns, true);
	if (status == ONCE_OK)
		*ret_batch = batch;
	return status;
}

enum once_status once_session_prepare(struct once_session *session,
				      struct once_item *items, size_t count,
				      struct once_error *err)
{
	session->prepared = NULL;
	return make(session, items, count, &session->prepared, err);
}

/* Positions have moved since. */
static enum once_status look_again(struct once__batch *batch,
				   struct once_error *err)
{
	enum once_status status = ONCE_OK;

	for (size_t i = 0; i < batch->count && status == ONCE_OK; i++)
		status = check_order(batch->works[i].item, err);
	once__batch_ask_again(batch);
	return status;
}

enum once_status once__batch_make(struct once_session *session,
				  struct once_item *items, size_t count,
				  struct once__batch **ret_batch,
				  struct once_error *err)
{
	struct once__batch *batch = session->prepared;
	enum once_status status;

	session->prepared = NULL;
	session->unsettled = NULL;
	if (batch != NULL && batch->items == items &&
	    batch->item_count == count)
		status = look_again(batch, err);
	else
		status = make(session, items, count, &batch, err);
	if (status != ONCE_OK)
		return status;
	session->arena = 1 - session->arena;
	*ret_batch = batch;
	return ONCE_OK;
}
