/* error.h - filling struct once_error. */
#ifndef ONCE_ERROR_H
#define ONCE_ERROR_H

#include <once/types.h>

/* Returns `status`, so that `return error_set(err, ONCE_…, "…");` reads well.
 * `err` may be NULL. */
enum once_status error_set(struct once_error *err, enum once_status status,
			   const char *fmt, ...) ONCE_PRINTF(3, 4);
enum once_status error_no_memory(struct once_error *err);

/* Put "context: " before the text that is there. */
void error_prefix(struct once_error *err, const char *fmt, ...)
	ONCE_PRINTF(2, 3);

void error_clear(struct once_error *err);

#endif
