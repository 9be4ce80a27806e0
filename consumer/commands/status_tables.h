/*
 * status_tables.h - partitions, routes and parked messages, each a table.
 */
#ifndef ONCED_STATUS_TABLES_H
#define ONCED_STATUS_TABLES_H

#include "status_print.h"

void status_tables_print(const struct status_page *page,
			 const struct terminal *terminal, struct text *text);

#endif
