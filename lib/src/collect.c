/* A statement that takes arrays costs the server a fraction of as many single
 * ones: it is planned, started and ended once. For a batch of some hundred rows
 * that is as cheap as COPY, and it stays in the pipeline. */
#include "collect.h"

#include "bytes.h"
#include "insert.h"
#include "pg_array.h"

#include <stdlib.h>
#include <string.h>

enum {
	MOST_PARAMS = ONCE__INSERT_MOST_PARAMS,
	MOST_PLACES = 64,     /* a handler has a few; else SQL holds data */
	MOST_BYTES = 4 << 20, /* then they are sent, batch or not */
	MOST_KEPT = 1 << 20,  /* bytes of one array, for the next batch */
	NULL_BYTES = 4        /* that an element takes by itself */
};

struct once__collected {
	char *text; /* the statement, or what is inserted into */
	bool inserts;
	struct once__insert insert;
	struct once__pg_array *arrays; /* one for each parameter */
	size_t param_count;
	size_t row_count; /* 0: not used in this batch */
	size_t turn;      /* by its first row */
	size_t tag; /* of all rows; ONCE__PG_SHARED: of several messages */
};

struct row {
	const char *text;
	bool inserts;
	size_t tag;
	const struct once_param *params;
	size_t count;
};

/* ---- where a row is kept ---- */

/* An insert's values are as they are; what a statement over arrays does with
 * them, its author has written. */
static uint64_t formats_of(const struct row *row)
{
	uint64_t binary = 0;

	for (size_t i = 0; row->inserts && i < row->count; i++)
		binary |= (uint64_t)(row->params[i].binary != 0) << i;
	return binary;
}

static struct once__collected *find(struct once__collection *collection,
				    const struct row *row)
{
	uint64_t binary = formats_of(row);

	for (size_t i = 0; i < collection->count; i++) {
		struct once__collected *at = &collection->places[i];

		if (at->param_count == row->count &&
		    at->inserts == row->inserts &&
		    at->insert.binary == binary &&
		    strcmp(at->text, row->text) == 0)
			return at;
	}
	return NULL;
}

static void free_place(struct once__collected *collected)
{
	for (size_t i = 0;
	     collected->arrays != NULL && i < collected->param_count; i++)
		once__pg_array_fini(&collected->arrays[i]);
	once__insert_fini(&collected->insert);
	free(collected->arrays);
	free(collected->text);
}

static bool init_place(struct once__collected *collected, const struct row *row)
{
	*collected = (struct once__collected){
		.text = strdup(row->text),
		.inserts = row->inserts,
		.arrays = calloc(row->count, sizeof(*collected->arrays)),
		.param_count = row->count,
	};
	if (collected->text == NULL || collected->arrays == NULL)
		return false;
	return !row->inserts || once__insert_init(&collected->insert, row->text,
						  formats_of(row), row->count);
}

static struct once__collected *add(struct once__collection *collection,
				   const struct row *row)
{
	struct once__collected *place;

	if (collection->places == NULL)
		collection->places =
			calloc(MOST_PLACES, sizeof(*collection->places));
	if (collection->places == NULL)
		return NULL;
	place = &collection->places[collection->count];
	if (!init_place(place, row)) {
		free_place(place);
		return NULL;
	}
	collection->count++;
	return place;
}

static void clear_places(struct once__collection *collection)
{
	while (collection->count > 0)
		free_place(&collection->places[--collection->count]);
}

static struct once__collected *get(struct once__collection *collection,
				   struct once__pg *pg, const struct row *row)
{
	struct once__collected *collected = find(collection, row);

	if (collected != NULL)
		return collected;
	if (collection->count == MOST_PLACES) {
		once__collect_send(collection, pg);
		clear_places(collection);
	}
	return add(collection, row);
}

/* ---- a row ---- */

static bool is_fit(struct once__pg *pg, const struct row *row)
{
	if (row->count == 0 || row->count > MOST_PARAMS) {
		once__pg_fail(pg, row->tag, "54023",
			      "once_insert() and once_collect() take 1 to 64 "
			      "parameters");
		return false;
	}
	for (size_t i = 0; i < row->count; i++)
		if (!row->params[i].binary &&
		    !once__pg_check_text(pg, row->tag, row->params[i].value))
			return false;
	return true;
}

