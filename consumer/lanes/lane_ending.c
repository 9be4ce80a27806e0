/* What follows from the ending of a message: its strand goes on, waits or
 * stops, it is counted, and where a person should know, said. */
#include "lane_work.h"

#include "backoff.h"
#include "bytes.h"
#include "clock.h"
#include "log.h"
#include "numbers.h"

#include <syslog.h>

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
	case ONCE_WAITING_ENDING:
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

/* ---- what follows ---- */

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
	if (strand->careful > 0)
		strand->careful--;
}

static void end_in_strand(struct lane_work *work, const struct once_item *item,
			  struct strand *strand)
{
	switch (item->ending) {
	case ONCE_HANDLED_ENDING:
	case ONCE_DUPLICATE_ENDING:
	case ONCE_CONFLICT_ENDING:
	case ONCE_DEAD_ENDING:
	case ONCE_WAITING_ENDING:
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
		break;
	}
}

static void end_item(struct lane_work *work, const struct once_item *item,
		     struct strand *strand)
{
	if (item->ending == ONCE_HELD_ENDING ||
	    item->ending == ONCE_PENDING_ENDING)
		return;
	if (strand != NULL)
		end_in_strand(work, item, strand);
	if (item->ending == ONCE_WAITING_ENDING)
		work->waiting_at_ms = 0; /* look when it is due */
	log_item(work, item);
}

void lane_work_end(struct lane_work *work, const struct once_item *items,
		   struct strand *const *strands, size_t count)
{
	numbers_count_items(work->options->numbers, work->options->index, items,
			    count);
	for (size_t i = 0; i < count; i++)
		end_item(work, &items[i], strands == NULL ? NULL : strands[i]);
}
