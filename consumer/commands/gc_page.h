/* gc_page.h - what onced gc has to say: a line for each scope, and what a
 * person should know beside. */
#ifndef ONCED_GC_PAGE_H
#define ONCED_GC_PAGE_H

#include "command.h"
#include "text.h"

#include <once/upkeep.h>

struct gc_line {
	int64_t removed;
	int64_t kept;
	bool busy;       /* another cleaner had it */
	char doubt[256]; /* why its clock isn't believed; "": it is */
};

struct gc_page {
	const struct config *cfg;
	bool json;
	bool dry_run;
	bool interrupted;
	bool in_doubt;         /* one of them */
	struct gc_line *lines; /* of the scopes that were cleaned */
	size_t count;
	struct text rows;  /* the table, or the list */
	struct text notes; /* sentences */
};

bool gc_page_init(struct gc_page *page, const struct config *cfg,
		  const struct arguments *arguments, size_t scopes);
void gc_page_fini(struct gc_page *page);

void gc_page_add_step(struct gc_page *page, const struct once_clean_step *step);
/* A once_log_reading_f, after the steps. */
void gc_page_add_reading(void *page, const struct once_log_reading *reading);
void gc_page_print(struct gc_page *page);

#endif