static void begin_rows(struct once__collected *collected, size_t turn,
		       const struct row *row)
{
	collected->turn = turn;
	collected->tag = row->tag;
	for (size_t i = 0; i < row->count; i++)
		once__pg_array_init(&collected->arrays[i],
				    row->params[i].binary ? ONCE__PG_BYTEA
							  : ONCE__PG_TEXT);
}

static size_t add_values(struct once__collected *collected,
			 const struct row *row)
{
	size_t bytes = 0;

	for (size_t i = 0; i < row->count; i++) {
		struct once_bytes value = row->params[i].value;

		once__pg_array_add(&collected->arrays[i], value);
		bytes += NULL_BYTES + (value.data == NULL ? 0 : value.size);
	}
	return bytes;
}

static void give(struct once__collection *collection, struct once__pg *pg,
		 const struct row *row)
{
	struct once__collected *collected;

	if (!is_fit(pg, row))
		return;
	collected = get(collection, pg, row);
	if (collected == NULL) {
		once__pg_fail(pg, row->tag, "53200", "out of memory");
		return;
	}
	if (collected->row_count++ == 0)
		begin_rows(collected, collection->begun++, row);
	if (collected->tag != row->tag)
		collected->tag = ONCE__PG_SHARED;
	collection->bytes += add_values(collected, row);
	if (collection->bytes > MOST_BYTES)
		once__collect_send(collection, pg);
}

void once__collect(struct once__collection *collection, struct once__pg *pg,
		   size_t tag, const char *sql, const struct once_param *params,
		   size_t count)
{
	struct row row = { sql, false, tag, params, count };

	give(collection, pg, &row);
}

void once__collect_insert(struct once__collection *collection,
			  struct once__pg *pg, size_t tag, const char *target,
			  const struct once_param *params, size_t count)
{
	struct row row = { target, true, tag, params, count };

	give(collection, pg, &row);
}

/* ---- all rows ---- */

static void send_arrays(struct once__collected *collected, struct once__pg *pg,
			const char *sql)
{
	struct once_param params[MOST_PARAMS];

	for (size_t i = 0; i < collected->param_count; i++)
		params[i] = once__pg_array_param(&collected->arrays[i]);
	once__pg_send(pg, collected->tag, sql, params, collected->param_count);
}

/* Each for itself. */
static void send_rows(struct once__collected *collected, struct once__pg *pg)
{
	const struct once__insert *insert = &collected->insert;
	struct once_param params[MOST_PARAMS];
	size_t places[MOST_PARAMS] = { 0 };

	for (size_t row = 0; row < collected->row_count; row++) {
		for (size_t i = 0; i < insert->count; i++) {
			params[i].value = once__pg_array_next(
				&collected->arrays[i], &places[i]);
			params[i].binary = (int)(insert->binary >> i & 1);
		}
		once__pg_send(pg, collected->tag, insert->one, params,
			      insert->count);
	}
}

static void send_insert(struct once__collected *collected, struct once__pg *pg)
{
	struct once__insert *insert = &collected->insert;

	if (collected->row_count > 1)
		once__insert_learn(insert, pg, collected->tag);
	if (collected->row_count == 1 || insert->all == NULL) {
		send_rows(collected, pg);
		return;
	}
	for (size_t i = 0; i < insert->count; i++)
		once__pg_array_set_type(&collected->arrays[i],
					insert->types[i]);
	send_arrays(collected, pg, insert->all);
}

/* Few: to find the next by its first row is cheap. */
static struct once__collected *next(struct once__collection *collection)
{
	struct once__collected *first = NULL;

	for (size_t i = 0; i < collection->count; i++) {
		struct once__collected *at = &collection->places[i];

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

	while ((collected = next(collection)) != NULL) {
		if (collected->inserts)
			send_insert(collected, pg);
		else
			send_arrays(collected, pg, collected->text);
		collected->row_count = 0;
	}
	collection->begun = 0;
	collection->bytes = 0;
}

/* One large message isn't to be paid for as long as the session lives. */
static void empty_place(struct once__collected *collected)
{
	collected->row_count = 0;
	for (size_t i = 0; i < collected->param_count; i++)
		if (collected->arrays[i].buffer.capacity > MOST_KEPT)
			once__pg_array_fini(&collected->arrays[i]);
}

void once__collect_reset(struct once__collection *collection)
{
	for (size_t i = 0; i < collection->count; i++)
		empty_place(&collection->places[i]);
	collection->begun = 0;
	collection->bytes = 0;
}

void once__collect_fini(struct once__collection *collection)
{
	clear_places(collection);
	free(collection->places);
	*collection = (struct once__collection){ 0 };
}
