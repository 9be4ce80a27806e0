/*
 * kafka_fixture.c - a topic and a group of a test's own, through librdkafka's
 * producer and admin API.
 *
 * The idea: topics and groups are cheap, a broker isn't; so tests share the
 * broker and never a name.
 */
#include "kafka_fixture.h"

#include "process.h"
#include "servers.h"

#include <bytes.h>
#include <check.h>
#include <clock.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADMIN_MS 30000
#define REQUEST_MS 10000
#define ERROR_SIZE 512

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char error[ERROR_SIZE];

	ck_assert_msg(rd_kafka_conf_set(conf, name, value, error,
					sizeof(error)) == RD_KAFKA_CONF_OK,
		      "%s", error);
}

static void note_delivery(rd_kafka_t *rk, const rd_kafka_message_t *rkm,
			  void *opaque)
{
	struct once_record *record = rkm->_private;

	(void)rk;
	(void)opaque;
	ck_assert_msg(rkm->err == RD_KAFKA_RESP_ERR_NO_ERROR,
		      "a record was not delivered: %s",
		      rd_kafka_err2str(rkm->err));
	record->offset = rkm->offset;
}

static rd_kafka_conf_t *make_conf(const struct kafka_fixture *kafka,
				  rd_kafka_type_t type)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	set(conf, "bootstrap.servers", kafka->bootstrap);
	set(conf, "reconnect.backoff.ms", "50");
	set(conf, "reconnect.backoff.max.ms", "200");
	set(conf, "log_level", "3");
	if (type == RD_KAFKA_CONSUMER) {
		set(conf, "group.id", kafka->group);
	} else {
		set(conf, "enable.idempotence", "true");
		set(conf, "linger.ms", "1");
		rd_kafka_conf_set_dr_msg_cb(conf, note_delivery);
	}
	return conf;
}

static rd_kafka_t *open_with(rd_kafka_conf_t *conf, rd_kafka_type_t type)
{
	char error[ERROR_SIZE];
	rd_kafka_t *rk = rd_kafka_new(type, conf, error, sizeof(error));

	ck_assert_msg(rk != NULL, "%s", error);
	return rk;
}

static rd_kafka_t *open_client(const struct kafka_fixture *kafka,
			       rd_kafka_type_t type)
{
	return open_with(make_conf(kafka, type), type);
}

void kafka_fixture_compress(struct kafka_fixture *kafka)
{
	rd_kafka_conf_t *conf = make_conf(kafka, RD_KAFKA_PRODUCER);

	/* A build of librdkafka may lack zstd; gzip is always there. */
	if (rd_kafka_conf_set(conf, "compression.codec", "zstd", NULL, 0) !=
	    RD_KAFKA_CONF_OK)
		set(conf, "compression.codec", "gzip");
	set(conf, "message.max.bytes", "100000000");
	rd_kafka_destroy(kafka->rk);
	kafka->rk = open_with(conf, RD_KAFKA_PRODUCER);
}

/* ---- topics ---- */

static rd_kafka_resp_err_t first_error(const rd_kafka_topic_result_t **topics,
				       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (rd_kafka_topic_result_error(topics[i]) !=
		    RD_KAFKA_RESP_ERR_NO_ERROR)
			return rd_kafka_topic_result_error(topics[i]);
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t error_of(rd_kafka_event_t *event)
{
	const rd_kafka_topic_result_t **topics;
	size_t count;

	if (event == NULL)
		return RD_KAFKA_RESP_ERR__TIMED_OUT;
	if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return rd_kafka_event_error(event);
	if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_CREATETOPICS_RESULT) {
		topics = rd_kafka_CreateTopics_result_topics(
			rd_kafka_event_CreateTopics_result(event), &count);
	} else {
		topics = rd_kafka_DeleteTopics_result_topics(
			rd_kafka_event_DeleteTopics_result(event), &count);
	}
	return first_error(topics, count);
}

static void hear(rd_kafka_queue_t *queue, const char *what, const char *topic)
{
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, ADMIN_MS);
	rd_kafka_resp_err_t error = error_of(event);

	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	ck_assert_msg(error == RD_KAFKA_RESP_ERR_NO_ERROR,
		      "could not %s the topic \"%s\": %s", what, topic,
		      rd_kafka_err2str(error));
}

static void add_settings(rd_kafka_NewTopic_t *new_topic,
			 const char *const *settings)
{
	for (; settings != NULL && *settings != NULL; settings++) {
		const char *equals = strchr(*settings, '=');
		char name[128];

		ck_assert_ptr_nonnull(equals);
		snprintf(name, sizeof(name), "%.*s", (int)(equals - *settings),
			 *settings);
		rd_kafka_NewTopic_set_config(new_topic, name, equals + 1);
	}
}

