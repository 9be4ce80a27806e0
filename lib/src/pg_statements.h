/* pg_statements.h - which statement texts a session has prepared, under which
 * name. */
#ifndef ONCE__PG_STATEMENTS_H
#define ONCE__PG_STATEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum once__pg_prepared {
	ONCE__PG_NEW,
	ONCE__PG_SENT, /* in the pipeline, not answered yet */
	ONCE__PG_READY,
	ONCE__PG_UNFIT /* what it returns has changed: not prepared again */
};

struct once__pg_statement {
	char *sql; /* NULL: a free place */
	char name[24];
	enum once__pg_prepared state;
	bool touches;         /* settings, perhaps */
	unsigned transaction; /* in which it was prepared */
	int64_t prepared_ms;
};

enum {
	ONCE__PG_STATEMENTS_MAX = 256
};

/* All zero is empty. */
struct once__pg_statements {
	struct once__pg_statement table[ONCE__PG_STATEMENTS_MAX];
	size_t count;
};

/* The text's place, made when it is new. NULL: the table is full (a handler
 * that writes data into its SQL), no memory, or it is unfit: send it
 * unprepared. */
struct once__pg_statement *once__pg_statements_get(
	struct once__pg_statements *statements, const char *sql);
void once__pg_statements_fini(struct once__pg_statements *statements);

#endif
