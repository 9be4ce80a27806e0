/*
 * copy_rows.c - rows of binary COPY (PostgreSQL's manual, "COPY", "Binary
 * Format").
 *
 * The idea: as few steps for a message as can be, since this is what a
 * consumer's speed is measured against. Nothing is looked for that stands at a
 * fixed place.
 */
#include "copy_rows.h"

#include "clients.h"
#include "letter.h"
#include "tables.h"

#include <bytes.h>
#include <endian.h>
#include <string.h>

enum {
	LOG_COLUMNS = 7,
	REFUND_COLUMNS = 4
};

static const char head[] = "PGCOPY\n\377\r\n\0" /* the signature, */
			   "\0\0\0\0"           /* no flags, */
			   "\0\0\0\0";          /* nothing more */

static void add_int16(struct text *text, int16_t number)
{
	uint16_t bytes = htobe16((uint16_t)number);

	text_add(text, &bytes, sizeof(bytes));
}

static void add_int32(struct text *text, int32_t number)
{
	uint32_t bytes = htobe32((uint32_t)number);

	text_add(text, &bytes, sizeof(bytes));
}

static void add_int64(struct text *text, int64_t number)
{
	uint64_t bytes = htobe64((uint64_t)number);

	text_add(text, &bytes, sizeof(bytes));
}

/* ---- columns: their size, and their bytes ---- */

static void put_bytes(struct text *text, const void *data, size_t size)
{
	add_int32(text, (int32_t)size);
	text_add(text, data, size);
}

static void put_int32(struct text *text, int32_t number)
{
	add_int32(text, sizeof(number));
	add_int32(text, number);
}

static void put_int64(struct text *text, int64_t number)
{
	add_int32(text, sizeof(number));
	add_int64(text, number);
}

static void put_biz_id(struct text *text, struct once_bytes refund_no)
{
	static const char prefix[] = "refund:";

	add_int32(text, (int32_t)(strlen(prefix) + refund_no.size));
	text_add(text, prefix, strlen(prefix));
	text_add(text, refund_no.data, refund_no.size);
}

/* "123.45" as numeric: two digits to the base of 10,000, the first before the
 * point, two decimal places shown. */
static void put_amount(struct text *text, struct once_bytes amount)
{
	const char *at = amount.data;
	size_t whole_size = amount.size - 3;
	int whole = 0;

	for (size_t i = 0; i < whole_size; i++)
		whole = whole * 10 + (at[i] - '0');
	add_int32(text, 6 * sizeof(int16_t));
	add_int16(text, 2); /* digits, */
	add_int16(text, 0); /* the power of the first, */
	add_int16(text, 0); /* positive, */
	add_int16(text, 2); /* decimal places */
	add_int16(text, (int16_t)whole);
	add_int16(text, (int16_t)(((at[whole_size + 1] - '0') * 10 +
				   (at[whole_size + 2] - '0')) *
				  100));
}

/* ---- rows ---- */

void copy_rows_begin(struct copy_rows *rows)
{
	text_reset(&rows->log);
	text_reset(&rows->refund);
	text_add(&rows->log, head, sizeof(head) - 1);
	text_add(&rows->refund, head, sizeof(head) - 1);
}

static void add_claim(struct text *text, const rd_kafka_message_t *rkm,
		      const struct letter_fields *fields)
{
	const char *topic = rd_kafka_topic_name(rkm->rkt);
	struct once_bytes msg_id = clients_message_id(rkm);
	unsigned char digest[ONCE__FINGERPRINT_SIZE];

	letter_fingerprint(bytes_of(rkm->payload, rkm->len), digest);
	add_int16(text, LOG_COLUMNS);
	put_int64(text, TABLES_CONSUMER_ID);
	put_bytes(text, msg_id.data, msg_id.size);
	put_biz_id(text, fields->refund_no);
	put_bytes(text, topic, strlen(topic));
	put_int32(text, rkm->partition);
	put_int64(text, rkm->offset);
	put_bytes(text, digest, sizeof(digest));
}

static void add_refund(struct text *text, const struct letter_fields *fields)
{
	add_int16(text, REFUND_COLUMNS);
	put_bytes(text, fields->refund_no.data, fields->refund_no.size);
	put_bytes(text, fields->order_no.data, fields->order_no.size);
	put_bytes(text, fields->sku.data, fields->sku.size);
	put_amount(text, fields->amount);
}

void copy_rows_add(struct copy_rows *rows, const rd_kafka_message_t *rkm)
{
	struct letter_fields fields;

	letter_read(bytes_of(rkm->payload, rkm->len), &fields);
	add_claim(&rows->log, rkm, &fields);
	add_refund(&rows->refund, &fields);
}

void copy_rows_end(struct copy_rows *rows)
{
	add_int16(&rows->log, -1);
	add_int16(&rows->refund, -1);
}

void copy_rows_fini(struct copy_rows *rows)
{
	text_fini(&rows->log);
	text_fini(&rows->refund);
}
