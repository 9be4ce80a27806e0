/* A batch is made of what is ready now, in turn from all strands, and each
 * message of it comes back with an ending or a reason to wait. */
#include "lane_work.h"

#include "backoff.h"
#include "bytes.h"
#include "clock.h"
#include "error.h"
#include "fault.h"
#include "log.h"
#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

enum once_status lane_work_init(struct lane_work *work,
				const struct lane_options *options,
				struct once_session *session,
				struct once_error *err)
{
	size_t most = options->cfg->batch.max_messages;

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
	return due_ms;
}

/* ---- collect ---- */

static void add_item(struct lane_work *work, struct strand *strand, size_t i)
{
	struct once_item *item = &work->items[work->count];

	*item = (struct once_item){
		.route = strand->address.route,
		.record = strand->parcel->deliveries[i].record,
		.strand = &strand->position,
		.attempt = i == strand->at ? strand->position.attempts + 1 : 1,
	};
	work->owners[work->count++] = strand;
}

static void collect_from(struct lane_work *work, struct strand *strand,
			 size_t *bytes)
{
	const struct batch_config *limits = &work->options->cfg->batch;

	for (size_t i = strand->at; i < strand->parcel->count; i++) {
		const struct once_record *record =
			&strand->parcel->deliveries[i].record;

		if (work->count == limits->max_messages)
			return;
		if (*bytes > 0 &&
		    *bytes + record->value.size + record->key.size >
			    limits->max_bytes)
			return;
		*bytes += record->value.size + record->key.size;
		add_item(work, strand, i);
	}
}

size_t lane_work_collect(struct lane_work *work, int64_t now_ms)
{
	size_t bytes = 0;

	work->count = 0;
	strands_rotate(&work->strands);
	for (struct strand *strand = work->strands.first; strand != NULL;
	     strand = strand->next)
		if (strand_is_ready(strand, now_ms))
			collect_from(work, strand, &bytes);
	return work->count;
}

/* ---- what is said of a message ---- */

#define MESSAGE_FIELDS(route, item) \
	LOG_FIELDS(LOG_TEXT("route", route), \
		   LOG_TEXT("topic", (item)->record.topic), \
		   LOG_NUMBER("partition", (item)->record.partition), \
		   LOG_NUMBER("offset", (item)->record.offset), \
		   LOG_BYTES("msg_id", (item)->msg_id), \
		   LOG_BYTES("biz_id", (item)->biz_id), \
		   LOG_TEXT("verdict", once_ending_word((item)->ending)), \
		   LOG_TEXT("cause", once_cause_word((item)->cause)))

static enum log_level level_of(enum once_ending ending)
{
	switch (ending) {
	case ONCE_HANDLED_ENDING:
	case ONCE_DUPLICATE_ENDING:
	case ONCE_HELD_ENDING:
	case ONCE_PENDING_ENDING:
	case ONCE_HALTED_ENDING: /* the source says it, as an error */
		return LOG_LEVEL_DEBUG;
	case ONCE_CONFLICT_ENDING:
	case ONCE_DEAD_ENDING:
	case ONCE_RETRY_ENDING:
	case ONCE_PAUSED_ENDING:
		break;
	}
	return LOG_LEVEL_WARNING;
}

static void log_item(const struct lane_work *work, const struct once_item *item)
{
	enum log_level level = level_of(item->ending);
	const char *route = work->options->cfg->routes[item->route].name;

	if (log_enabled(level))
		log_line(level, MESSAGE_FIELDS(route, item), "%s%s%s",
			 once_ending_word(item->ending),
			 item->reason[0] == '\0' ? "" : ": ", item->reason);
}

void lane_work_log(void *arg, int level, const struct once_message *msg,
		   const struct once_route *route, const char *text)
{
	enum log_level ours = level <= LOG_ERR       ? LOG_LEVEL_ERROR
			      : level <= LOG_WARNING ? LOG_LEVEL_WARNING
			      : level <= LOG_INFO    ? LOG_LEVEL_INFO
						     : LOG_LEVEL_DEBUG;

	(void)arg;
	log_line(ours,
		 LOG_FIELDS(LOG_TEXT("route", once_route_name(route)),
			    LOG_TEXT("topic", once_topic(msg)),
			    LOG_NUMBER("partition", once_partition(msg)),
			    LOG_NUMBER("offset", once_offset(msg)),
			    LOG_BYTES("msg_id", once_msg_id(msg)),
			    LOG_BYTES("biz_id", once_biz_id(msg))),
		 "%s", text);
}

/* ---- after a run ---- */

static const struct retry_config *retry_of(const struct lane_work *work,
					   const struct strand *strand)
{
	return &work->options->cfg->routes[strand->address.route].retry;
}

static void hold(const struct lane_work *work, struct strand *strand,
		 unsigned times)
{
	const struct retry_config *retry = retry_of(work, strand);

	strand->not_before_ms =
		clock_ms() +
		backoff_ms(times, retry->first_delay_ms, retry->max_delay_ms);
}

static void advance(struct strand *strand)
{
	strand->at++;
	strand->parcel->ended = strand->at;
	strand->pauses = 0;
	strand->not_before_ms = 0;
	strand->moved = true;
}

static void take_ending(struct lane_work *work, const struct once_item *item,
			struct strand *strand)
{
	switch (item->ending) {
	case ONCE_HANDLED_ENDING:
	case ONCE_DUPLICATE_ENDING:
	case ONCE_CONFLICT_ENDING:
	case ONCE_DEAD_ENDING:
		advance(strand);
		break;
	case ONCE_RETRY_ENDING:
		hold(work, strand, strand->position.attempts);
		break;
	case ONCE_PAUSED_ENDING:
		hold(work, strand, ++strand->pauses);
		break;
	case ONCE_HALTED_ENDING:
		strand->halted = true;
		lane_work_report(work, REPORT_HALTED, &strand->address, NULL,
				 -1, item->reason);
		break;
	case ONCE_HELD_ENDING:
	case ONCE_PENDING_ENDING:
		return;
	}
	numbers_count_item(work->options->numbers, item->route, item);
	log_item(work, item);
}

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

static void take_endings(struct lane_work *work)
{
	for (size_t i = 0; i < work->count; i++)
		take_ending(work, &work->items[i], work->owners[i]);
	for (struct strand *strand = work->strands.first; strand != NULL;
	     strand = strand->next)
		report_progress(work, strand);
	fault_point("after_completion");
}

/* All strands of the batch whose messages are still pending: one of them isn't
 * where we thought, and the transaction doesn't tell which. */
static void lose_strands(struct lane_work *work)
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
	struct once_run_stats stats;
	int64_t began_ns = clock_ns();
	enum once_status status = once_session_run(work->session, work->items,
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
		lose_strands(work);
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
