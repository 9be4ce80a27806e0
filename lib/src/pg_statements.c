/* An open-addressed table that never forgets: a session's statements are few,
 * and a prepared one stays on the server until the session ends. */
#include "pg_statements.h"

#include "hash.h"
#include "pg_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FULL = ONCE__PG_STATEMENTS_MAX / 2
};

static struct once__pg_statement *find_place(
	struct once__pg_statements *statements, const char *sql)
{
	size_t at = (size_t)once__hash64(sql, strlen(sql));

	for (;; at++) {
		struct once__pg_statement *place =
			&statements->table[at % ONCE__PG_STATEMENTS_MAX];

		if (place->sql == NULL || strcmp(place->sql, sql) == 0)
			return place;
	}
}

struct once__pg_statement *once__pg_statements_get(
	struct once__pg_statements *statements, const char *sql)
{
	struct once__pg_statement *place = find_place(statements, sql);

	if (place->sql != NULL)
		return place->state == ONCE__PG_UNFIT ? NULL : place;
	if (statements->count >= FULL)
		return NULL;
	place->sql = strdup(sql);
	if (place->sql == NULL)
		return NULL;
	place->touches = once__pg_touches(sql);
	snprintf(place->name, sizeof(place->name), "once_%zu",
		 ++statements->count);
	return place;
}

void once__pg_statements_fini(struct once__pg_statements *statements)
{
	for (size_t i = 0; i < ONCE__PG_STATEMENTS_MAX; i++)
		free(statements->table[i].sql);
}
