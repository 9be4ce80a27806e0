/* log_impl.h - a line in two steps, for lines that are kept. */
#ifndef ONCE_LOG_IMPL_H
#define ONCE_LOG_IMPL_H

#include "log.h"
#include "text.h"

#include <stdarg.h>

enum {
	LOG_MESSAGE_SIZE = 1024
};

/* " key=value" for each. */
void log_add_fields(struct text *line, const struct log_field *fields);
/* With fields as they were added, and more of them. Both may be NULL. */
void log_write(enum log_level level, const char *message, const char *added,
	       const struct log_field *more);

#endif
