/* What follows from the ending of a message: its strand goes on, waits or
 * stops, it is counted, and where a person should know, said. */
#include "lane_work.h"

#include "backoff.h"
#include "bytes.h"
#include "clock.h"
#include "log.h"
#include "log_event.h"
#include "numbers.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

enum {
	LONGEST_PROBE_MS = 30000, /* somebody has just granted it, and looks */
	EVENT_NAME_SIZE = 320
};

/* ---- what is said of a message ---- */

#define MESSAGE_FIELDS(route, item, next_ms) \
	LOG_FIELDS(LOG_TEXT("route", (route)->name), \
		   LOG_TEXT("topic", (item)->record.topic), \
		   LOG_NUMBER("partition", (item)->record.partition), \
		   LOG_NUMBER("offset", (item)->record.offset), \
		   LOG_BYTES("msg_id", (item)->msg_id), \
		   LOG_BYTES("biz_id", (item)->biz_id), \
		   LOG_TEXT("verdict", once_ending_word((item)->ending)), \
		   LOG_TEXT("cause", once_cause_word((item)->cause)), \
		   LOG_KNOWN("attempt", known_attempt(item)), \
		   LOG_KNOWN("max_attempts", known_most(route, item)), \
		   LOG_KNOWN("next_ms", next_ms), \
		   LOG_TEXT("sqlstate", known_state(item)))

#define STRAND_FIELDS(strand) \
	LOG_FIELDS(LOG_TEXT("topic", (strand)->address.topic), \
		   LOG_NUMBER("partition", (strand)->address.number), \
		   LOG_NUMBER("offset", (strand)->position.next_offset))

static enum log_level level_of(const struct once_item *item)
{
	if (item->ending == ONCE_PAUSED_ENDING &&
	    item->cause == ONCE_CAUSE_ENVIRONMENT)
		return LOG_LEVEL_ERROR;
	switch (item->ending) {
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

/* Of what isn't tried, or was told already, no attempt is known: -1. */
static int64_t known_attempt(const struct once_item *item)
{
	return item->ending == ONCE_RETRY_ENDING ||
			       item->ending == ONCE_WAITING_ENDING ||
			       item->cause == ONCE_CAUSE_ATTEMPTS
		       ? (int64_t)item->attempt
		       : -1;
}

/* 0: for ever. */
static int64_t known_most(const struct route_config *route,
			  const struct once_item *item)
{
	int64_t most = route->retry.max_attempts;

	return known_attempt(item) < 0 || most == 0 ? -1 : most;
}

static const char *known_state(const struct once_item *item)
{
	return item->sqlstate[0] == '\0' ? NULL : item->sqlstate;
}

/* A bad producer makes thousands of them alike. */
static void log_item(const struct lane_work *work, const struct once_item *item,
		     int64_t next_ms)
{
	enum log_level level = level_of(item);
	const struct route_config *route =
		&work->options->cfg->routes[item->route];
	char name[EVENT_NAME_SIZE];

	if (!log_enabled(level))
		return;
	snprintf(name, sizeof(name), "%s/%s/%s", once_ending_word(item->ending),
		 once_cause_word(item->cause), route->name);
	log_often(name, level == LOG_LEVEL_DEBUG ? UINT_MAX : LOG_OFTEN, level,
		  MESSAGE_FIELDS(route, item, next_ms), "%s%s%s",
		  once_ending_word(item->ending),
		  item->reason[0] == '\0' ? "" : ": ", item->reason);
}

/* The partition stands still meanwhile. */
static void log_wait(const struct lane_work *work, struct strand *strand,
		     const struct once_item *item, int64_t next_ms)
{
	const struct route_config *route =
		&work->options->cfg->routes[item->route];
	char name[EVENT_NAME_SIZE];

	snprintf(name, sizeof(name), "waits/%d/%s", (int)item->record.partition,
		 item->record.topic);
	log_event_meet(&strand->waiting, name, level_of(item),
		       MESSAGE_FIELDS(route, item, next_ms), "%s%s%s",
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
	int64_t most_ms = retry->max_delay_ms;

	if (strand->waits_for != ONCE_CAUSE_NONE && most_ms > LONGEST_PROBE_MS)
		most_ms = LONGEST_PROBE_MS;
	strand->not_before_ms =
		clock_ms() + backoff_ms(times, retry->first_delay_ms, most_ms);
}

/* What isn't the message's fault, and doesn't pass by itself, a person has to
 * know of: once, and then in readiness for as long as it lasts. */
static void set_waiting(struct lane_work *work, struct strand *strand,
			const struct once_item *item)
{
	bool is_told = item->ending == ONCE_PAUSED_ENDING &&
		       item->cause != ONCE_CAUSE_ASKED;

	if (!is_told && strand->waits_for == ONCE_CAUSE_NONE)
		return;
	strand->waits_for = is_told ? item->cause : ONCE_CAUSE_NONE;
	snprintf(strand->why, sizeof(strand->why), "%s",
		 is_told ? item->reason : "");
	work->waits_changed = true;
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
	set_waiting(work, strand, item);
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

/* It stands still for another reason now, which is told by itself. */
static bool goes_on(const struct once_item *item)
{
	return item->ending != ONCE_RETRY_ENDING &&
	       item->ending != ONCE_HALTED_ENDING;
}

static void end_item(struct lane_work *work, const struct once_item *item,
		     struct strand *strand)
{
	int64_t next_ms = -1;

	if (item->ending == ONCE_HELD_ENDING ||
	    item->ending == ONCE_PENDING_ENDING)
		return;
	if (strand != NULL)
		end_in_strand(work, item, strand);
	if (item->ending == ONCE_WAITING_ENDING)
		work->waiting_at_ms = 0; /* look when it is due */
	if (strand != NULL && strand->not_before_ms > 0)
		next_ms = strand->not_before_ms - clock_ms();
	if (strand != NULL && item->ending == ONCE_PAUSED_ENDING) {
		log_wait(work, strand, item, next_ms);
		return;
	}
	if (strand != NULL)
		log_event_leave(&strand->waiting, STRAND_FIELDS(strand), "%s",
				goes_on(item) ? "the partition goes on"
					      : "the partition waits no "
						"longer for that");
	log_item(work, item, next_ms);
}

void lane_work_end(struct lane_work *work, const struct once_item *items,
		   struct strand *const *strands, size_t count)
{
	numbers_count_items(work->options->numbers, work->options->index, items,
			    count);
	for (size_t i = 0; i < count; i++)
		end_item(work, &items[i], strands == NULL ? NULL : strands[i]);
}
