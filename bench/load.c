/*
 * load.c - the messages: JSON of a fixed size, as a shop would send it.
 *
 * The idea: refund numbers rise as numbers do, message ids are random as UUIDs
 * are, so one unique key grows at its end and the other one everywhere; both
 * come from the message's number alone, so runs are alike. No producer's
 * idempotence, for speed; so nothing is sent twice either, and a record that
 * didn't arrive ends the run.
 */
#include "load.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	FULL_WAIT_MS = 20,
	FLUSH_MS = 120000,
	ID_SIZE = 36
};

struct letter {
	char id[ID_SIZE + 1];
	char value[BENCH_VALUE_SIZE + 1];
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
static void format_id(char id[ID_SIZE + 1], uint64_t number)
{
	uint64_t high = mix(number * 2);
	uint64_t low = mix(number * 2 + 1);

	snprintf(id, ID_SIZE + 1,
		 "%08" PRIx32 "-%04" PRIx16 "-4%03x-%04x-%012" PRIx64,
		 (uint32_t)(high >> 32), (uint16_t)(high >> 16),
		 (unsigned)(high & 0xfff),
		 (unsigned)(low >> 48 & 0x3fff) | 0x8000u,
		 low & UINT64_C(0xffffffffffff));
}

/* The note takes what is left of the size. */
static void format_value(char value[BENCH_VALUE_SIZE + 1], uint64_t number)
{
	static const char words[] =
		"the parcel came back with its seal intact ";
	uint64_t luck = mix(~number);
	int used = snprintf(
		value, BENCH_VALUE_SIZE + 1,
		"{\"refund_no\":\"R-%010" PRIu64 "\",\"order_no\":\"%010" PRIu64
		"\",\"sku\":\"SKU-%05u\",\"quantity\":%u,"
		"\"amount\":\"%u.%02u\",\"note\":\"",
		number, luck % UINT64_C(10000000000),
		(unsigned)(luck >> 8 & 0x3fff), (unsigned)(luck >> 24 & 3) + 1,
		(unsigned)(luck >> 32) % 500 + 1, (unsigned)(luck >> 48) % 100);

	for (int i = used; i < BENCH_VALUE_SIZE - 2; i++)
		value[i] = words[(size_t)(i - used) % (sizeof(words) - 1)];
	memcpy(value + BENCH_VALUE_SIZE - 2, "\"}", 3);
}

/* ---- to the broker ---- */

static void note_delivery(rd_kafka_t *rk, const rd_kafka_message_t *rkm,
			  void *opaque)
{
	(void)rk;
	(void)opaque;
	ck_assert_msg(rkm->err == RD_KAFKA_RESP_ERR_NO_ERROR,
		      "a message was not delivered: %s",
		      rd_kafka_err2str(rkm->err));
}

static rd_kafka_t *open_producer(const struct bench *bench)
{
	const char *const properties[][2] = {
		{ "bootstrap.servers", bench->kafka.bootstrap },
		{ "acks", "1" },
		{ "linger.ms", "20" },
		{ "batch.num.messages", "10000" },
		{ "queue.buffering.max.messages", "100000" },
		{ "message.send.max.retries", "0" },
		{ "delivery.report.only.error", "true" },
		{ "log_level", "3" },
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char error[512];
	rd_kafka_t *rk;

	for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++)
		ck_assert_msg(rd_kafka_conf_set(
				      conf, properties[i][0], properties[i][1],
				      error, sizeof(error)) == RD_KAFKA_CONF_OK,
			      "%s", error);
	rd_kafka_conf_set_dr_msg_cb(conf, note_delivery);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof(error));
	ck_assert_msg(rk != NULL, "%s", error);
	return rk;
}

static rd_kafka_resp_err_t send_letter(rd_kafka_t *rk, rd_kafka_topic_t *rkt,
				       struct letter *letter, int partition)
{
	/* clang-format off */
	rd_kafka_vu_t parts[] = {
		{ .vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = rkt },
		{ .vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition },
		{ .vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY },
		{ .vtype = RD_KAFKA_VTYPE_VALUE,
		  .u.mem = { letter->value, BENCH_VALUE_SIZE } },
		{ .vtype = RD_KAFKA_VTYPE_HEADER,
		  .u.header = { "message-id", letter->id, ID_SIZE } },
	};
	/* clang-format on */
	rd_kafka_error_t *error =
		rd_kafka_produceva(rk, parts, sizeof(parts) / sizeof(*parts));
	rd_kafka_resp_err_t code = rd_kafka_error_code(error);

	rd_kafka_error_destroy(error);
	return code;
}

static void send_number(rd_kafka_t *rk, rd_kafka_topic_t *rkt, int64_t number,
			int partition)
{
	struct letter letter;
	rd_kafka_resp_err_t code;

	format_id(letter.id, (uint64_t)number);
	format_value(letter.value, (uint64_t)number);
	code = send_letter(rk, rkt, &letter, partition);
	while (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
		rd_kafka_poll(rk, FULL_WAIT_MS);
		code = send_letter(rk, rkt, &letter, partition);
	}
	ck_assert_msg(code == RD_KAFKA_RESP_ERR_NO_ERROR,
		      "could not produce: %s", rd_kafka_err2str(code));
}

/* Stages wait for positions to add up to the number of messages. */
static void check_ends(struct bench *bench)
{
	int64_t sum = 0;

	for (int32_t i = 0; i < BENCH_PARTITIONS; i++)
		sum += kafka_fixture_get_end(&bench->kafka, i);
	ck_assert_msg(sum == bench->messages,
		      "of %" PRId64 " messages the topic has %" PRId64,
		      bench->messages, sum);
}

void load_produce(struct bench *bench)
{
	rd_kafka_t *rk = open_producer(bench);
	rd_kafka_topic_t *rkt =
		rd_kafka_topic_new(rk, bench->kafka.topic, NULL);

	ck_assert_ptr_nonnull(rkt);
	for (int64_t i = 0; i < bench->messages; i++)
		send_number(rk, rkt, i % bench->different,
			    (int)(i % BENCH_PARTITIONS));
	ck_assert_msg(rd_kafka_flush(rk, FLUSH_MS) ==
			      RD_KAFKA_RESP_ERR_NO_ERROR,
		      "messages were not acknowledged in time");
	rd_kafka_topic_destroy(rkt);
	rd_kafka_destroy(rk);
	check_ends(bench);
}
