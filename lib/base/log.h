/*
 * log.h - logfmt lines on stderr, one for each event:
 *
 *	time=2026-11-29T03:00:00.123Z level=info msg="…" topic=refunds
 *partition=3
 *
 * Threads: any. The level is set once, before other threads start.
 */
#ifndef ONCE_LOG_H
#define ONCE_LOG_H

#include "bytes.h"
#include <stdint.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

void log_set_level(enum log_level level);
int log_enabled(enum log_level level);

/* One field of a line. `key` NULL ends a list; a text without data (a key that
 * the route doesn't have) is left out. */
struct log_field {
	const char *key;
	struct once_bytes text;
	int64_t number;
	int is_number;
};

/* clang-format off */
#define LOG_TEXT(key, string) { (key), bytes_text(string), 0, 0 }
#define LOG_BYTES(key, bytes) { (key), (bytes), 0, 0 }
#define LOG_NUMBER(key, number) { (key), { NULL, 0 }, (number), 1 }
/* Left out if it is negative. */
#define LOG_KNOWN(key, number) { (key), { NULL, 0 }, (number), (number) >= 0 }
#define LOG_END { NULL, { NULL, 0 }, 0, 0 }
/* clang-format on */
#define LOG_FIELDS(...) ((const struct log_field[]){ __VA_ARGS__, LOG_END })

/* `fields` may be NULL. Values are quoted where logfmt needs it; control bytes
 * are escaped, so a message can't forge a line. */
void log_line(enum log_level level, const struct log_field *fields,
	      const char *fmt, ...) ONCE_PRINTF(3, 4);

#define log_error(fields, ...) log_line(LOG_LEVEL_ERROR, fields, __VA_ARGS__)
#define log_warning(fields, ...) \
	log_line(LOG_LEVEL_WARNING, fields, __VA_ARGS__)
#define log_info(fields, ...) log_line(LOG_LEVEL_INFO, fields, __VA_ARGS__)
#define log_debug(fields, ...) log_line(LOG_LEVEL_DEBUG, fields, __VA_ARGS__)

#endif