struct place {
	rd_kafka_t *rk;
	const char *topic;
	int32_t partition;
};

/* A leader answers what it has; metadata alone would come too early. But asking
 * for all topics makes the client know one that it asked for too early. */
static bool has_leader(void *arg)
{
	const struct place *place = arg;
	const rd_kafka_metadata_t *metadata;
	int64_t low;
	int64_t high;

	if (rd_kafka_metadata(place->rk, 1, NULL, &metadata, REQUEST_MS) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	rd_kafka_metadata_destroy(metadata);
	return rd_kafka_query_watermark_offsets(
		       place->rk, place->topic, place->partition, &low, &high,
		       REQUEST_MS) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

void kafka_fixture_create_topic(struct kafka_fixture *kafka, const char *topic,
				int partitions, const char *const *settings)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(kafka->rk);
	struct place place = { kafka->rk, topic, 0 };
	char error[ERROR_SIZE];
	rd_kafka_NewTopic_t *new_topic = rd_kafka_NewTopic_new(
		topic, partitions, 1, error, sizeof(error));

	ck_assert_msg(new_topic != NULL, "%s", error);
	add_settings(new_topic, settings);
	rd_kafka_CreateTopics(kafka->rk, &new_topic, 1, NULL, queue);
	rd_kafka_NewTopic_destroy(new_topic);
	hear(queue, "create", topic);
	for (; place.partition < partitions; place.partition++)
		ck_assert(wait_until(has_leader, &place, ADMIN_MS));
}

void kafka_fixture_delete_topic(struct kafka_fixture *kafka, const char *topic)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(kafka->rk);
	rd_kafka_DeleteTopic_t *old_topic = rd_kafka_DeleteTopic_new(topic);

	rd_kafka_DeleteTopics(kafka->rk, &old_topic, 1, NULL, queue);
	rd_kafka_DeleteTopic_destroy(old_topic);
	hear(queue, "delete", topic);
}

/* ---- the fixture ---- */

static void name_all(struct kafka_fixture *kafka, const char *bootstrap)
{
	uint64_t now_ns = (uint64_t)clock_ns();
	int pid = (int)getpid();

	memset(kafka, 0, sizeof(*kafka));
	snprintf(kafka->bootstrap, sizeof(kafka->bootstrap), "%s", bootstrap);
	snprintf(kafka->topic, sizeof(kafka->topic),
		 "once-test-topic-%d-%" PRIx64, pid, now_ns);
	snprintf(kafka->group, sizeof(kafka->group),
		 "once-test-group-%d-%" PRIx64, pid, now_ns);
}

void kafka_fixture_init_at(struct kafka_fixture *kafka, const char *bootstrap,
			   int partitions)
{
	name_all(kafka, bootstrap);
	kafka->rk = open_client(kafka, RD_KAFKA_PRODUCER);
	kafka_fixture_create_topic(kafka, kafka->topic, partitions, NULL);
}

void kafka_fixture_init_mock(struct kafka_fixture *kafka, int partitions)
{
	rd_kafka_t *host =
		rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), NULL, 0);
	rd_kafka_mock_cluster_t *mock;

	ck_assert_ptr_nonnull(host);
	mock = rd_kafka_mock_cluster_new(host, 2);
	ck_assert_ptr_nonnull(mock);
	name_all(kafka, rd_kafka_mock_cluster_bootstraps(mock));
	kafka->host = host;
	kafka->mock = mock;
	ck_assert_int_eq(
		rd_kafka_mock_topic_create(mock, kafka->topic, partitions, 1),
		RD_KAFKA_RESP_ERR_NO_ERROR);
	kafka->rk = open_client(kafka, RD_KAFKA_PRODUCER);
}

void kafka_fixture_init(struct kafka_fixture *kafka, int partitions)
{
	const char *bootstrap = servers_find(SERVER_KAFKA);

	ck_assert_msg(bootstrap != NULL, "there is no Kafka");
	kafka_fixture_init_at(kafka, bootstrap, partitions);
}

void kafka_fixture_fini(struct kafka_fixture *kafka)
{
	if (kafka->mock == NULL)
		kafka_fixture_delete_topic(kafka, kafka->topic);
	rd_kafka_destroy(kafka->rk);
	kafka->rk = NULL;
	if (kafka->mock == NULL)
		return;
	rd_kafka_mock_cluster_destroy(kafka->mock);
	rd_kafka_destroy(kafka->host);
}

