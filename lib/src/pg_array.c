/* Binary, so that keys need no quoting and numbers no printing. */
#include "pg_array.h"

#include "bytes.h"
#include "pg.h"

#include <endian.h>
#include <stdio.h>

enum {
	HEADER_SIZE = 20, /* dimensions, nulls, type, length, lower bound */
	TYPE_AT = 8
};

static void put_int4(unsigned char *at, int32_t number)
{
	uint32_t bits = htobe32((uint32_t)number);

	memcpy(at, &bits, sizeof(bits));
}

static int32_t get_int4(const unsigned char *at)
{
	uint32_t bits;

	memcpy(&bits, at, sizeof(bits));
	return (int32_t)be32toh(bits);
}

static void add_int4(struct text *buffer, int32_t number)
{
	unsigned char bytes[4];

	put_int4(bytes, number);
	text_add(buffer, bytes, sizeof(bytes));
}

void once__pg_array_init(struct once__pg_array *array, enum once__pg_type type)
{
	text_reset(&array->buffer);
	array->count = 0;
	array->nulls = 0;
	add_int4(&array->buffer, 1);
	add_int4(&array->buffer, 0);
	add_int4(&array->buffer, (int32_t)type);
	add_int4(&array->buffer, 0);
	add_int4(&array->buffer, 1);
}

void once__pg_array_set_type(struct once__pg_array *array, int32_t type)
{
	if (!array->buffer.broken)
		put_int4((unsigned char *)array->buffer.data + TYPE_AT, type);
}

void once__pg_array_add(struct once__pg_array *array, struct once_bytes bytes)
{
	array->count++;
	if (bytes.data == NULL) {
		array->nulls = 1;
		add_int4(&array->buffer, -1);
		return;
	}
	add_int4(&array->buffer, (int32_t)bytes.size);
	text_add(&array->buffer, bytes.data, bytes.size);
}

void once__pg_array_add_int4(struct once__pg_array *array, int32_t number)
{
	unsigned char bytes[4];

	put_int4(bytes, number);
	once__pg_array_add(array, bytes_of(bytes, sizeof(bytes)));
}

void once__pg_array_add_int8(struct once__pg_array *array, int64_t number)
{
	unsigned char bytes[8];
	uint64_t bits = (uint64_t)number;

	put_int4(bytes, (int32_t)(uint32_t)(bits >> 32));
	put_int4(bytes + 4, (int32_t)(uint32_t)bits);
	once__pg_array_add(array, bytes_of(bytes, sizeof(bytes)));
}

struct once_param once__pg_array_param(struct once__pg_array *array)
{
	struct once_param param = { bytes_of(NULL, ONCE__PG_NOT_MADE), 1 };
	unsigned char *header = (unsigned char *)array->buffer.data;

	if (array->buffer.broken || array->buffer.size < HEADER_SIZE)
		return param;
	put_int4(header + 4, array->nulls);
	put_int4(header + 12, array->count);
	param.value = bytes_of(header, array->buffer.size);
	return param;
}

struct once_bytes once__pg_array_next(const struct once__pg_array *array,
				      size_t *place)
{
	size_t at = *place == 0 ? HEADER_SIZE : *place;
	const unsigned char *data = (unsigned char *)array->buffer.data;
	int32_t size;

	if (array->buffer.broken || at >= array->buffer.size)
		return bytes_of(NULL, ONCE__PG_NOT_MADE);
	size = get_int4(data + at);
	at += 4;
	*place = at + (size < 0 ? 0 : (size_t)size);
	return size < 0 ? bytes_of(NULL, 0) : bytes_of(data + at, (size_t)size);
}

void once__pg_array_fini(struct once__pg_array *array)
{
	text_fini(&array->buffer);
}

struct once_param once__pg_int8(char text[24], int64_t number)
{
	struct once_param param = { bytes_of(NULL, 0), 0 };
	int size = snprintf(text, 24, "%lld", (long long)number);

	param.value = bytes_of(text, (size_t)size);
	return param;
}
