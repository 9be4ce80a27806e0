/* A batch is made of what is ready now, in turn from all strands, and each
 * message of it comes back with an ending or a reason to wait. */
#include "lane_work.h"

#include "clock.h"
#include "error.h"
#include "fault.h"
#include "numbers.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum once_status lane_work_init(struct lane_work *work,
				const struct lane_options *options,
				struct once_session *session,
				struct once_error *err)
{
	size_t most = PARCEL_MOST_BATCHES * options->cfg->batch.max_messages;

	work->most = options->cfg->batch.max_messages;
	work->options = options;
	work->session = session;
	work->items = calloc(most, sizeof(*work->items));
	work->owners = calloc(most, sizeof(struct strand *));
	if (work->items == NULL || work->owners == NULL)
		return error_no_memory(err);
	return ONCE_OK;
}

void lane_work_fini(struct lane_work *work)
{
	/* The source has dropped everything before it lets a lane stop. */
	free(work->owners);
	free(work->items);
}

int64_t lane_work_due_ms(const struct lane_work *work)
{
	int64_t due_ms = INT64_MAX;

	if (work->unsettled || work->openings != NULL)
		return 0;
	for (const struct strand *strand = work->strands.first; strand != NULL;
	     strand = strand->next)
		if (strand->parcel != NULL && !strand->halted &&
		    strand->not_before_ms < due_ms)
			due_ms = strand->not_before_ms;
	return due_ms < work->waiting_at_ms ? due_ms : work->waiting_at_ms;
}

/* ---- collect ---- */

static void add_item(struct lane_work *work, struct strand *strand, size_t i)
{
	struct once_item *item = &work->items[work->count];

	memset(item, 0, offsetof(struct once_item, sqlstate));
	item->sqlstate[0] = '\0';
	item->reason[0] = '\0';
	item->route = strand->address.route;
	item->record = strand->parcel->deliveries[i].record;
	item->strand = &strand->position;
	item->attempt = i == strand->at ? strand->position.attempts + 1 : 1;
	work->owners[work->count++] = strand;
}

static void collect_from(struct lane_work *work, struct strand *strand,
			 size_t *bytes)
{
	const struct batch_config *limits = &work->options->cfg->batch;

	if (strand->careful > 0 && work->count > 0)
		return;

	for (size_t i = strand->at; i < strand->parcel->count; i++) {
		const struct once_record *record =
			&strand->parcel->deliveries[i].record;

		if (work->count == work->most)
			return;
		if (*bytes > 0 &&
		    *bytes + record->value.size + record->key.size >
			    limits->max_bytes)
			return;
		*bytes += record->value.size + record->key.size;
		add_item(work, strand, i);
		if (strand->careful > 0)
			return;
	}
}

static bool is_alone(const struct lane_work *work)
{
	return work->count == 1 && work->owners[0]->careful > 0;
}

size_t lane_work_collect(struct lane_work *work, int64_t now_ms)
{
	size_t bytes = 0;

	work->count = 0;
	strands_rotate(&work->strands);
	for (struct strand *strand = work->strands.first; strand != NULL;
	     strand = strand->next)
		if (strand_is_ready(strand, now_ms) && !is_alone(work))
			collect_from(work, strand, &bytes);
	return work->count;
}

/* ---- after a run ---- */

static void report_progress(struct lane_work *work, struct strand *strand)
{
	struct parcel *finished = NULL;

	if (!strand->moved)
		return;
	strand->moved = false;
	if (strand->at == strand->parcel->count) {
		finished = strand->parcel;
		strand->parcel = NULL;
	}
	lane_work_report(work, REPORT_HANDLED, &strand->address, finished,
			 strand->position.next_offset, NULL);
}

static bool was_stopped_early(const struct once_item *item)
{
	return (item->ending == ONCE_DUPLICATE_ENDING ||
		item->ending == ONCE_CONFLICT_ENDING) &&
	       item->stage != ONCE_STAGE_DATABASE;
}

static void fit_batch(struct lane_work *work)
{
	size_t least = work->options->cfg->batch.max_messages;
	size_t stopped = 0;

	while (stopped < work->count &&
	       was_stopped_early(&work->items[stopped]))
		stopped++;
	if (stopped < work->count)
		work->most = least;
	else if (work->count == work->most &&
		 work->most < PARCEL_MOST_BATCHES * least)
		work->most *= 2;
}

static void take_endings(struct lane_work *work)
{
	fit_batch(work);
	lane_work_end(work, work->items, work->owners, work->count);
	for (struct strand *strand = work->strands.first; strand != NULL;
	     strand = strand->next)
		report_progress(work, strand);
	fault_point("after_completion");
}

/* One of them isn't where we thought, and the transaction doesn't tell which.
 */
void lane_work_lose(struct lane_work *work)
{
	for (size_t i = 0; i < work->count; i++) {
		struct strand *strand = work->owners[i];
		struct address address = strand->address;
		struct parcel *parcel;

		if (work->items[i].ending != ONCE_PENDING_ENDING ||
		    strands_find(&work->strands, &address) == NULL ||
		    strand->parcel == NULL)
			continue;
		parcel = strands_remove(&work->strands, strand);
		while (i + 1 < work->count && work->owners[i + 1] == strand)
			i++;
		lane_work_report(work, REPORT_LOST, &address, parcel, -1, NULL);
	}
}

enum once_status lane_work_run(struct lane_work *work, struct once_error *err)
{
	struct numbers *numbers = work->options->numbers;
	struct once_run_stats stats = { 0 };
	int64_t began_ns = clock_ns();
	enum once_status status = ONCE_OK;

	if (is_alone(work))
		status =
			once_session_brace(work->session, &work->items[0], err);
	if (status == ONCE_OK)
		status = once_session_run(work->session, work->items,
					  work->count, &stats, err);
	numbers_count_run(numbers, work->options->index, &stats,
			  status == ONCE_UNKNOWN,
			  (double)(clock_ns() - began_ns) / 1e9, work->count);
	if (status == ONCE_UNKNOWN) {
		work->unsettled = true;
		return status;
	}
	take_endings(work);
	if (status == ONCE_FENCED)
		lane_work_lose(work);
	return status;
}

enum once_status lane_work_settle(struct lane_work *work,
				  struct once_error *err)
{
	enum once_status status = once_session_settle(
		work->session, work->items, work->count, err);

	if (status != ONCE_OK)
		return status;
	work->unsettled = false;
	take_endings(work);
	return ONCE_OK;
}
