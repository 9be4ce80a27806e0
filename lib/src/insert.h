/*
 * insert.h - the SQL that inserts rows into a table of which only the name and
 * the columns are known: `refund (refund_no, amount)`.
 *
 * Threads: the session's.
 */
#ifndef ONCE__INSERT_H
#define ONCE__INSERT_H

#include "pg.h"

enum {
	ONCE__INSERT_MOST_PARAMS = 64
};

struct once__insert {
	char *one; /* INSERT of a row, with a parameter for each column */
	char *all; /* of any number, with an array for each; NULL: see below */
	int32_t types[ONCE__INSERT_MOST_PARAMS]; /* of the arrays' elements */
	size_t count;
	uint64_t binary; /* a bit for each parameter that isn't text */
	bool learned;
	unsigned generation; /* of the statements that told */
};

/* Copied. false: no memory; what was made is to be freed. */
bool once__insert_init(struct once__insert *insert, const char *target,
		       uint64_t binary, size_t count);
/* Ask the server for the columns' types, once, and make `all`. It stays NULL
 * where a value can't be an element of an array, like another array in binary,
 * and where the session can prepare no more: then `one` is to be used.
 * A failure is that of `tag`. */
void once__insert_learn(struct once__insert *insert, struct once__pg *pg,
			size_t tag);
void once__insert_fini(struct once__insert *insert);

#endif
