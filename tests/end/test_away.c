/*
 * test_away.c - Kafka is away: within 15 s that is seen from outside, with
 * librdkafka's own reason, whatever the way; and over when it is over.
 */
#include "http_get.h"
#include "kafka_rights.h"
#include "kafka_server.h"
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 50000,
	SEEN_MS = 15000,
	PARTITIONS = 2,
	LOAD = 20
};

static const char secured[] = "    - session.timeout.ms=30000\n"
			      "    - heartbeat.interval.ms=300\n"
			      "    - security.protocol=SASL_PLAINTEXT\n"
			      "    - sasl.mechanism=PLAIN\n"
			      "    - sasl.username=onced\n"
			      "    - sasl.password=right\n";

static bool page_has(struct onced *onced, const char *page, const char *text,
		     int expected_code)
{
	char *body;
	int code = http_get(onced->port, page, &body);
	bool has = body != NULL && strstr(body, text) != NULL;

	free(body);
	ck_assert_int_eq(code, expected_code);
	return has;
}

static void check_away(struct onced *onced)
{
	ck_assert(page_has(onced, "/healthz", "Kafka has been away", 200));
	ck_assert(page_has(onced, "/status", "\"kafka_connected\":false", 200));
	ck_assert(page_has(onced, "/metrics", "onced_kafka_connected 0", 200));
	ck_assert(!page_has(onced, "/metrics", "onced_partition_lag{", 200));
}

static void check_back(struct onced *onced)
{
	onced_wait_until_ready(onced, WAIT_MS);
	ck_assert(!page_has(onced, "/healthz", "away", 200));
	ck_assert(page_has(onced, "/metrics", "onced_kafka_connected 1", 200));
}

static void start_server(struct kafka_server *server, const char *password)
{
	struct once_error err;

	ck_assert_msg(kafka_server_set_password(server, password, &err) ==
				      ONCE_OK &&
			      kafka_server_start(server, &err) == ONCE_OK,
		      "%s", err.text);
}

/* It is idle all the time, which is when nothing else would show it. */
START_TEST(a_broker_that_freezes_or_refuses_the_password_is_told_within_15_s)
{
	struct onced_options options = { .session = secured };
	struct onced_fixture fixture;
	struct kafka_server server;
	struct once_error err;
	struct onced onced;

	ck_assert_msg(kafka_server_create_behind(&server, 0, "right", &err) ==
			      ONCE_OK,
		      "%s", err.text);
	onced_fixture_init_on(&fixture, PARTITIONS, server.bootstrap);
	kafka_rights_grant(&fixture.kafka, RD_KAFKA_RESOURCE_TOPIC,
			   fixture.kafka.topic, RD_KAFKA_ACL_OPERATION_READ);
	kafka_rights_grant(&fixture.kafka, RD_KAFKA_RESOURCE_GROUP,
			   fixture.kafka.group, RD_KAFKA_ACL_OPERATION_READ);
	options.brokers = server.outer;
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_fixture_send_series(&fixture, 0, LOAD);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	check_back(&onced);

	ck_assert_int_eq(kill(server.process.pid, SIGSTOP), 0);
	onced_wait_until_not_ready(&onced, "Kafka has been away", SEEN_MS);
	check_away(&onced);
	ck_assert_int_eq(kill(server.process.pid, SIGCONT), 0);
	check_back(&onced);
	onced_wait_for_log(&onced, "Kafka answers again", WAIT_MS);

	kafka_server_stop(&server);
	start_server(&server, "another");
	onced_wait_until_not_ready(&onced, "Authentication failed", SEEN_MS);
	check_away(&onced);
	kafka_server_stop(&server);
	start_server(&server, "right");
	onced_fixture_send_series(&fixture, LOAD, LOAD);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	check_back(&onced);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
	kafka_server_destroy(&server);
}
END_TEST

/* From its start on; the broker's port doesn't speak TLS. */
START_TEST(a_handshake_that_fails_and_a_closed_port_are_told_with_their_reason)
{
	struct onced_options options[] = {
		{ .name = "tls", .property = "security.protocol=SSL" },
		{ .name = "closed", .brokers = "127.0.0.1:1" },
	};
	struct onced_fixture fixture;
	struct onced onced[2];

	onced_fixture_init(&fixture, PARTITIONS);
	for (int i = 0; i < 2; i++) {
		onced_init(&onced[i], &fixture, &options[i]);
		onced_start(&onced[i], NULL);
	}
	onced_wait_until_not_ready(&onced[0], "SSL handshake failed", SEEN_MS);
	onced_wait_until_not_ready(&onced[1], "Connection refused", SEEN_MS);
	for (int i = 0; i < 2; i++) {
		check_away(&onced[i]);
		ck_assert_int_eq(onced_stop(&onced[i]), 0);
	}
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("Kafka is away");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(
		tests,
		a_broker_that_freezes_or_refuses_the_password_is_told_within_15_s);
	tcase_add_test(
		tests,
		a_handshake_that_fails_and_a_closed_port_are_told_with_their_reason);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
