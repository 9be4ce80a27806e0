/*
 * A table of events by name, under one mutex. An entry lives from its first
 * line to the one that says all that was left unsaid:
 *
 *	goes on: met ── line ── each minute, if met since ── last party leaves
 *	often:   met ── `most` lines ── at the end of its minute, the others
 *
 * The text and fields that were met last are kept, for the line that may
 * follow.
 */
#include "log_event.h"

#include "bytes.h"
#include "clock.h"
#include "log_impl.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>

enum {
	EVENTS_MOST = 256,
	MINUTE_MS = 60000,
	NEW_TEXTS_MOST = 3 /* of an event in a minute */
};

struct event {
	char name[LOG_EVENT_NAME_SIZE]; /* "": free */
	enum log_level level;
	bool goes_on;
	size_t parties;
	int64_t began_ms;
	int64_t told_ms; /* the line of this minute */
	unsigned told;   /* lines since */
	uint64_t times;
	uint64_t untold; /* met since the last line */
	char message[LOG_MESSAGE_SIZE];
	struct text fields;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct event events[EVENTS_MOST];

/* ---- the table ---- */

/* "" finds a free one. */
static struct event *find(const char *name)
{
	for (size_t i = 0; i < EVENTS_MOST; i++)
		if (strcmp(events[i].name, name) == 0)
			return &events[i];
	return NULL;
}

/* Names that are too long are the same as far as they go. */
static struct event *find_or_begin(const char *name, bool goes_on)
{
	char cut[LOG_EVENT_NAME_SIZE];
	struct event *event;

	snprintf(cut, sizeof(cut), "%s", name);
	event = find(cut);
	if (event != NULL)
		return event;
	event = find("");
	if (event == NULL)
		return NULL;
	memcpy(event->name, cut, sizeof(cut));
	event->goes_on = goes_on;
	event->began_ms = clock_ms();
	event->told_ms = event->began_ms;
	return event;
}

static void end_event(struct event *event)
{
	text_fini(&event->fields);
	*event = (struct event){ 0 };
}

/* ---- lines ---- */

static void keep(struct event *event, enum log_level level,
		 const struct log_field *fields, const char *message)
{
	event->level = level;
	snprintf(event->message, sizeof(event->message), "%s", message);
	text_reset(&event->fields);
	log_add_fields(&event->fields, fields);
	event->times++;
	event->untold++;
}

static const char *fields_of(const struct event *event)
{
	return event->fields.broken ? NULL : event->fields.data;
}

static void tell_as_it_is(struct event *event)
{
	log_write(event->level, event->message, fields_of(event), NULL);
	event->told++;
	event->untold = 0;
}

static void tell_still(struct event *event, int64_t now_ms)
{
	char message[LOG_MESSAGE_SIZE + 16];

	snprintf(message, sizeof(message), "still: %s", event->message);
	log_write(event->level, message, fields_of(event),
		  LOG_FIELDS(LOG_NUMBER("times", (int64_t)event->untold),
			     LOG_NUMBER("since_s",
					(now_ms - event->began_ms) / 1000)));
	event->untold = 0;
}

static void tell_more(struct event *event)
{
	char message[LOG_MESSAGE_SIZE + 64];

	snprintf(message, sizeof(message),
		 "and %llu more, the last of them: %s",
		 (unsigned long long)event->untold, event->message);
	log_write(event->level, message, fields_of(event),
		  LOG_FIELDS(LOG_NUMBER("more", (int64_t)event->untold)));
	event->untold = 0;
}

/* ---- events that go on ---- */

/* Of the one it met before it knows no more. */
static void drop_party(struct log_party *party)
{
	struct event *event = find(party->event);

	if (party->event[0] != '\0' && event != NULL && --event->parties == 0)
		end_event(event);
	party->event[0] = '\0';
}

static void join(struct log_party *party, struct event *event)
{
	if (strcmp(party->event, event->name) == 0)
		return;
	drop_party(party);
	memcpy(party->event, event->name, sizeof(party->event));
	event->parties++;
}

static void meet(struct log_party *party, const char *name,
		 enum log_level level, const struct log_field *fields,
		 const char *message)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);
	struct event *event = find_or_begin(name, true);
	bool is_new;

	(void)held;
	if (event == NULL) {
		log_write(level, message, NULL, fields);
		return;
	}
	is_new = strcmp(event->message, message) != 0;
	join(party, event);
	keep(event, level, fields, message);
	if (is_new && event->told < NEW_TEXTS_MOST)
		tell_as_it_is(event);
}

void log_event_meet(struct log_party *party, const char *name,
		    enum log_level level, const struct log_field *fields,
		    const char *fmt, ...)
{
	char message[LOG_MESSAGE_SIZE];
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	meet(party, name, level, fields, message);
}

static void leave(struct log_party *party, const struct log_field *fields,
		  const char *message)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);
	scoped_text struct text added = { 0 };
	struct event *event = find(party->event);

	(void)held;
	if (event != NULL && event->parties == 1 &&
	    log_enabled(LOG_LEVEL_INFO)) {
		log_add_fields(&added, fields);
		log_write(
			LOG_LEVEL_INFO, message, added.data,
			LOG_FIELDS(LOG_NUMBER("lasted_s",
					      (clock_ms() - event->began_ms) /
						      1000),
				   LOG_NUMBER("times", (int64_t)event->times)));
	}
	drop_party(party);
}

void log_event_leave(struct log_party *party, const struct log_field *fields,
		     const char *fmt, ...)
{
	char message[LOG_MESSAGE_SIZE];
	va_list args;

	if (party->event[0] == '\0')
		return;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	leave(party, fields, message);
}

void log_event_forget(struct log_party *party)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);

	(void)held;
	drop_party(party);
}

/* ---- what comes often ---- */

static void add_often(const char *name, unsigned most, enum log_level level,
		      const struct log_field *fields, const char *message)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);
	struct event *event = find_or_begin(name, false);

	(void)held;
	if (event == NULL) {
		log_write(level, message, NULL, fields);
		return;
	}
	keep(event, level, fields, message);
	if (event->told < most)
		tell_as_it_is(event);
}

void log_often(const char *name, unsigned most, enum log_level level,
	       const struct log_field *fields, const char *fmt, ...)
{
	char message[LOG_MESSAGE_SIZE];
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	add_often(name, most, level, fields, message);
}

/* ---- time ---- */

static void end_minute(struct event *event, int64_t now_ms)
{
	bool was_met = event->untold > 0;

	event->told_ms = now_ms;
	event->told = 0;
	if (event->goes_on)
		tell_still(event, now_ms);
	else if (was_met)
		tell_more(event);
	else
		end_event(event);
}

void log_events_on_timer(int64_t now_ms)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);

	(void)held;
	for (size_t i = 0; i < EVENTS_MOST; i++)
		if (events[i].name[0] != '\0' &&
		    now_ms - events[i].told_ms >= MINUTE_MS)
			end_minute(&events[i], now_ms);
}

void log_events_end(void)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);

	(void)held;
	for (size_t i = 0; i < EVENTS_MOST; i++) {
		if (events[i].name[0] == '\0')
			continue;
		if (events[i].untold > 0 && events[i].goes_on)
			tell_still(&events[i], clock_ms());
		else if (events[i].untold > 0)
			tell_more(&events[i]);
		end_event(&events[i]);
	}
}
