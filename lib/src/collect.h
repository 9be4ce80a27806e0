/*
 * collect.h - rows that the handlers of a batch give for one statement, or for
 * one table: it runs once, with an array for each parameter.
 *
 * Threads: the session's.
 */
#ifndef ONCE__COLLECT_H
#define ONCE__COLLECT_H

#include "pg.h"

struct once__collected;

/* All zero is empty. Memory is kept from one batch to the next. */
struct once__collection {
	struct once__collected *places;
	size_t count;
	size_t begun; /* of them, since all was sent */
	size_t bytes; /* of all rows */
};

/* A row for `sql`, which is copied like the parameters. A parameter's array is
 * bytea[] if its first row is binary, else text[]. */
void once__collect(struct once__collection *collection, struct once__pg *pg,
		   size_t tag, const char *sql, const struct once_param *params,
		   size_t count);
/* A row for a table: `target` is its name, and its columns in brackets. */
void once__collect_insert(struct once__collection *collection,
			  struct once__pg *pg, size_t tag, const char *target,
			  const struct once_param *params, size_t count);

/* Queue the statements in the order of their first rows. A failure is the
 * message's that gave all rows; else nobody knows whose: ONCE__PG_SHARED. */
void once__collect_send(struct once__collection *collection,
			struct once__pg *pg);

/* Forget all rows. */
void once__collect_reset(struct once__collection *collection);
/* Forget what the session's server has said, too. */
void once__collect_fini(struct once__collection *collection);

#endif
