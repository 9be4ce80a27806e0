/*
 * test_rig_kafka.c - what the tests against Kafka stand on.
 */
#include "kafka_fixture.h"
#include "kafka_server.h"
#include "servers.h"
#include "suite.h"

#include <bytes.h>
#include <clock.h>
#include <string.h>
#include <unistd.h>

START_TEST(records_get_offsets_in_their_partition)
{
	struct kafka_fixture kafka;

	kafka_fixture_init(&kafka, 2);
	ck_assert_int_eq(kafka_fixture_put(&kafka, 0, "k", "first"), 0);
	ck_assert_int_eq(kafka_fixture_put(&kafka, 0, NULL, NULL), 1);
	ck_assert_int_eq(kafka_fixture_put(&kafka, 1, "k", "other"), 0);
	ck_assert_int_eq(kafka_fixture_get_end(&kafka, 0), 2);
	ck_assert_int_eq(kafka_fixture_get_end(&kafka, 1), 1);
	kafka_fixture_fini(&kafka);
}
END_TEST

static rd_kafka_t *open_member(const struct kafka_fixture *kafka)
{
	const char *const properties[][2] = {
		{ "bootstrap.servers", kafka->bootstrap },
		{ "group.id", kafka->group },
		{ "enable.auto.commit", "false" },
		{ "auto.offset.reset", "earliest" },
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_topic_partition_list_t *topics =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_t *rk;

	for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++) {
		rd_kafka_conf_set(conf, properties[i][0], properties[i][1],
				  NULL, 0);
	}
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	rd_kafka_poll_set_consumer(rk);
	rd_kafka_topic_partition_list_add(topics, kafka->topic,
					  RD_KAFKA_PARTITION_UA);
	ck_assert_int_eq(rd_kafka_subscribe(rk, topics), 0);
	rd_kafka_topic_partition_list_destroy(topics);
	return rk;
}

static rd_kafka_message_t *take_message(rd_kafka_t *rk)
{
	rd_kafka_message_t *rkm = NULL;

	for (int i = 0; i < 200 && rkm == NULL; i++) {
		rkm = rd_kafka_consumer_poll(rk, 100);
		if (rkm != NULL && rkm->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
			rd_kafka_message_destroy(rkm);
			rkm = NULL;
		}
	}
	ck_assert_ptr_nonnull(rkm);
	return rkm;
}

static void close_member(rd_kafka_t *rk)
{
	rd_kafka_consumer_close(rk);
	rd_kafka_destroy(rk);
}

START_TEST(what_was_produced_is_consumed_whole)
{
	struct once_header header = { "message-id", bytes_text("m-1") };
	struct once_record record = { .partition = 0,
				      .time_ms = clock_unix_ms() - 1000,
				      .key = bytes_text("a key"),
				      .value = bytes_of("a\0value", 7),
				      .headers = &header,
				      .header_count = 1 };
	struct kafka_fixture kafka;
	rd_kafka_headers_t *headers;
	rd_kafka_message_t *rkm;
	const void *value;
	rd_kafka_t *rk;
	size_t size;

	kafka_fixture_init(&kafka, 1);
	kafka_fixture_produce(&kafka, &record, 1);
	rk = open_member(&kafka);
	rkm = take_message(rk);
	ck_assert(bytes_equal(bytes_of(rkm->key, rkm->key_len), record.key));
	ck_assert(bytes_equal(bytes_of(rkm->payload, rkm->len), record.value));
	ck_assert_int_eq(rd_kafka_message_timestamp(rkm, NULL), record.time_ms);
	ck_assert_int_eq(rd_kafka_message_headers(rkm, &headers), 0);
	ck_assert_int_eq(
		rd_kafka_header_get_last(headers, "message-id", &value, &size),
		0);
	ck_assert(bytes_equal(bytes_of(value, size), header.value));
	rd_kafka_message_destroy(rkm);
	close_member(rk);
	kafka_fixture_fini(&kafka);
}
END_TEST

START_TEST(a_group_has_committed_nothing_until_it_has)
{
	struct kafka_fixture kafka;
	rd_kafka_message_t *rkm;
	rd_kafka_t *rk;

	kafka_fixture_init(&kafka, 1);
	kafka_fixture_put(&kafka, 0, "k", "v");
	ck_assert_int_eq(kafka_fixture_get_committed(&kafka, 0), -1);
	rk = open_member(&kafka);
	rkm = take_message(rk);
	ck_assert_int_eq(rd_kafka_commit_message(rk, rkm, 0), 0);
	rd_kafka_message_destroy(rkm);
	close_member(rk);
	ck_assert_int_eq(kafka_fixture_get_committed(&kafka, 0), 1);
	kafka_fixture_fini(&kafka);
}
END_TEST

START_TEST(a_private_broker_survives_a_kill)
{
	struct kafka_server server;
	struct kafka_fixture kafka;
	struct once_error err;

	ck_assert_msg(kafka_server_create(&server, NULL, &err) == ONCE_OK, "%s",
		      err.text);
	kafka_fixture_init_at(&kafka, server.bootstrap, 1);
	kafka_fixture_put(&kafka, 0, "k", "kept");
	kafka_server_kill(&server);
	ck_assert_msg(kafka_server_start(&server, &err) == ONCE_OK, "%s",
		      err.text);
	ck_assert_int_eq(kafka_fixture_put(&kafka, 0, "k", "added"), 1);
	kafka_fixture_fini(&kafka);
	kafka_server_destroy(&server);
	ck_assert_int_eq(access(server.dir.path, F_OK), -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("the rig: Kafka");
	TCase *tests = tcase_create("all");

	servers_need(NEED(KAFKA));
	tcase_add_test(tests, records_get_offsets_in_their_partition);
	tcase_add_test(tests, what_was_produced_is_consumed_whole);
	tcase_add_test(tests, a_group_has_committed_nothing_until_it_has);
	tcase_add_test(tests, a_private_broker_survives_a_kill);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
