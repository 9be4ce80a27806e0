/*
 * config_quote.h - how a text from outside is written where it stands, so that
 * it is one value there and nothing else, whatever is in it.
 */
#ifndef ONCED_CONFIG_QUOTE_H
#define ONCED_CONFIG_QUOTE_H

#include "text.h"

#include <stdbool.h>

/* What the text around it is read as, later. */
enum quote_syntax {
	QUOTE_NONE,     /* nothing: as it is */
	QUOTE_CONNINFO, /* libpq's, keywords or URL */
	QUOTE_URL
};

/* Add `value` to `text`; `rest` is written behind it. Where a whole setting
 * begins, or a keyword is due, `value` stays as it is: it can only be meant as
 * syntax there.
 *
 * false: nothing is added, for a keyword is due (not at the beginning), and
 * `value` is `only_value`. */
bool quote_add(struct text *text, enum quote_syntax syntax, const char *value,
	       bool only_value, const char *rest);

#endif
