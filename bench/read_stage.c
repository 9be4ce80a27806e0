/* read_stage.c - the yardstick of what can be read. One thread takes messages
 * in batches from the queue of all partitions, looks at each, and lets go. */
#include "read_stage.h"

#include <check.h>
#include <clock.h>
#include <stdio.h>

enum {
	AT_ONCE = 2000,
	WAIT_MS = 1000
};

static rd_kafka_t *open_consumer(const struct bench *bench)
{
	const char *const properties[][2] = {
		{ "bootstrap.servers", bench->kafka.bootstrap },
		{ "group.id", "yardstick" },
		{ "enable.auto.commit", "false" },
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
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof(error));
	ck_assert_msg(rk != NULL, "%s", error);
	rd_kafka_poll_set_consumer(rk);
	return rk;
}

static void assign_all(rd_kafka_t *rk, const struct bench *bench)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(BENCH_PARTITIONS);

	for (int32_t i = 0; i < BENCH_PARTITIONS; i++)
		rd_kafka_topic_partition_list_add(list, bench->kafka.topic, i)
			->offset = 0;
	ck_assert_int_eq(rd_kafka_assign(rk, list), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(list);
}

static int64_t take(rd_kafka_queue_t *queue)
{
	static rd_kafka_message_t *messages[AT_ONCE];
	ssize_t count =
		rd_kafka_consume_batch_queue(queue, WAIT_MS, messages, AT_ONCE);
	int64_t good = 0;

	for (ssize_t i = 0; i < count; i++) {
		good += messages[i]->err == RD_KAFKA_RESP_ERR_NO_ERROR;
		rd_kafka_message_destroy(messages[i]);
	}
	return good;
}

void read_stage_run(struct bench *bench, struct pace *ret_pace)
{
	rd_kafka_t *rk = open_consumer(bench);
	rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(rk);
	int64_t start_ns = clock_ns();
	int64_t skipped = 0;
	int64_t taken = 0;

	assign_all(rk, bench);
	while (taken < bench->messages) {
		taken += take(queue);
		if (taken >= bench->skipped && skipped == 0) {
			skipped = taken;
			start_ns = clock_ns();
		}
	}
	ret_pace->took_ns = clock_ns() - start_ns;
	ret_pace->messages = taken - skipped;
	rd_kafka_queue_destroy(queue);
	rd_kafka_consumer_close(rk);
	rd_kafka_destroy(rk);
}
