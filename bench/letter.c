/*
 * letter.c - a message.
 *
 * The idea: refund numbers rise as numbers do, message ids are random as UUIDs
 * are, so one unique key grows at its end and the other one everywhere; both
 * come from the message's number alone, so runs are alike.
 */
#include "letter.h"

#include <bytes.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where the fields stand; all but the last have one size. */
enum {
	REFUND_NO_AT = 14,
	REFUND_NO_SIZE = 12,
	ORDER_NO_AT = REFUND_NO_AT + REFUND_NO_SIZE + 14,
	ORDER_NO_SIZE = 10,
	SKU_AT = ORDER_NO_AT + ORDER_NO_SIZE + 9,
	SKU_SIZE = 9,
	AMOUNT_AT = SKU_AT + SKU_SIZE + 12
};

/* splitmix64: every input another output, and no pattern left. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* A UUID of version 4. */
void letter_format_id(struct letter *letter, uint64_t number)
{
	uint64_t high = mix(number * 2);
	uint64_t low = mix(number * 2 + 1);

	snprintf(letter->id, sizeof(letter->id),
		 "%08" PRIx32 "-%04" PRIx16 "-4%03x-%04x-%012" PRIx64,
		 (uint32_t)(high >> 32), (uint16_t)(high >> 16),
		 (unsigned)(high & 0xfff),
		 (unsigned)(low >> 48 & 0x3fff) | 0x8000u,
		 low & UINT64_C(0xffffffffffff));
}

/* The note takes what is left of the size. */
void letter_format_value(struct letter *letter, uint64_t number, size_t size)
{
	static const char words[] =
		"the parcel came back with its seal intact ";
	uint64_t luck = mix(~number);
	size_t used = (size_t)snprintf(
		letter->value, sizeof(letter->value),
		"{\"refund_no\":\"R-%010" PRIu64 "\",\"order_no\":\"%010" PRIu64
		"\",\"sku\":\"SKU-%05u\",\"amount\":\"%u.%02u\",\"note\":\"",
		number, luck % UINT64_C(10000000000),
		(unsigned)(luck >> 8 & 0x3fff),
		(unsigned)(luck >> 32) % 500 + 1, (unsigned)(luck >> 48) % 100);

	for (size_t i = used; i < size - 2; i++)
		letter->value[i] = words[(i - used) % (sizeof(words) - 1)];
	memcpy(letter->value + size - 2, "\"}", 3);
	letter->value_size = size;
}

void letter_read(struct once_bytes value, struct letter_fields *ret_fields)
{
	const char *at = value.data;
	const char *end = memchr(at + AMOUNT_AT, '"', value.size - AMOUNT_AT);

	ret_fields->refund_no = bytes_of(at + REFUND_NO_AT, REFUND_NO_SIZE);
	ret_fields->order_no = bytes_of(at + ORDER_NO_AT, ORDER_NO_SIZE);
	ret_fields->sku = bytes_of(at + SKU_AT, SKU_SIZE);
	ret_fields->amount =
		bytes_of(at + AMOUNT_AT, (size_t)(end - (at + AMOUNT_AT)));
}

void letter_fingerprint(struct once_bytes value,
			unsigned char digest[ONCE__FINGERPRINT_SIZE])
{
	static const char kind[] = "value";
	uint64_t hash = once__hash64(kind, strlen(kind));
	uint32_t short_hash = (uint32_t)hash;

	memcpy(digest, &short_hash, ONCE__FINGERPRINT_KIND_SIZE);
	once__hash128(bytes_of("", 0), value,
		      digest + ONCE__FINGERPRINT_KIND_SIZE);
}
