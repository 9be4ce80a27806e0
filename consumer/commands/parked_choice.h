/*
 * parked_choice.h - which parked messages are meant, from the command line.
 */
#ifndef ONCED_PARKED_CHOICE_H
#define ONCED_PARKED_CHOICE_H

#include "command.h"

#include <once/parked.h>

/* The options that choose. */
#define PARKED_CHOICE_OPTIONS \
	(TAKES_CONFIG | TAKES_ROUTE | TAKES_SCOPE | TAKES_TOPIC | \
	 TAKES_PARTITION | TAKES_OFFSET | TAKES_REASON | TAKES_KEY | \
	 TAKES_OLDER_THAN | TAKES_NEWER_THAN | TAKES_LIMIT)

struct parked_choice {
	struct config *cfg;
	struct once_parked_filter filter;
	bool is_narrow; /* something was chosen, beside a limit */

	/* What the filter points to. */
	const char **scopes;
	int32_t partition;
	int64_t offset;
};

/* EXIT_CODE_OK, or what is wrong is on stderr. */
int parked_choice_init(struct parked_choice *choice,
		       const struct arguments *arguments);
/* Also after it was refused. */
void parked_choice_fini(struct parked_choice *choice);

#endif
