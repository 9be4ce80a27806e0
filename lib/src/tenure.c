/* A small hash table, and the two statements that go with it. */
#include "tenure.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_SIZE = 64,
	MOST_PLACES = 1 << 16 /* beyond: begin anew */
};

/* Of one that isn't there nothing is remembered: it may be on its way, as the
 * witness is while its rows are read. */
static const char ask_sql[] =
	"SELECT a.id, coalesce(t.to_offset, p.next_offset, $2::int8), "
	"(p.tenure IS NULL)::int "
	"FROM (SELECT DISTINCT pg_catalog.unnest($1::int8[]) AS id) AS a "
	"JOIN once.tenure AS t ON t.id = a.id "
	"LEFT JOIN once.position AS p ON p.group_name = t.group_name "
	"AND p.topic = t.topic AND p.partition = t.partition "
	"AND p.tenure = t.id AND t.to_offset IS NULL";

static const char witness_sql[] =
	"INSERT INTO once.tenure (from_offset, to_offset) VALUES (0, 0) "
	"RETURNING id";

/* ---- the table ---- */

static struct once__tenure *find_place(const struct once__tenures *tenures,
				       int64_t id)
{
	size_t at = (size_t)id * 0x9e3779b97f4a7c15u >> 20;

	for (;; at++) {
		struct once__tenure *place =
			&tenures->places[at & (tenures->size - 1)];

		if (place->id == 0 || place->id == id)
			return place;
	}
}

static bool resize(struct once__tenures *tenures, size_t size)
{
	struct once__tenures old = *tenures;

	tenures->places = calloc(size, sizeof(*tenures->places));
	if (tenures->places == NULL) {
		*tenures = old;
		return false;
	}
	tenures->size = size;
	for (size_t i = 0; i < old.size; i++)
		if (old.places[i].id != 0)
			*find_place(tenures, old.places[i].id) = old.places[i];
	free(old.places);
	return true;
}

static bool has_room(struct once__tenures *tenures)
{
	if (tenures->count == MOST_PLACES)
		once__tenures_forget(tenures);
	if (2 * tenures->count < tenures->size)
		return true;
	return resize(tenures,
		      tenures->size == 0 ? FIRST_SIZE : 2 * tenures->size);
}

static void set(struct once__tenures *tenures, int64_t id, int64_t before,
		bool ended)
{
	struct once__tenure *place;

	if (id == 0 || !has_room(tenures))
		return;
	place = find_place(tenures, id);
	tenures->count += place->id == 0;
	*place = (struct once__tenure){ id, before, ended };
}

void once__tenures_learn(struct once__tenures *tenures, int64_t id,
			 int64_t before)
{
	const struct once__tenure *place;

	if (tenures->size != 0) {
		place = find_place(tenures, id);
		if (place->id == id && place->ended)
			return; /* by somebody else: the position is ours */
	}
	set(tenures, id, before, false);
}

enum once__proof once__tenures_prove(const struct once__tenures *tenures,
				     int64_t id, int64_t offset)
{
	const struct once__tenure *place;

	if (id == 0)
		return ONCE__NOT_PROVED;
	if (tenures->size == 0)
		return ONCE__TO_BE_ASKED;
	place = find_place(tenures, id);
	if (place->id == 0)
		return ONCE__TO_BE_ASKED;
	if (offset < place->before)
		return ONCE__PROVED;
	return place->ended ? ONCE__NOT_PROVED : ONCE__TO_BE_ASKED;
}

void once__tenures_forget(struct once__tenures *tenures)
{
	if (tenures->count > 0)
		memset(tenures->places, 0,
		       tenures->size * sizeof(*tenures->places));
	tenures->count = 0;
}

void once__tenures_fini(struct once__tenures *tenures)
{
	once__pg_array_fini(&tenures->asked);
	free(tenures->places);
}

/* ---- the database ---- */

void once__tenures_begin(struct once__tenures *tenures)
{
	once__pg_array_init(&tenures->asked, ONCE__PG_INT8);
}

void once__tenures_add(struct once__tenures *tenures, int64_t id)
{
	once__pg_array_add_int8(&tenures->asked, id);
}

bool once__tenures_ask(struct once__tenures *tenures, struct once__pg *pg)
{
	const struct once_rows *rows;
	char nothing[24];

	if (tenures->asked.count == 0)
		return true;
	rows = once__pg_exec(pg, ONCE__PG_OURS, ask_sql,
			     ONCE_PARAMS(once__pg_array_param(&tenures->asked),
					 once__pg_int8(nothing, INT64_MIN)));
	if (rows == NULL)
		return false;
	for (size_t row = 0; row < once_rows_count(rows); row++)
		set(tenures, once__rows_int64(rows, row, 0),
		    once__rows_int64(rows, row, 1),
		    once__rows_int64(rows, row, 2) != 0);
	return true;
}

bool once__tenures_witness(struct once__pg *pg, int64_t *ret_id)
{
	const struct once_rows *rows =
		once__pg_exec(pg, ONCE__PG_OURS, witness_sql, ONCE_NO_PARAMS);

	if (rows == NULL)
		return false;
	*ret_id = once__rows_int64(rows, 0, 0);
	return true;
}
