/* A line is built whole and written with one write(2), so lines of two threads
 * or two processes never mix. */
#include "log.h"

#include "bytes.h"
#include "clock.h"
#include "log_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static enum log_level log_max = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	log_max = level;
}

int log_enabled(enum log_level level)
{
	return level <= log_max;
}

static void add_time(struct text *line)
{
	int64_t now_ms = clock_unix_ms();
	time_t seconds = (time_t)(now_ms / 1000);
	struct tm utc;
	char date[32];

	gmtime_r(&seconds, &utc);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
	text_addf(line, "time=%s.%03dZ", date, (int)(now_ms % 1000));
}

static bool is_bare(struct once_bytes value)
{
	const unsigned char *at = value.data;

	for (size_t i = 0; i < value.size; i++)
		if (at[i] <= ' ' || at[i] == '"' || at[i] == '=' ||
		    at[i] == '\\' || at[i] >= 0x7F)
			return false;
	return value.size > 0;
}

static void add_value(struct text *line, struct once_bytes value)
{
	if (is_bare(value))
		text_add(line, value.data, value.size);
	else
		text_add_json(line, value);
}

static void add_field(struct text *line, const struct log_field *field)
{
	if (field->is_number) {
		text_addf(line, " %s=%lld", field->key,
			  (long long)field->number);
	} else if (field->text.data != NULL) {
		text_addf(line, " %s=", field->key);
		add_value(line, field->text);
	}
}

void log_add_fields(struct text *line, const struct log_field *fields)
{
	for (; fields != NULL && fields->key != NULL; fields++)
		add_field(line, fields);
}

void log_add_line(struct text *lines, enum log_level level, const char *message,
		  const char *added, const struct log_field *more)
{
	static const char *const words[] = { "error", "warning", "info",
					     "debug" };

	add_time(lines);
	text_addf(lines, " level=%s msg=", words[level]);
	text_add_json(lines, bytes_text(message));
	text_adds(lines, added == NULL ? "" : added);
	log_add_fields(lines, more);
	text_adds(lines, "\n");
}

void log_write(const struct text *lines)
{
	if (!lines->broken && lines->size > 0 &&
	    write(STDERR_FILENO, lines->data, lines->size) < 0)
		return; /* nowhere left to say it */
}

void log_line(enum log_level level, const struct log_field *fields,
	      const char *fmt, ...)
{
	scoped_text struct text line = { 0 };
	char message[LOG_MESSAGE_SIZE];
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	log_add_line(&line, level, message, NULL, fields);
	log_write(&line);
}
