/*
 * An INSERT over arrays has to name the columns' types, and its author hasn't.
 * The idea: the INSERT of a single row needs no types, for its parameters take
 * those of the columns; once it is prepared, the server tells them.
 */
#include "insert.h"

#include "bytes.h"
#include "pg_array.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* With -1, a type without its length: what is too long is refused, not cut. */
static const char types_sql[] =
	"SELECT pg_catalog.format_type(p.type, -1), p.type::oid::bigint, "
	"(t.typarray <> 0::oid AND t.typcategory <> 'A')::int "
	"FROM pg_catalog.pg_prepared_statements AS s, "
	"pg_catalog.unnest(s.parameter_types) WITH ORDINALITY AS p (type, "
	"place) "
	"JOIN pg_catalog.pg_type AS t ON t.oid = p.type "
	"WHERE s.name = $1::text ORDER BY p.place";

static char *make_one(const char *target, size_t count)
{
	struct text sql = { 0 };

	text_addf(&sql, "INSERT INTO %s VALUES (", target);
	for (size_t i = 1; i <= count; i++)
		text_addf(&sql, i == 1 ? "$%zu" : ", $%zu", i);
	text_adds(&sql, ")");
	if (!sql.broken)
		return sql.data;
	text_fini(&sql);
	return NULL;
}

bool once__insert_init(struct once__insert *insert, const char *target,
		       uint64_t binary, size_t count)
{
	insert->count = count;
	insert->binary = binary;
	insert->one = make_one(target, count);
	return insert->one != NULL;
}

static bool is_binary(const struct once__insert *insert, size_t param)
{
	return (insert->binary >> param & 1) != 0;
}

/* Text is read by the type's own input function. */
static void add_column(struct once__insert *insert, struct text *sql,
		       size_t param, const struct once_rows *types)
{
	struct once_bytes name = once_rows_get(types, param, 0);
	bool binary = is_binary(insert, param);

	text_addf(sql, "%sunnest($%zu::", param == 0 ? "" : ", ", param + 1);
	if (binary)
		text_add(sql, name.data, name.size);
	else
		text_adds(sql, "text");
	text_adds(sql, "[])::");
	text_add(sql, name.data, name.size);
	insert->types[param] =
		binary ? (int32_t)once__rows_int64(types, param, 1)
		       : ONCE__PG_TEXT;
}

static bool fits_arrays(const struct once__insert *insert,
			const struct once_rows *types)
{
	if (once_rows_count(types) != insert->count)
		return false;
	for (size_t i = 0; i < insert->count; i++)
		if (is_binary(insert, i) && once__rows_int64(types, i, 2) == 0)
			return false;
	return true;
}

/* The single row's INSERT, with another end. */
static char *make_all(struct once__insert *insert,
		      const struct once_rows *types)
{
	static const char values[] = " VALUES (";
	struct text sql = { 0 };
	size_t head = strlen(insert->one);

	while (strncmp(insert->one + head, values, sizeof(values) - 1) != 0)
		head--;
	text_add(&sql, insert->one, head);
	text_adds(&sql, " SELECT ");
	for (size_t i = 0; i < insert->count; i++)
		add_column(insert, &sql, i, types);
	if (!sql.broken)
		return sql.data;
	text_fini(&sql);
	return NULL;
}

static void forget(struct once__insert *insert)
{
	free(insert->all);
	insert->all = NULL;
	insert->learned = false;
}

void once__insert_learn(struct once__insert *insert, struct once__pg *pg,
			size_t tag)
{
	const char *name;
	const struct once_rows *types;

	if (insert->learned && insert->generation == once__pg_generation(pg))
		return;
	forget(insert);
	insert->generation = once__pg_generation(pg);
	name = once__pg_name(pg, tag, insert->one);
	if (name == NULL) {
		insert->learned = once__pg_failure(pg) == NULL;
		return;
	}
	types = once__pg_exec(pg, tag, types_sql,
			      ONCE_PARAMS(ONCE_TEXT(bytes_text(name))));
	if (types == NULL)
		return;
	if (fits_arrays(insert, types))
		insert->all = make_all(insert, types);
	insert->learned = true;
}

void once__insert_fini(struct once__insert *insert)
{
	free(insert->one);
	free(insert->all);
}
