/*
 * status_print.h - `onced status`: what database and process say, on one page.
 * Either may be missing; what it alone knows is then shown as "-".
 */
#ifndef ONCED_STATUS_PRINT_H
#define ONCED_STATUS_PRINT_H

#include "config.h"
#include "process_status.h"
#include "status_facts.h"
#include "terminal.h"

struct status_page {
	const struct config *cfg;
	const struct facts *facts; /* NULL: the database isn't there */
	const char *database_why;  /* and why */
	const struct process_status *process; /* NULL: it doesn't answer */
	const char *process_why;              /* and why */
};

/* For people: lines of at most terminal->columns. */
void status_print(const struct status_page *page,
		  const struct terminal *terminal, struct text *text);
/* For scripts: one object. */
void status_print_json(const struct status_page *page, struct text *json);

#endif
