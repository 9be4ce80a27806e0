/*
 * test_kafka_rights.c - what onced check says of a cluster where this user may
 * not do all, can't log in, or is told names that it can't resolve.
 */
#include "kafka_server.h"
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <string.h>

enum {
	ASK_MS = 20000,
	LIMIT_MS = 25000 /* of a check, and then some for a busy machine */
};

#define LOGIN(password) \
	"security.protocol=SASL_PLAINTEXT\n" \
	"    - sasl.mechanism=PLAIN\n" \
	"    - sasl.username=reader\n" \
	"    - sasl.password=" password

static struct kafka_server server;
static struct onced_fixture fixture;
static struct onced onced;

static void write_config(int port, const char *login)
{
	char brokers[32];
	struct onced_options options = { .brokers = brokers,
					 .property = login };

	snprintf(brokers, sizeof(brokers), "127.0.0.1:%d", port);
	onced_init(&onced, &fixture, &options);
}

static void check_as(int port, const char *login, int code)
{
	int64_t began_ms = clock_ms();

	write_config(port, login);
	ck_assert_int_eq(onced_command(&onced, "check", NULL), code);
	onced_check_output(&onced, "database  good");
	ck_assert_int_lt(clock_ms() - began_ms, LIMIT_MS);
}

/* ---- rights ---- */

static void create_right(rd_kafka_t *rk, rd_kafka_ResourceType_t type,
			 const char *name, rd_kafka_AclOperation_t operation)
{
	char text[200];
	rd_kafka_AclBinding_t *acl = rd_kafka_AclBinding_new(
		type, name, RD_KAFKA_RESOURCE_PATTERN_LITERAL, "User:reader",
		"*", operation, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, text,
		sizeof(text));
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	rd_kafka_event_t *event;

	ck_assert_msg(acl != NULL, "%s", text);
	rd_kafka_CreateAcls(rk, &acl, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, ASK_MS);
	ck_assert_ptr_nonnull(event);
	ck_assert_int_eq(rd_kafka_event_error(event), 0);
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_AclBinding_destroy(acl);
}

static void grant(rd_kafka_ResourceType_t type, const char *name,
		  rd_kafka_AclOperation_t operation)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *rk;

	rd_kafka_conf_set(conf, "bootstrap.servers", server.bootstrap, NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	create_right(rk, type, name, operation);
	rd_kafka_destroy(rk);
}

/* Step by step up to all that run needs. */
START_TEST(check_names_each_right_that_is_missing)
{
	const char *topic = fixture.kafka.topic;
	const char *group = fixture.kafka.group;

	/* so that the group's coordinator is there */
	ck_assert_int_eq(kafka_fixture_get_committed(&fixture.kafka, 0), -1);
	check_as(server.port + 2, LOGIN("secret"), 1);
	onced_check_output(&onced, "this user may not see topic");
	onced_check_output(&onced, "this user may not consume as group");
	grant(RD_KAFKA_RESOURCE_TOPIC, topic, RD_KAFKA_ACL_OPERATION_DESCRIBE);
	grant(RD_KAFKA_RESOURCE_GROUP, group, RD_KAFKA_ACL_OPERATION_DESCRIBE);
	check_as(server.port + 2, LOGIN("secret"), 1);
	onced_check_output(&onced, "this user may not consume as group");
	grant(RD_KAFKA_RESOURCE_GROUP, group, RD_KAFKA_ACL_OPERATION_READ);
	check_as(server.port + 2, LOGIN("secret"), 1);
	onced_check_output(&onced, "this user may not read topic");
	onced_check_output(&onced, "grant it READ on the topic");
	grant(RD_KAFKA_RESOURCE_TOPIC, topic, RD_KAFKA_ACL_OPERATION_READ);
	check_as(server.port + 2, LOGIN("secret"), 0);
	onced_check_output(&onced, "kafka     good");
	onced_check_output(&onced, "kafka: warning: ");
	onced_check_output(&onced, "DESCRIBE_CONFIGS");
	grant(RD_KAFKA_RESOURCE_TOPIC, topic,
	      RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS);
	check_as(server.port + 2, LOGIN("secret"), 0);
	ck_assert_int_eq(kafka_fixture_get_committed(&fixture.kafka, 0), -1);
}
END_TEST

START_TEST(check_says_why_it_cannot_log_in)
{
	check_as(server.port + 2, LOGIN("wrong"), 69);
	onced_check_output(&onced, "could not reach Kafka");
	onced_check_output(&onced, "Invalid username or password");
	check_as(server.port + 2, "client.id=nobody", 69);
	onced_check_output(&onced, "could not reach Kafka");
	onced_check_output(&onced, "security.protocol");
}
END_TEST

START_TEST(check_names_the_brokers_that_cannot_be_reached)
{
	grant(RD_KAFKA_RESOURCE_TOPIC, fixture.kafka.topic,
	      RD_KAFKA_ACL_OPERATION_READ);
	grant(RD_KAFKA_RESOURCE_GROUP, fixture.kafka.group,
	      RD_KAFKA_ACL_OPERATION_READ);
	check_as(server.port + 3, LOGIN("secret"), 69);
	/* as the advertised name of broker 1, or by newer versions at once */
	onced_check_output(&onced, "nowhere.invalid:");
	onced_check_output(&onced, "Failed to resolve");
}
END_TEST

static void start_server(void)
{
	struct once_error err;

	ck_assert_msg(kafka_server_create_guarded(&server, &err) == ONCE_OK,
		      "%s", err.text);
}

static void stop_server(void)
{
	kafka_server_destroy(&server);
}

static void set_up(void)
{
	onced_fixture_init_on(&fixture, 2, server.bootstrap);
}

static void tear_down(void)
{
	onced_fixture_fini(&fixture);
}

int main(void)
{
	Suite *suite = suite_create("kafka_rights");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_set_timeout(tests, 120);
	tcase_add_unchecked_fixture(tests, start_server, stop_server);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, check_names_each_right_that_is_missing);
	tcase_add_test(tests, check_says_why_it_cannot_log_in);
	tcase_add_test(tests, check_names_the_brokers_that_cannot_be_reached);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
