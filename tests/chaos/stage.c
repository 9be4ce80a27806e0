/* stage.c - built up and torn down. */
#include "stage.h"

#include "http_get.h"
#include "kafka_rights.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	READY_MS = 60000,
	EXIT_EXPELLED = 69
};

static const char secured[] = "    - session.timeout.ms=6000\n"
			      "    - heartbeat.interval.ms=300\n"
			      "    - security.protocol=SASL_PLAINTEXT\n"
			      "    - sasl.mechanism=PLAIN\n"
			      "    - sasl.username=onced\n"
			      "    - sasl.password=" STAGE_PASSWORD "\n";

static void create_servers(struct stage *stage)
{
	struct once_error err;

	proxy_open(&stage->to_pg);
	proxy_open(&stage->to_kafka);
	ck_assert_msg(pg_server_create(&stage->pg, NULL, &err) == ONCE_OK, "%s",
		      err.text);
	ck_assert_msg(
		kafka_server_create_behind(&stage->kafka, stage->to_kafka.port,
					   STAGE_PASSWORD, &err) == ONCE_OK,
		"%s", err.text);
	stage->kafka_is_up = true;
	proxy_start(&stage->to_pg, stage->pg.port);
	proxy_start(&stage->to_kafka, stage->kafka.port + 2);
}

/* One of them is slow, so that transactions are open when partitions move, and
 * its batches are cut. */
static void init_member(struct stage *stage, int number,
			const struct stage_options *options)
{
	static const char *const names[] = { "one", "two", "three" };
	char topics[160];
	struct onced_options onced_options = {
		.name = names[number],
		.instance_id = options->is_static ? names[number] : NULL,
		.conninfo = stage->conninfo,
		.brokers = stage->brokers,
		.topics = topics,
		.session = secured,
		.shutdown = "10s",
		.database = "  idle_timeout: 2s\n  lock_timeout: 500ms\n"
			    "  answer_timeout: 4s\n",
		.batch = "50",
		.crashes = "0", /* none of them is a message's fault */
		.max_time = number == 0 ? "40ms" : NULL,
		.settings = number == 0 ? "delay_ms=3" : NULL,
		.route = options->is_ordered ? NULL : "    order: none\n",
		.prefilter = onced_both_prefilters(),
	};

	snprintf(topics, sizeof(topics), ", %s", stage->extra);
	onced_init(&stage->members[number].onced, &stage->fixture,
		   &onced_options);
	stage->members[number].unknown = 0;
	stage_start_member(stage, number, NULL);
}

static void prepare_topics(struct stage *stage)
{
	struct kafka_fixture *kafka = &stage->fixture.kafka;

	snprintf(stage->extra, sizeof(stage->extra), "%s-extra", kafka->topic);
	kafka_fixture_create_topic(kafka, stage->extra, 1, NULL);
	kafka_rights_grant(kafka, RD_KAFKA_RESOURCE_TOPIC, kafka->topic,
			   RD_KAFKA_ACL_OPERATION_READ);
	kafka_rights_grant(kafka, RD_KAFKA_RESOURCE_TOPIC, stage->extra,
			   RD_KAFKA_ACL_OPERATION_READ);
	kafka_rights_grant(kafka, RD_KAFKA_RESOURCE_GROUP, kafka->group,
			   RD_KAFKA_ACL_OPERATION_READ);
}

void stage_open(struct stage *stage, const struct stage_options *options)
{
	memset(stage, 0, sizeof(*stage));
	stage->is_static = options->is_static;
	create_servers(stage);
	onced_fixture_init_with(&stage->fixture, STAGE_PARTITIONS,
				stage->pg.conninfo, stage->kafka.bootstrap);
	prepare_topics(stage);
	snprintf(stage->conninfo, sizeof(stage->conninfo), "%s port=%d",
		 stage->fixture.pg.conninfo, stage->to_pg.port);
	snprintf(stage->brokers, sizeof(stage->brokers), "127.0.0.1:%d",
		 stage->to_kafka.port);
	for (int i = 0; i < STAGE_MEMBERS; i++)
		init_member(stage, i, options);
	for (int i = 0; i < STAGE_MEMBERS; i++)
		onced_wait_until_ready(&stage->members[i].onced, READY_MS);
}

void stage_close(struct stage *stage)
{
	onced_fixture_fini(&stage->fixture);
	proxy_close(&stage->to_pg);
	proxy_close(&stage->to_kafka);
	pg_server_destroy(&stage->pg);
	kafka_server_destroy(&stage->kafka);
}

void stage_start_member(struct stage *stage, int number, const char *fault)
{
	onced_start(&stage->members[number].onced, fault);
}

bool stage_has_fenced_itself(struct stage *stage, int number, int code)
{
	return stage->is_static && code == EXIT_EXPELLED &&
	       onced_has_logged(&stage->members[number].onced,
				"the session in the group had timed out");
}

/* 0: it doesn't say. */
static int64_t ask_for_unknown(const struct onced *onced)
{
	static const char sample[] =
		"onced_transactions_total{result=\"unknown\"} ";
	char *page = NULL;
	char *found = NULL;
	int64_t number = 0;

	if (http_get(onced->port, "/metrics", &page) == 200 && page != NULL)
		found = strstr(page, sample);
	if (found != NULL)
		number = strtoll(found + sizeof(sample) - 1, NULL, 10);
	free(page);
	return number;
}

void stage_note_member(struct stage *stage, int number)
{
	struct member *member = &stage->members[number];

	member->unknown += ask_for_unknown(&member->onced);
}

int64_t stage_count_unknown(struct stage *stage)
{
	int64_t count = 0;

	for (int i = 0; i < STAGE_MEMBERS; i++)
		count += stage->members[i].unknown +
			 ask_for_unknown(&stage->members[i].onced);
	return count;
}

void stage_start_pg(struct stage *stage)
{
	struct once_error err;

	ck_assert_msg(pg_server_start(&stage->pg, &err) == ONCE_OK, "%s",
		      err.text);
}

void stage_start_kafka(struct stage *stage, const char *password)
{
	struct once_error err;

	ck_assert_msg(
		kafka_server_set_password(&stage->kafka, password, &err) ==
				ONCE_OK &&
			kafka_server_start(&stage->kafka, &err) == ONCE_OK,
		"%s", err.text);
	stage->kafka_is_up = true;
}
