/*
 * A table of events under one mutex. An entry lives from its first line to the
 * one that says all that was left unsaid:
 *
 *	goes on: met ── line ── each minute ── the last party leaves
 *	often:   met ── `most` lines ── at the end of its minute, the others
 *
 * The text and the fields that were met last are kept, for the line that may
 * follow. Lines are made under the mutex and written after it.
 */
#include "log_event.h"

#include "bytes.h"
#include "clock.h"
#include "log_impl.h"
#include "scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	EVENTS_MOST = 256,
	OFTEN_MOST = 192, /* the rest is left to what goes on */
	MINUTE_MS = 60000,
	TEXTS_MOST = 4 /* of an event that are known, and new in a minute */
};

struct event {
	uint64_t id; /* of its name; 0: free */
	enum log_level level;
	bool goes_on;
	size_t parties;
	int64_t began_ms;
	int64_t minute_ms; /* when this minute began */
	unsigned told;     /* lines in it */
	uint64_t texts[TEXTS_MOST];
	unsigned next_text;
	uint64_t times;
	uint64_t untold;      /* met since the last line */
	int64_t first_offset; /* of those; -1: it has none */
	char message[LOG_MESSAGE_SIZE];
	struct text fields;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct event events[EVENTS_MOST];

/* ---- the table ---- */

/* FNV-1a, and never 0. Runs of digits are one when texts are compared. */
static uint64_t hash_of(const char *text, bool with_digits)
{
	uint64_t hash = 14695981039346656037U;

	for (; *text != '\0'; text++)
		if (with_digits || *text < '0' || *text > '9')
			hash = (hash ^ (unsigned char)*text) * 1099511628211U;
	return hash == 0 ? 1 : hash;
}

static struct event *find(uint64_t id)
{
	for (size_t i = 0; i < EVENTS_MOST; i++)
		if (events[i].id == id)
			return &events[i];
	return NULL;
}

/* What goes on takes them from the end. */
static struct event *find_free(bool goes_on)
{
	for (size_t i = 0; i < OFTEN_MOST && !goes_on; i++)
		if (events[i].id == 0)
			return &events[i];
	for (size_t i = EVENTS_MOST; i > 0 && goes_on; i--)
		if (events[i - 1].id == 0)
			return &events[i - 1];
	return NULL;
}

/* NULL: there is no room. */
static struct event *find_or_begin(const char *name, bool goes_on)
{
	uint64_t id = hash_of(name, true);
	struct event *event = find(id);

	if (event != NULL)
		return event;
	event = find_free(goes_on);
	if (event == NULL)
		return NULL;
	event->id = id;
	event->goes_on = goes_on;
	event->began_ms = clock_ms();
	event->minute_ms = event->began_ms;
	return event;
}

static void end_event(struct event *event)
{
	text_fini(&event->fields);
	*event = (struct event){ 0 };
}

static int64_t offset_of(const struct log_field *fields)
{
	for (; fields != NULL && fields->key != NULL; fields++)
		if (fields->is_number && strcmp(fields->key, "offset") == 0)
			return fields->number;
	return -1;
}

static void keep(struct event *event, enum log_level level,
		 const struct log_field *fields, const char *message)
{
	if (event->untold == 0)
		event->first_offset = offset_of(fields);
	event->level = level;
	snprintf(event->message, sizeof(event->message), "%s", message);
	text_reset(&event->fields);
	log_add_fields(&event->fields, fields);
	event->times++;
	event->untold++;
}

/* ---- lines ---- */

static const char *fields_of(const struct event *event)
{
	return event->fields.broken ? NULL : event->fields.data;
}

static void tell_as_it_is(struct event *event, struct text *lines)
{
	log_add_line(lines, event->level, event->message, fields_of(event),
		     NULL);
	event->told++;
	event->untold = 0;
}

static void tell_still(struct event *event, int64_t now_ms, struct text *lines)
{
	char message[LOG_MESSAGE_SIZE + 8];

	snprintf(message, sizeof(message), "still: %s", event->message);
	log_add_line(lines, event->level, message, fields_of(event),
		     LOG_FIELDS(LOG_NUMBER("times", (int64_t)event->untold),
				LOG_NUMBER("since_s",
					   (now_ms - event->began_ms) / 1000)));
	event->untold = 0;
}

static void tell_more(struct event *event, struct text *lines)
{
	char message[LOG_MESSAGE_SIZE + 64];

	snprintf(message, sizeof(message),
		 "and %llu more, the last of them: %s",
		 (unsigned long long)event->untold, event->message);
	log_add_line(
		lines, event->level, message, fields_of(event),
		LOG_FIELDS(LOG_NUMBER("more", (int64_t)event->untold),
			   LOG_KNOWN("first_offset", event->first_offset)));
	event->untold = 0;
}

static void tell_unsaid(struct event *event, int64_t now_ms, struct text *lines)
{
	if (event->untold > 0 && event->goes_on)
		tell_still(event, now_ms, lines);
	else if (event->untold > 0)
		tell_more(event, lines);
}

/* Whoever reads warnings only has read its beginning. */
static void tell_end(const struct event *event, const char *message,
		     const struct log_field *fields, struct text *lines)
{
	scoped_text struct text added = { 0 };

	log_add_fields(&added, fields);
	log_add_line(
		lines,
		log_enabled(LOG_LEVEL_INFO) ? LOG_LEVEL_INFO : event->level,
		message, added.data,
		LOG_FIELDS(LOG_NUMBER("lasted_s",
				      (clock_ms() - event->began_ms) / 1000),
			   LOG_NUMBER("times", (int64_t)event->times)));
}

/* ---- events that go on ---- */

static bool has_text(const struct event *event, uint64_t text)
{
	for (size_t i = 0; i < TEXTS_MOST; i++)
		if (event->texts[i] == text)
			return true;
	return false;
}

static void tell_new_text(struct event *event, struct text *lines)
{
	uint64_t text = hash_of(event->message, false);

	if (event->told >= TEXTS_MOST || has_text(event, text))
		return;
	event->texts[event->next_text++ % TEXTS_MOST] = text;
	tell_as_it_is(event, lines);
}

static void drop_party(struct log_party *party, struct text *lines)
{
	struct event *event = party->event == 0 ? NULL : find(party->event);

	party->event = 0;
	if (event == NULL || --event->parties > 0)
		return;
	tell_unsaid(event, clock_ms(), lines);
	end_event(event);
}

static void join(struct log_party *party, struct event *event,
		 struct text *lines)
{
	if (party->event == event->id)
		return;
	drop_party(party, lines);
	party->event = event->id;
	event->parties++;
}

static void meet(struct log_party *party, const char *name,
		 enum log_level level, const struct log_field *fields,
		 const char *message, struct text *lines)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);
	struct event *event = find_or_begin(name, true);

	(void)held;
	if (event == NULL) {
		log_add_line(lines, level, message, NULL, fields);
		return;
	}
	join(party, event, lines);
	keep(event, level, fields, message);
	tell_new_text(event, lines);
}

