/*
 * top_print.h - `onced top`: the keys that came most often, a table for each
 * route.
 */
#ifndef ONCED_TOP_PRINT_H
#define ONCED_TOP_PRINT_H

#include "process_status.h"
#include "terminal.h"

void top_print(const struct process_status *process,
	       const struct terminal *terminal, struct text *text);

#endif