/* ---- records ---- */

static rd_kafka_headers_t *make_headers(const struct once_record *record)
{
	rd_kafka_headers_t *headers =
		rd_kafka_headers_new(record->header_count);

	for (size_t i = 0; i < record->header_count; i++) {
		const struct once_header *header = &record->headers[i];

		rd_kafka_header_add(headers, header->name, -1,
				    header->value.data,
				    (ssize_t)header->value.size);
	}
	return headers;
}

/* librdkafka reads key and value only, but its types don't say so. */
static rd_kafka_vu_t bytes_part(rd_kafka_vtype_t type, struct once_bytes bytes)
{
	rd_kafka_vu_t part = { .vtype = type };

	part.u.mem.ptr = (void *)(uintptr_t)bytes.data;
	part.u.mem.size = bytes.size;
	return part;
}

static rd_kafka_resp_err_t send_record(struct kafka_fixture *kafka,
				       struct once_record *record)
{
	const char *topic =
		record->topic == NULL ? kafka->topic : record->topic;
	/* clang-format off */
	rd_kafka_vu_t parts[] = {
		{ .vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = topic },
		{ .vtype = RD_KAFKA_VTYPE_PARTITION,
		  .u.i32 = record->partition },
		{ .vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY },
		{ .vtype = RD_KAFKA_VTYPE_TIMESTAMP,
		  .u.i64 = record->time_ms > 0 ? record->time_ms : 0 },
		{ .vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = record },
		{ .vtype = RD_KAFKA_VTYPE_HEADERS,
		  .u.headers = make_headers(record) },
		bytes_part(RD_KAFKA_VTYPE_KEY, record->key),
		bytes_part(RD_KAFKA_VTYPE_VALUE, record->value),
	};
	/* clang-format on */
	rd_kafka_error_t *error = rd_kafka_produceva(
		kafka->rk, parts, sizeof(parts) / sizeof(*parts));
	rd_kafka_resp_err_t code = rd_kafka_error_code(error);

	/* They are librdkafka's only where it took the record. */
	if (error != NULL)
		rd_kafka_headers_destroy(parts[5].u.headers);
	rd_kafka_error_destroy(error);
	return code;
}

void kafka_fixture_produce(struct kafka_fixture *kafka,
			   struct once_record *records, size_t count)
{
	for (size_t i = 0; i < count;) {
		rd_kafka_resp_err_t error = send_record(kafka, &records[i]);

		rd_kafka_poll(kafka->rk,
			      error == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 100 : 0);
		if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			continue;
		ck_assert_msg(error == RD_KAFKA_RESP_ERR_NO_ERROR,
			      "could not produce: %s", rd_kafka_err2str(error));
		i++;
	}
	ck_assert_msg(rd_kafka_flush(kafka->rk, ADMIN_MS) ==
			      RD_KAFKA_RESP_ERR_NO_ERROR,
		      "records were not acknowledged in time");
}

int64_t kafka_fixture_put(struct kafka_fixture *kafka, int32_t partition,
			  const char *key, const char *value)
{
	struct once_record record = { .partition = partition };

	record.key = bytes_text(key);
	record.value = bytes_text(value);
	kafka_fixture_produce(kafka, &record, 1);
	return record.offset;
}

/* ---- offsets ---- */

int64_t kafka_fixture_get_committed(struct kafka_fixture *kafka,
				    int32_t partition)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_t *rk = open_client(kafka, RD_KAFKA_CONSUMER);
	rd_kafka_resp_err_t error;
	int64_t offset;

	rd_kafka_topic_partition_list_add(list, kafka->topic, partition);
	error = rd_kafka_committed(rk, list, ADMIN_MS);
	offset = list->elems[0].offset;
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_destroy(rk);
	ck_assert_msg(error == RD_KAFKA_RESP_ERR_NO_ERROR,
		      "could not read the group's offsets: %s",
		      rd_kafka_err2str(error));
	return offset < 0 ? -1 : offset;
}

int64_t kafka_fixture_get_end(struct kafka_fixture *kafka, int32_t partition)
{
	int64_t low;
	int64_t high;
	rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
		kafka->rk, kafka->topic, partition, &low, &high, ADMIN_MS);

	ck_assert_msg(error == RD_KAFKA_RESP_ERR_NO_ERROR,
		      "could not read the end of the partition: %s",
		      rd_kafka_err2str(error));
	return high;
}