void log_event_meet(struct log_party *party, const char *name,
		    enum log_level level, const struct log_field *fields,
		    const char *fmt, ...)
{
	scoped_text struct text lines = { 0 };
	char message[LOG_MESSAGE_SIZE];
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	meet(party, name, level, fields, message, &lines);
	log_write(&lines);
}

static void leave(struct log_party *party, const struct log_field *fields,
		  const char *message, struct text *lines)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);
	struct event *event = find(party->event);

	(void)held;
	if (event != NULL && event->parties == 1) {
		event->untold = 0; /* it is in the sum */
		tell_end(event, message, fields, lines);
	}
	drop_party(party, lines);
}

void log_event_leave(struct log_party *party, const struct log_field *fields,
		     const char *fmt, ...)
{
	scoped_text struct text lines = { 0 };
	char message[LOG_MESSAGE_SIZE];
	va_list args;

	if (party->event == 0)
		return;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	leave(party, fields, message, &lines);
	log_write(&lines);
}

static void forget(struct log_party *party, struct text *lines)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);

	(void)held;
	drop_party(party, lines);
}

void log_event_forget(struct log_party *party)
{
	scoped_text struct text lines = { 0 };

	if (party->event == 0)
		return;
	forget(party, &lines);
	log_write(&lines);
}

/* ---- what comes often ---- */

static void add_often(const char *name, unsigned most, enum log_level level,
		      const struct log_field *fields, const char *message,
		      struct text *lines)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);
	struct event *event = find_or_begin(name, false);

	(void)held;
	if (event == NULL) {
		log_add_line(lines, level, message, NULL, fields);
		return;
	}
	keep(event, level, fields, message);
	if (event->told < most)
		tell_as_it_is(event, lines);
}

void log_often(const char *name, unsigned most, enum log_level level,
	       const struct log_field *fields, const char *fmt, ...)
{
	scoped_text struct text lines = { 0 };
	char message[LOG_MESSAGE_SIZE];
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	add_often(name, most, level, fields, message, &lines);
	log_write(&lines);
}

/* ---- time ---- */

static void end_minute(struct event *event, int64_t now_ms, struct text *lines)
{
	event->minute_ms = now_ms;
	event->told = 0;
	if (event->goes_on)
		tell_still(event, now_ms, lines);
	else if (event->untold > 0)
		tell_more(event, lines);
	else
		end_event(event);
}

static void add_due(int64_t now_ms, struct text *lines)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);

	(void)held;
	for (size_t i = 0; i < EVENTS_MOST; i++)
		if (events[i].id != 0 &&
		    now_ms - events[i].minute_ms >= MINUTE_MS)
			end_minute(&events[i], now_ms, lines);
}

void log_events_on_timer(int64_t now_ms)
{
	scoped_text struct text lines = { 0 };

	add_due(now_ms, &lines);
	log_write(&lines);
}

static void add_unsaid(struct text *lines)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mutex);

	(void)held;
	for (size_t i = 0; i < EVENTS_MOST; i++)
		if (events[i].id != 0)
			tell_unsaid(&events[i], clock_ms(), lines);
}

void log_events_end(void)
{
	scoped_text struct text lines = { 0 };

	add_unsaid(&lines);
	log_write(&lines);
}
