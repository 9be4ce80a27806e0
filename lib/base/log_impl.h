/* log_impl.h - lines that are made at one time and written at another. */
#ifndef ONCE_LOG_IMPL_H
#define ONCE_LOG_IMPL_H

#include "log.h"
#include "text.h"

enum {
	LOG_MESSAGE_SIZE = 1024
};

/* " key=value" for each; NULL is none. */
void log_add_fields(struct text *line, const struct log_field *fields);
/* A whole line, behind what is there; with fields as they were added (or NULL),
 * and with more of them. */
void log_add_line(struct text *lines, enum log_level level, const char *message,
		  const char *added, const struct log_field *more);
void log_write(const struct text *lines);

#endif
