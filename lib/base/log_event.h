/*
 * log_event.h - what goes on, or comes again and again, without a line for each
 * time.
 *
 * An event that goes on (a server is away) is one line when it begins, one a
 * minute with how often it was met since, and one when it is over. It has a
 * name: what eight threads meet is one event, which is over when it is over for
 * all of them.
 *
 * What comes again and again (messages that are bad alike) is written a few
 * times a minute; then one line says how many more there were, and which were
 * the first and the last of them.
 *
 * Names are few: of servers, partitions, routes and causes, never of messages.
 * Beyond 256 at once, or 192 of what comes again and again, lines are written
 * as log_line() does.
 *
 * Threads: any. Nothing is written while others are kept waiting.
 */
#ifndef ONCE_LOG_EVENT_H
#define ONCE_LOG_EVENT_H

#include "log.h"

enum {
	LOG_OFTEN = 10 /* lines a minute of what a person may want to see */
};

/* One who meets events, one at a time: a lane, a partition. Zeroed at first;
 * used by one thread at a time. */
struct log_party {
	uint64_t event; /* 0: none */
};

/* Met by `party` once more. A text that the event hasn't had, numbers aside, is
 * written at once, but a few times a minute at most; what differs each time
 * stands in fields. */
void log_event_meet(struct log_party *party, const char *name,
		    enum log_level level, const struct log_field *fields,
		    const char *fmt, ...) ONCE_PRINTF(5, 6);
/* It is over for `party`. When it is for all, the line is written, with how
 * long it lasted and how often it was met. Nothing if the party met none. */
void log_event_leave(struct log_party *party, const struct log_field *fields,
		     const char *fmt, ...) ONCE_PRINTF(3, 4);
/* The party is gone, whether or not its event is over. */
void log_event_forget(struct log_party *party);

/* The first `most` of a minute are written; of the others, at its end, how many
 * there were, the fields of the last one, and the field "offset" of the first.
 */
void log_often(const char *name, unsigned most, enum log_level level,
	       const struct log_field *fields, const char *fmt, ...)
	ONCE_PRINTF(5, 6);

/* Write what is due. To be called several times a minute by somebody. */
void log_events_on_timer(int64_t now_ms);
/* The process ends: write what wasn't written yet. */
void log_events_end(void);

#endif
