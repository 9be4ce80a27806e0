/* pg_array.h - a one-dimensional array in PostgreSQL's binary format
 * (array_recv), to be given as one parameter and unnested. */
#ifndef ONCE__PG_ARRAY_H
#define ONCE__PG_ARRAY_H

#include "text.h"

#include <once/handler.h>

enum once__pg_type {
	ONCE__PG_BYTEA = 17,
	ONCE__PG_INT8 = 20,
	ONCE__PG_INT4 = 23,
	ONCE__PG_TEXT = 25
};

/* All zero, then init. The buffer is kept from one init to the next. */
struct once__pg_array {
	struct text buffer;
	int32_t count;
	int32_t nulls;
};

void once__pg_array_init(struct once__pg_array *array, enum once__pg_type type);
/* Of the elements, if it is another than was said at first. */
void once__pg_array_set_type(struct once__pg_array *array, int32_t type);
void once__pg_array_add(struct once__pg_array *array, struct once_bytes bytes);
void once__pg_array_add_int4(struct once__pg_array *array, int32_t number);
void once__pg_array_add_int8(struct once__pg_array *array, int64_t number);
/* Borrowed from the array; size ONCE__PG_NOT_MADE: no memory. */
struct once_param once__pg_array_param(struct once__pg_array *array);
/* The elements, one after the other: `place` is 0 before the first. Borrowed;
 * size ONCE__PG_NOT_MADE: no memory, or no more. */
struct once_bytes once__pg_array_next(const struct once__pg_array *array,
				      size_t *place);
void once__pg_array_fini(struct once__pg_array *array);

/* A bigint as one parameter: `text` must outlive it. */
struct once_param once__pg_int8(char text[24], int64_t number);

#endif
