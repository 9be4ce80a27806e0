/*
 * verdict.h - what came of it, asked of the database: the business tables
 * against what was sent. Nothing that onced counts is used.
 *
 * Threads: main.
 */
#ifndef ONCED_VERDICT_H
#define ONCED_VERDICT_H

#include "database.h"

#include <stdbool.h>

/* What the database can't know. */
struct verdict_facts {
	unsigned kills;
	unsigned kills_wanted;
	int stop_code; /* of the last consumer */
	double seconds;
};

/* Print the table to stdout, and what is wrong with it to stderr. demo.sent is
 * filled. */
enum once_status verdict_give(struct database *database,
			      const struct verdict_facts *facts,
			      bool *ret_is_good,
			      struct once_error *err) ONCE_MUST_CHECK;

#endif
