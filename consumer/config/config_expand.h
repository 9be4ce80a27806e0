/*
 * config_expand.h - what stands in a value for something outside the file:
 *
 *	${NAME}           an environment variable; unset is an error
 *	${NAME:-default}  `default` where it is unset or empty
 *	${file:/path}     a file's text without the newline at its end, and
 *	                  without a byte order mark of UTF-8 at its beginning
 *	$$                one dollar
 *
 * Any other dollar is itself. A default is plain text up to the next "}".
 */
#ifndef ONCED_CONFIG_EXPAND_H
#define ONCED_CONFIG_EXPAND_H

#include "config_quote.h"

/* How much has come from outside: bounded for a value and for a file. All zero
 * at the beginning of a file. */
struct outside {
	size_t size;
	size_t value_size;
	unsigned value_references;
};

/* `folder`: where relative paths begin. `syntax`: what the result will be read
 * as; a text from outside is put in as a value of it (config_quote.h).
 * `ret_outside`: something came from outside and mustn't be shown. Errors:
 * INVALID, "what; what to write". */
enum once_status expand_value(const char *value, const char *folder,
			      enum quote_syntax syntax, struct outside *outside,
			      struct text *text, bool *ret_outside,
			      struct once_error *err) ONCE_MUST_CHECK;

/* `path` itself if it is absolute, else from `folder` on. */
void expand_path(const char *path, const char *folder, struct text *text);

#endif
