/*
 * test_denied.c - topics that aren't there, rights that are taken, records that
 * are too large: each is told by its name with what to do, keeps nothing else
 * from being read, and is over when it is mended.
 */
#include "kafka_rights.h"
#include "kafka_server.h"
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <bytes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 50000,
	SEEN_MS = 15000,
	LARGE = 3000000,
	LOAD = 20
};

static const char secured[] = "    - session.timeout.ms=6000\n"
			      "    - heartbeat.interval.ms=300\n"
			      "    - topic.metadata.refresh.interval.ms=1000\n"
			      "    - security.protocol=SASL_PLAINTEXT\n"
			      "    - sasl.mechanism=PLAIN\n"
			      "    - sasl.username=onced\n"
			      "    - sasl.password=right\n";

static void wait_for_more(struct onced_fixture *fixture)
{
	onced_fixture_send_series(fixture, fixture->sent, LOAD);
	onced_fixture_wait_for_all(fixture, WAIT_MS);
}

/* While it lasts, and afterwards. */
static void check_right(struct onced *onced, rd_kafka_ResourceType_t type,
			const char *name, const char *why)
{
	struct kafka_fixture *kafka = &onced->fixture->kafka;

	kafka_rights_revoke(kafka, type, name, RD_KAFKA_ACL_OPERATION_READ);
	onced_wait_until_not_ready(onced, why, SEEN_MS);
	kafka_rights_grant(kafka, type, name, RD_KAFKA_ACL_OPERATION_READ);
	onced_wait_until_ready(onced, WAIT_MS);
	wait_for_more(onced->fixture);
}

START_TEST(a_missing_topic_and_a_right_that_is_taken_are_told_by_name)
{
	char extra[128];
	char topics[140];
	char why[200];
	struct onced_options options = { .session = secured, .topics = topics };
	struct onced_fixture fixture;
	struct kafka_fixture *kafka = &fixture.kafka;
	struct kafka_server server;
	struct once_error err;
	struct onced onced;

	ck_assert_msg(kafka_server_create_behind(&server, 0, "right", &err) ==
			      ONCE_OK,
		      "%s", err.text);
	onced_fixture_init_on(&fixture, 1, server.bootstrap);
	onced_fixture_without_monitor(&fixture);
	snprintf(extra, sizeof(extra), "%s-extra", kafka->topic);
	snprintf(topics, sizeof(topics), ", %s", extra);
	kafka_rights_grant(kafka, RD_KAFKA_RESOURCE_TOPIC, kafka->topic,
			   RD_KAFKA_ACL_OPERATION_READ);
	kafka_rights_grant(kafka, RD_KAFKA_RESOURCE_TOPIC, extra,
			   RD_KAFKA_ACL_OPERATION_READ);
	kafka_rights_grant(kafka, RD_KAFKA_RESOURCE_GROUP, kafka->group,
			   RD_KAFKA_ACL_OPERATION_READ);
	options.brokers = server.outer;
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	wait_for_more(&fixture);
	snprintf(why, sizeof(why), "topic \"%s\": Kafka has no such topic",
		 extra);
	onced_wait_until_not_ready(&onced, why, SEEN_MS);
	kafka_fixture_create_topic(kafka, extra, 1, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);

	check_right(&onced, RD_KAFKA_RESOURCE_TOPIC, kafka->topic,
		    kafka->topic);
	check_right(&onced, RD_KAFKA_RESOURCE_GROUP, kafka->group,
		    "grant READ on the group");

	kafka_fixture_delete_topic(kafka, extra);
	onced_wait_until_not_ready(&onced, why, SEEN_MS);
	wait_for_more(&fixture);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
	kafka_server_destroy(&server);
}
END_TEST

/* ---- too large ---- */

static void put_large(const struct kafka_fixture *kafka)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char *value = calloc(1, LARGE);
	rd_kafka_t *rk;

	ck_assert_ptr_nonnull(value);
	rd_kafka_conf_set(conf, "bootstrap.servers", kafka->bootstrap, NULL, 0);
	rd_kafka_conf_set(conf, "message.max.bytes", "10000000", NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	ck_assert_int_eq(
		rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(kafka->topic),
				  RD_KAFKA_V_PARTITION(0),
				  RD_KAFKA_V_HEADER("id", "large", -1),
				  RD_KAFKA_V_HEADER("biz", "large", -1),
				  RD_KAFKA_V_VALUE(value, LARGE),
				  RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
				  RD_KAFKA_V_END),
		RD_KAFKA_RESP_ERR_NO_ERROR);
	ck_assert_int_eq(rd_kafka_flush(rk, WAIT_MS),
			 RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_destroy(rk);
	free(value);
}

/* There at the start, or behind what was handled, when no fetch tells the end
 * any more. */
START_TEST(a_record_that_is_too_large_is_told_with_the_property_to_write)
{
	static const char *const settings[] = { "max.message.bytes=10000000",
						NULL };
	struct onced_options options = {
		.memory = "2MiB",
		.session = "    - session.timeout.ms=6000\n"
			   "    - heartbeat.interval.ms=300\n"
			   "    - fetch.max.bytes=1000000\n"
			   "    - fetch.message.max.bytes=500000\n"
			   "    - message.max.bytes=1000000\n"
			   "    - receive.message.max.bytes=1100000\n",
	};
	struct onced_fixture fixture;
	struct onced onced;
	char why[300];

	onced_fixture_init(&fixture, 1);
	strcat(fixture.kafka.topic, "-large");
	kafka_fixture_create_topic(&fixture.kafka, fixture.kafka.topic, 1,
				   settings);
	onced_fixture_without_monitor(&fixture);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send_series(&fixture, 0, _i);
	onced_start(&onced, NULL);
	if (_i > 0) {
		onced_fixture_wait_for_all(&fixture, WAIT_MS);
		onced_wait_until_ready(&onced, WAIT_MS);
	}
	put_large(&fixture.kafka);
	snprintf(why, sizeof(why),
		 "%s[0] is stalled: nothing comes from offset %d on",
		 fixture.kafka.topic, _i);
	onced_wait_until_not_ready(&onced, why, SEEN_MS);
	onced_wait_until_not_ready(&onced, "receive.message.max.bytes=3",
				   SEEN_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("what may not be read");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(
		tests,
		a_missing_topic_and_a_right_that_is_taken_are_told_by_name);
	tcase_add_loop_test(
		tests,
		a_record_that_is_too_large_is_told_with_the_property_to_write,
		0, 2);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
