/*
 * A batch is made of what is ready now, in turn from all strands. The next one
 * is made ready while the database works on it; the idea to hold: that one is a
 * guess. It is taken only if it is, message for message, what would be taken
 * without it, so nothing that comes in between has to know of it, but the end
 * of a strand.
 */
#include "lane_work.h"

#include "clock.h"
#include "error.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool lane_batch_init(struct lane_batch *batch, size_t most)
{
	batch->items = calloc(most, sizeof(*batch->items));
	batch->owners = calloc(most, sizeof(struct strand *));
	return batch->items != NULL && batch->owners != NULL;
}

void lane_batch_fini(struct lane_batch *batch)
{
	free(batch->owners);
	free(batch->items);
}

bool lane_batch_is_careful(const struct lane_batch *batch)
{
	return batch->count == 1 && batch->owners[0]->careful > 0;
}

struct parcel *lane_work_remove(struct lane_work *work, struct strand *strand)
{
	work->ahead.count = 0;
	work->waits_changed |= strand->waits_for != ONCE_CAUSE_NONE;
	return strands_remove(&work->strands, strand);
}

/* ---- collect ---- */

static unsigned attempt_of(const struct strand *strand, size_t i)
{
	return i == strand->at ? strand->position.attempts + 1 : 1;
}

static void add_item(struct lane_batch *batch, struct strand *strand, size_t i)
{
	struct once_item *item = &batch->items[batch->count];

	memset(item, 0, offsetof(struct once_item, sqlstate));
	item->sqlstate[0] = '\0';
	item->reason[0] = '\0';
	item->route = strand->address.route;
	item->record = strand->parcel->deliveries[i].record;
	item->record.log_generation = strand->log_generation;
	item->strand = &strand->position;
	item->attempt = attempt_of(strand, i);
	batch->owners[batch->count++] = strand;
}

struct limits {
	size_t messages;
	size_t bytes; /* that are left */
	bool reached;
};

static size_t size_of(const struct once_record *record)
{
	return record->value.size + record->key.size;
}

static void collect_from(struct lane_batch *batch, struct strand *strand,
			 struct limits *limits)
{
	if (strand->careful > 0 && batch->count > 0)
		return;
	for (; strand->taken < strand->parcel->count; strand->taken++) {
		size_t i = strand->taken;
		size_t size = size_of(&strand->parcel->deliveries[i].record);

		limits->reached = batch->count == limits->messages ||
				  (batch->count > 0 && size > limits->bytes);
		if (limits->reached)
			return;
		limits->bytes -= size < limits->bytes ? size : limits->bytes;
		add_item(batch, strand, i);
		if (strand->careful > 0)
			return;
	}
}

/* false: there is less than a batch may hold. */
static bool collect(struct lane_work *work, struct lane_batch *batch,
		    int64_t now_ms)
{
	struct limits limits = { work->most,
				 work->options->cfg->batch.max_bytes, false };

	batch->count = 0;
	strands_rotate(&work->strands);
	for (struct strand *strand = work->strands.first; strand != NULL;
	     strand = strand->next)
		if (strand_is_ready(strand, now_ms) &&
		    !lane_batch_is_careful(batch))
			collect_from(batch, strand, &limits);
	return limits.reached || batch->count == limits.messages;
}

static void forget_taken(struct lane_work *work)
{
	for (struct strand *strand = work->strands.first; strand != NULL;
	     strand = strand->next)
		strand->taken = strand->at;
}

/* ---- ahead ---- */

/* Behind a message that is taken alone, nothing is sure. */
static bool somebody_is_careful(const struct lane_work *work)
{
	for (const struct strand *strand = work->strands.first; strand != NULL;
	     strand = strand->next)
		if (strand->careful > 0)
			return true;
	return false;
}

/* Less than a full batch may be more by the time it is run. */
void lane_work_collect_ahead(void *arg)
{
	struct lane_work *work = arg;
	struct lane_batch *ahead = &work->ahead;
	struct once_error err;

	if (ahead->count > 0 || somebody_is_careful(work))
		return;
	if (!collect(work, ahead, clock_ms()) ||
	    once_session_prepare(work->session, ahead->items, ahead->count,
				 &err) != ONCE_OK)
		ahead->count = 0;
}

static bool is_next_of(const struct once_item *item,
		       const struct strand *strand, int64_t now_ms)
{
	size_t i = strand->taken;

	return strand_is_ready(strand, now_ms) && i < strand->parcel->count &&
	       item->record.offset ==
		       strand->parcel->deliveries[i].record.offset &&
	       item->attempt == attempt_of(strand, i);
}

static bool ahead_is_next(struct lane_work *work, int64_t now_ms)
{
	const struct lane_batch *ahead = &work->ahead;

	for (size_t i = 0; i < ahead->count; i++) {
		struct strand *strand = ahead->owners[i];

		if (!is_next_of(&ahead->items[i], strand, now_ms))
			return false;
		strand->taken++;
	}
	return ahead->count > 0;
}

size_t lane_work_collect(struct lane_work *work, int64_t now_ms)
{
	struct lane_batch batch = work->batch;

	forget_taken(work);
	if (ahead_is_next(work, now_ms)) {
		work->batch = work->ahead;
		work->ahead = batch;
	} else {
		forget_taken(work);
		(void)collect(work, &work->batch, now_ms);
	}
	work->ahead.count = 0;
	return work->batch.count;
}
