/*
 * sender.c - a producer that doesn't wait for who reads.
 *
 * The idea: what is due is a matter of the clock alone. Who can't keep up gets
 * no fewer messages, but later ones; and a message's time is when it was really
 * sent, so that a late sender makes no consumer look slow.
 */
#include "sender.h"

#include "bench_clock.h"
#include "clients.h"
#include "letter.h"

#include <check.h>
#include <clock.h>
#include <time.h>

enum {
	FLUSH_MS = 60000,
	/* Above so many a second they are sent some at once, and librdkafka
	 * waits for more, as long as it does unless it is told otherwise. */
	SINGLE_MAX = 1000
};

#define TICK_NS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)

static void send_one(struct sender *sender, rd_kafka_t *rk,
		     rd_kafka_topic_t *rkt)
{
	struct letter letter;
	int64_t now_ns = clock_ns();
	rd_kafka_error_t *error;
	/* clang-format off */
	rd_kafka_vu_t parts[] = {
		{ .vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = rkt },
		{ .vtype = RD_KAFKA_VTYPE_PARTITION,
		  .u.i32 = (int32_t)(sender->sent % TOPIC_PARTITIONS) },
		{ .vtype = RD_KAFKA_VTYPE_MSGFLAGS,
		  .u.i = RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK },
		{ .vtype = RD_KAFKA_VTYPE_VALUE,
		  .u.mem = { letter.value, TOPIC_VALUE_SIZE } },
		{ .vtype = RD_KAFKA_VTYPE_HEADER,
		  .u.header = { "message-id", letter.id, LETTER_ID_SIZE } },
		{ .vtype = RD_KAFKA_VTYPE_HEADER,
		  .u.header = { BENCH_CLOCK_HEADER, &now_ns, sizeof(now_ns) } },
	};
	/* clang-format on */

	letter_format_id(&letter, (uint64_t)sender->sent);
	letter_format_value(&letter, (uint64_t)sender->sent, TOPIC_VALUE_SIZE);
	error = rd_kafka_produceva(rk, parts, sizeof(parts) / sizeof(*parts));
	ck_assert_msg(error == NULL, "could not produce: %s",
		      rd_kafka_error_string(error));
	sender->sent++;
}

static void sleep_until(int64_t ns)
{
	const struct timespec until = { ns / SECOND_NS, ns % SECOND_NS };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void send_all(struct sender *sender, rd_kafka_t *rk,
		     rd_kafka_topic_t *rkt, int64_t per_second, int64_t span_ns)
{
	int64_t began_ns = clock_ns();
	int64_t before = sender->sent;
	int64_t due = per_second * (span_ns / TICK_NS) / (SECOND_NS / TICK_NS);

	for (int64_t done = 0; done < due; done = sender->sent - before) {
		int64_t now_ns = clock_ns();
		int64_t next_ns = began_ns + done * SECOND_NS / per_second;

		if (next_ns <= now_ns) {
			send_one(sender, rk, rkt);
			continue;
		}
		rd_kafka_poll(rk, 0);
		if (per_second > SINGLE_MAX && next_ns < now_ns + TICK_NS)
			next_ns = now_ns + TICK_NS;
		sleep_until(next_ns);
	}
}

void sender_run(struct sender *sender, int64_t per_second, int64_t span_ns)
{
	rd_kafka_t *rk = clients_open_producer(
		sender->kafka->bootstrap, per_second > SINGLE_MAX ? "5" : "0");
	rd_kafka_topic_t *rkt =
		rd_kafka_topic_new(rk, sender->kafka->topic, NULL);

	ck_assert_ptr_nonnull(rkt);
	send_all(sender, rk, rkt, per_second, span_ns);
	ck_assert_msg(rd_kafka_flush(rk, FLUSH_MS) ==
			      RD_KAFKA_RESP_ERR_NO_ERROR,
		      "messages were not acknowledged in time");
	rd_kafka_topic_destroy(rkt);
	rd_kafka_destroy(rk);
}
