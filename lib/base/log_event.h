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
 * times a minute; then one line says how many more there were.
 *
 * Nothing is uncounted: log_events_end() says what wasn't said yet.
 *
 * Threads: any. Memory: a fixed number of names; beyond it lines are written
 * as log_line() does.
 */
#ifndef ONCE_LOG_EVENT_H
#define ONCE_LOG_EVENT_H

#include "log.h"

#include <stdbool.h>

enum {
	LOG_EVENT_NAME_SIZE = 64,
	LOG_OFTEN = 10 /* lines a minute of what a person may want to see */
};

/* One who meets events, one at a time: a lane, a partition. Zeroed at first;
 * used by one thread at a time. */
struct log_party {
	char event[LOG_EVENT_NAME_SIZE]; /* "": none */
};

/* Met by `party` once more. A text that differs from the one written last is
 * written at once, a few times a minute at most; what differs each time stands
 * in fields. */
void log_event_meet(struct log_party *party, const char *name,
		    enum log_level level, const struct log_field *fields,
		    const char *fmt, ...) ONCE_PRINTF(5, 6);
/* It is over for `party`. When it is for all, the line is written, with how
 * long it lasted and how often it was met. Nothing if the party met none. */
void log_event_leave(struct log_party *party, const struct log_field *fields,
		     const char *fmt, ...) ONCE_PRINTF(3, 4);

/* The party is gone, and its event isn't over for that: nothing is written. */
void log_event_forget(struct log_party *party);

/* The first `most` of a minute are written; of the others, at its end, how many
 * there were, and the fields of the last one. */
void log_often(const char *name, unsigned most, enum log_level level,
	       const struct log_field *fields, const char *fmt, ...)
	ONCE_PRINTF(5, 6);

/* Writes what is due. Called several times a minute by somebody. */
void log_events_on_timer(int64_t now_ms);
/* At the end of the process: all that wasn't written yet. */
void log_events_end(void);

#endif
