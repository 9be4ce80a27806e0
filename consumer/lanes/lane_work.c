/* A batch is run, and each message of it comes back with an ending or a reason
 * to wait. */
#include "lane_work.h"

#include "clock.h"
#include "error.h"
#include "fault.h"
#include "log.h"
#include "numbers.h"

#include <stdio.h>

enum once_status lane_work_init(struct lane_work *work,
				const struct lane_options *options,
				struct once_session *session,
				struct once_error *err)
{
	size_t most = PARCEL_MOST_BATCHES * options->cfg->batch.max_messages;

	work->most = options->cfg->batch.max_messages;
	work->options = options;
	work->session = session;
	if (!lane_batch_init(&work->batch, most) ||
	    !lane_batch_init(&work->ahead, most))
		return error_no_memory(err);
	return ONCE_OK;
}

void lane_work_fini(struct lane_work *work)
{
	/* The source has dropped everything before it lets a lane stop. */
	lane_work_forget_orders(work);
	lane_batch_fini(&work->ahead);
	lane_batch_fini(&work->batch);
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

void lane_work_describe_waits(const struct lane_work *work, char *text,
			      size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (const struct strand *strand = work->strands.first;
	     strand != NULL && used < size; strand = strand->next)
		if (strand->waits_for != ONCE_CAUSE_NONE)
			used += (size_t)snprintf(
				text + used, size - used,
				"%s[%d] waits at offset %lld: %s\n",
				strand->address.topic,
				(int)strand->address.number,
				(long long)strand->position.next_offset,
				strand->why);
}

/* One lane is enough to say what is so in all. */
void lane_work_tell_turns(const struct lane_work *work)
{
	const struct lane_options *options = work->options;
	size_t count = options->index == 0 ? options->cfg->route_count : 0;

	for (size_t i = 0; i < count; i++) {
		const char *name = options->cfg->routes[i].name;
		bool takes = once_route_takes_turns(options->routes[i]) != 0;

		if (!numbers_turns_set(options->numbers, i, takes))
			continue;
		if (takes)
			log_warning(LOG_FIELDS(LOG_TEXT("route", name)),
				    "its transactions met a deadlock, and take "
				    "turns now; its handler's statements lock "
				    "the same rows in different orders");
		else
			log_info(LOG_FIELDS(LOG_TEXT("route", name)),
				 "its transactions run side by side again");
	}
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

static bool was_passed_over(const struct once_item *item)
{
	return item->ending == ONCE_DUPLICATE_ENDING ||
	       (item->ending == ONCE_CONFLICT_ENDING &&
		item->stage != ONCE_STAGE_DATABASE);
}

static void fit_batch(struct lane_work *work)
{
	size_t least = work->options->cfg->batch.max_messages;
	size_t passed = 0;

	while (passed < work->batch.count &&
	       was_passed_over(&work->batch.items[passed]))
		passed++;
	if (passed < work->batch.count)
		work->most = least;
	else if (work->batch.count == work->most &&
		 work->most < PARCEL_MOST_BATCHES * least)
		work->most *= 2;
}

static void take_endings(struct lane_work *work)
{
	fit_batch(work);
	lane_work_end(work, work->batch.items, work->batch.owners,
		      work->batch.count);
	for (struct strand *strand = work->strands.first; strand != NULL;
	     strand = strand->next)
		report_progress(work, strand);
	fault_point("after_completion");
}

/* The strands whose messages are still pending: the database has to be asked
 * where they stand. */
static void lose_strands(struct lane_work *work)
{
	for (size_t i = 0; i < work->batch.count; i++) {
		struct strand *strand = work->batch.owners[i];
		struct address address = strand->address;
		struct parcel *parcel;

		if (work->batch.items[i].ending != ONCE_PENDING_ENDING ||
		    strands_find(&work->strands, &address) == NULL ||
		    strand->parcel == NULL)
			continue;
		parcel = lane_work_remove(work, strand);
		while (i + 1 < work->batch.count &&
		       work->batch.owners[i + 1] == strand)
			i++;
		lane_work_report(work, REPORT_LOST, &address, parcel, -1, NULL);
	}
}

/* The others are for the next batch: there was no time for them. */
static size_t count_reached(const struct lane_batch *batch)
{
	size_t count = 0;

	for (size_t i = 0; i < batch->count; i++)
		count += batch->items[i].ending != ONCE_PENDING_ENDING;
	return count;
}

enum once_status lane_work_run(struct lane_work *work, struct once_error *err)
{
	struct numbers *numbers = work->options->numbers;
	struct once_run_stats stats = { 0 };
	int64_t began_ns = clock_ns();
	enum once_status status = ONCE_OK;

	if (lane_batch_is_careful(&work->batch))
		status = once_session_brace(work->session,
					    &work->batch.items[0], err);
	if (status == ONCE_OK)
		status = once_session_run(work->session, work->batch.items,
					  work->batch.count, &stats, err);
	numbers_count_run(numbers, work->options->index, &stats,
			  status == ONCE_UNKNOWN,
			  (double)(clock_ns() - began_ns) / 1e9,
			  status == ONCE_OK ? count_reached(&work->batch)
					    : work->batch.count);
	if (status == ONCE_UNKNOWN) {
		work->unsettled = true;
		return status;
	}
	take_endings(work);
	/* One of them isn't where we thought; the transaction doesn't tell
	 * which.
	 */
	if (status == ONCE_FENCED)
		lose_strands(work);
	return status;
}

enum once_status lane_work_settle(struct lane_work *work,
				  struct once_error *err)
{
	enum once_status status = once_session_settle(
		work->session, work->batch.items, work->batch.count, err);

	if (status != ONCE_OK)
		return status;
	work->unsettled = false;
	take_endings(work);
	return ONCE_OK;
}

/* What the batch's earlier transactions have ended is known, and stays so. */
void lane_work_forget_unsettled(struct lane_work *work)
{
	if (!work->unsettled)
		return;
	work->unsettled = false;
	take_endings(work);
	lose_strands(work);
}
