/*
 * topic.c - a topic full of messages.
 *
 * The idea: which refund a message is about comes from its place in the topic.
 * No producer's idempotence, for speed; so nothing is sent twice either, and a
 * record that didn't arrive ends the run.
 */
#include "topic.h"

#include "clients.h"
#include "letter.h"

#include <check.h>
#include <inttypes.h>

enum {
	FULL_WAIT_MS = 20,
	FLUSH_MS = 120000,
	/* Partitions are equally long, and thirds are thirds. */
	MULTIPLE = 3 * TOPIC_PARTITIONS,
	/* In new messages: long committed when it comes again. */
	DISTANCE = 10000,
	/* The other ids are those of messages that nobody sends. */
	OTHER_IDS = 1 << 30
};

#define LINGER_MS "20" /* for speed */

/* ---- which messages ---- */

static int64_t round_down(int64_t messages)
{
	return messages < MULTIPLE ? MULTIPLE : messages / MULTIPLE * MULTIPLE;
}

static void count_messages(struct topic *topic, int64_t messages)
{
	const struct topic_plan *plan = &topic->plan;

	topic->value_size = plan->value_size == 0 ? TOPIC_VALUE_SIZE
						  : (size_t)plan->value_size;
	if (plan->percent != 0)
		messages = messages * plan->percent / 100;
	if (topic->value_size > TOPIC_VALUE_SIZE)
		messages = messages * TOPIC_VALUE_SIZE /
			   (int64_t)topic->value_size;
	topic->messages = round_down(messages);
	topic->different = topic->messages;
	if (plan->a_third)
		topic->different = topic->messages / 3 * 2;
	if (plan->repetitions > 0)
		topic->different = (topic->messages + plan->repetitions - 1) /
				   plan->repetitions;
}

/* Of each three, two are new. The first have nothing to repeat but each
 * other. */
static int64_t choose_of_three(const struct topic *topic, int64_t place)
{
	int64_t distance = topic->different / 20;
	int64_t number = place / 3 * 2;

	if (place % 3 < 2)
		return number + place % 3;
	if (distance > DISTANCE)
		distance = DISTANCE;
	return number < distance ? number : number - distance;
}

static int64_t choose_number(const struct topic *topic, int64_t place)
{
	if (topic->plan.a_third)
		return choose_of_three(topic, place);
	return place % topic->different;
}

/* ---- to the broker ---- */

static rd_kafka_resp_err_t send_letter(rd_kafka_t *rk, rd_kafka_topic_t *rkt,
				       struct letter *letter, int partition)
{
	/* clang-format off */
	rd_kafka_vu_t parts[] = {
		{ .vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = rkt },
		{ .vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition },
		{ .vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY },
		{ .vtype = RD_KAFKA_VTYPE_VALUE,
		  .u.mem = { letter->value, letter->value_size } },
		{ .vtype = RD_KAFKA_VTYPE_HEADER,
		  .u.header = { "message-id", letter->id, LETTER_ID_SIZE } },
	};
	/* clang-format on */
	rd_kafka_error_t *error =
		rd_kafka_produceva(rk, parts, sizeof(parts) / sizeof(*parts));
	rd_kafka_resp_err_t code = rd_kafka_error_code(error);

	rd_kafka_error_destroy(error);
	return code;
}

static void send_place(const struct topic *topic, rd_kafka_t *rk,
		       rd_kafka_topic_t *rkt, int64_t place)
{
	int64_t number = topic->plan.first + choose_number(topic, place);
	int64_t id = topic->plan.other_ids ? number + OTHER_IDS : number;
	int partition = (int)(place % TOPIC_PARTITIONS);
	rd_kafka_resp_err_t code;
	struct letter letter;

	letter_format_id(&letter, (uint64_t)id);
	letter_format_value(&letter, (uint64_t)number, topic->value_size);
	code = send_letter(rk, rkt, &letter, partition);
	while (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
		rd_kafka_poll(rk, FULL_WAIT_MS);
		code = send_letter(rk, rkt, &letter, partition);
	}
	ck_assert_msg(code == RD_KAFKA_RESP_ERR_NO_ERROR,
		      "could not produce: %s", rd_kafka_err2str(code));
}

/* Stages wait until they have handled as many as the topic should have. */
static void check_ends(struct topic *topic)
{
	int64_t sum = 0;

	for (int32_t i = 0; i < TOPIC_PARTITIONS; i++)
		sum += kafka_fixture_get_end(&topic->kafka, i);
	ck_assert_msg(sum == topic->messages,
		      "of %" PRId64 " messages the topic has %" PRId64,
		      topic->messages, sum);
}

static void fill(struct topic *topic)
{
	rd_kafka_t *rk =
		clients_open_producer(topic->kafka.bootstrap, LINGER_MS);
	rd_kafka_topic_t *rkt =
		rd_kafka_topic_new(rk, topic->kafka.topic, NULL);

	ck_assert_ptr_nonnull(rkt);
	for (int64_t place = 0; place < topic->messages; place++)
		send_place(topic, rk, rkt, place);
	ck_assert_msg(rd_kafka_flush(rk, FLUSH_MS) ==
			      RD_KAFKA_RESP_ERR_NO_ERROR,
		      "messages were not acknowledged in time");
	rd_kafka_topic_destroy(rkt);
	rd_kafka_destroy(rk);
	check_ends(topic);
}

void topic_init(struct topic *topic, const struct topic_plan *plan,
		int64_t messages)
{
	topic->plan = *plan;
	count_messages(topic, messages);
	kafka_fixture_init(&topic->kafka, TOPIC_PARTITIONS);
	fill(topic);
}

void topic_fini(struct topic *topic)
{
	kafka_fixture_fini(&topic->kafka);
}
