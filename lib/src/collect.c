/* A statement that takes arrays costs the server a fraction of as many single
 * ones: it is planned, started and ended once. */
#include "collect.h"

#include "bytes.h"
#include "pg_array.h"

#include <stdlib.h>
#include <string.h>

enum {
	MOST_PARAMS = 64
};

struct once__collected {
	char *sql;
	struct once__pg_array *arrays; /* one for each parameter */
	size_t param_count;
	size_t row_count; /* 0: not used in this batch */
	size_t turn;      /* by its first row */
	size_t tag; /* of all rows; ONCE__PG_SHARED: of several messages */
};

static struct once__collected *find(struct once__collection *collection,
				    const char *sql, size_t param_count)
{
	for (size_t i = 0; i < collection->count; i++) {
		struct once__collected *at = &collection->statements[i];

		if (at->param_count == param_count && strcmp(at->sql, sql) == 0)
			return at;
	}
	return NULL;
}

static struct once__collected *add(struct once__collection *collection,
				   const char *sql, size_t param_count)
{
	struct once__collected made = {
		.sql = strdup(sql),
		.arrays = calloc(param_count + 1, sizeof(*made.arrays)),
		.param_count = param_count,
	};
	struct once__collected *grown =
		realloc(collection->statements,
			(collection->count + 1) * sizeof(*grown));

	if (grown != NULL)
		collection->statements = grown;
	if (grown == NULL || made.sql == NULL || made.arrays == NULL) {
		free(made.sql);
		free(made.arrays);
		return NULL;
	}
	grown[collection->count] = made;
	return &grown[collection->count++];
}

static void begin_rows(struct once__collected *collected, size_t turn,
		       size_t tag, const struct once_param *params)
{
	collected->turn = turn;
	collected->tag = tag;
	for (size_t i = 0; i < collected->param_count; i++)
		once__pg_array_init(&collected->arrays[i],
				    params[i].binary ? ONCE__PG_BYTEA
						     : ONCE__PG_TEXT);
}

void once__collect(struct once__collection *collection, struct once__pg *pg,
		   size_t tag, const char *sql, const struct once_param *params,
		   size_t count)
{
	struct once__collected *collected = find(collection, sql, count);

	if (count == 0 || count > MOST_PARAMS) {
		once__pg_fail(pg, tag, "54023",
			      "once_collect() takes 1 to 64 parameters");
		return;
	}
	if (collected == NULL)
		collected = add(collection, sql, count);
	if (collected == NULL) {
		once__pg_fail(pg, tag, "53200", "out of memory");
		return;
	}
	if (collected->row_count++ == 0)
		begin_rows(collected, collection->begun++, tag, params);
	if (collected->tag != tag)
		collected->tag = ONCE__PG_SHARED;
	for (size_t i = 0; i < count; i++)
		once__pg_array_add(&collected->arrays[i], params[i].value);
}

static void send(struct once__collected *collected, struct once__pg *pg)
{
	struct once_param params[MOST_PARAMS];

	for (size_t i = 0; i < collected->param_count; i++)
		params[i] = once__pg_array_param(&collected->arrays[i]);
	once__pg_send(pg, collected->tag, collected->sql, params,
		      collected->param_count);
	collected->row_count = 0;
}

/* Few statements: to find the next by its first row is cheap. */
static struct once__collected *next(struct once__collection *collection)
{
	struct once__collected *first = NULL;

	for (size_t i = 0; i < collection->count; i++) {
		struct once__collected *at = &collection->statements[i];

		if (at->row_count > 0 &&
		    (first == NULL || at->turn < first->turn))
			first = at;
	}
	return first;
}

void once__collect_send(struct once__collection *collection,
			struct once__pg *pg)
{
	struct once__collected *collected;

	while ((collected = next(collection)) != NULL)
		send(collected, pg);
}

void once__collect_reset(struct once__collection *collection)
{
	for (size_t i = 0; i < collection->count; i++)
		collection->statements[i].row_count = 0;
	collection->begun = 0;
}

void once__collect_fini(struct once__collection *collection)
{
	for (size_t i = 0; i < collection->count; i++) {
		struct once__collected *at = &collection->statements[i];

		for (size_t k = 0; k < at->param_count; k++)
			once__pg_array_fini(&at->arrays[k]);
		free(at->arrays);
		free(at->sql);
	}
	free(collection->statements);
}
