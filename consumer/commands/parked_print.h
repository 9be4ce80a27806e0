/*
 * parked_print.h - parked messages, for people and for scripts. What they hold
 * is anything at all, so nothing of it reaches a terminal as it is.
 */
#ifndef ONCED_PARKED_PRINT_H
#define ONCED_PARKED_PRINT_H

#include "config.h"
#include "text.h"

#include <once/parked.h>

struct parked_page {
	struct text text;
	const struct config *cfg; /* whose routes take up what is parked */
	bool whole;               /* with key, value, headers */
	size_t count;
	struct text place; /* scope and topic of the last one */
};

/* A table of two lines for each message, 80 columns wide; or, whole, all. */
void parked_print_text(struct parked_page *page,
		       const struct once_parked_message *msg);
/* An object of the array: the first has its "[". Bytes are null,
 * {"text": …}, or {"base64": …} if they aren't UTF-8 or hold a NUL. */
void parked_print_json(struct parked_page *page,
		       const struct once_parked_message *msg);
void parked_page_fini(struct parked_page *page);

#endif
