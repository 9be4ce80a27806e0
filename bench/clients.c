/* clients.c - librdkafka's clients. Properties that have a good default keep
 * it. */
#include "clients.h"

#include <bytes.h>
#include <check.h>
#include <error.h>

enum {
	WAIT_MS = 1000
};

struct property {
	const char *name;
	const char *value;
};

static enum once_status set(rd_kafka_conf_t *conf,
			    const struct property *properties, size_t count,
			    struct once_error *err)
{
	char error[256];

	for (size_t i = 0; i < count; i++)
		if (rd_kafka_conf_set(conf, properties[i].name,
				      properties[i].value, error,
				      sizeof(error)) != RD_KAFKA_CONF_OK)
			return error_set(err, ONCE_CONFIG, "%s", error);
	return ONCE_OK;
}

static enum once_status open_client(rd_kafka_type_t type, rd_kafka_conf_t *conf,
				    rd_kafka_t **ret_rk, struct once_error *err)
{
	char error[256];

	*ret_rk = rd_kafka_new(type, conf, error, sizeof(error));
	if (*ret_rk != NULL)
		return ONCE_OK;
	rd_kafka_conf_destroy(conf);
	return error_set(err, ONCE_CONFIG, "%s", error);
}

/* ---- producers ---- */

static void note_delivery(rd_kafka_t *rk, const rd_kafka_message_t *rkm,
			  void *opaque)
{
	(void)rk;
	(void)opaque;
	ck_assert_msg(rkm->err == RD_KAFKA_RESP_ERR_NO_ERROR,
		      "a message was not delivered: %s",
		      rd_kafka_err2str(rkm->err));
}

rd_kafka_t *clients_open_producer(const char *bootstrap, const char *linger_ms)
{
	const struct property properties[] = {
		{ "bootstrap.servers", bootstrap },
		{ "acks", "1" },
		{ "linger.ms", linger_ms },
		{ "batch.num.messages", "10000" },
		{ "queue.buffering.max.messages", "100000" },
		{ "message.send.max.retries", "0" },
		{ "delivery.report.only.error", "true" },
		{ "log_level", "3" },
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	struct once_error err = { 0 };
	rd_kafka_t *rk = NULL;

	rd_kafka_conf_set_dr_msg_cb(conf, note_delivery);
	ck_assert_msg(set(conf, properties,
			  sizeof(properties) / sizeof(*properties),
			  &err) == ONCE_OK &&
			      open_client(RD_KAFKA_PRODUCER, conf, &rk, &err) ==
				      ONCE_OK,
		      "%s", err.text);
	return rk;
}

/* ---- consumers ---- */

static enum once_status assign(rd_kafka_t *rk, const struct topic *topic,
			       int index, int count, struct once_error *err)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(TOPIC_PARTITIONS);
	rd_kafka_resp_err_t code;

	for (int i = index; i < TOPIC_PARTITIONS; i += count)
		rd_kafka_topic_partition_list_add(list, topic->kafka.topic, i)
			->offset = 0;
	code = rd_kafka_assign(rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		return ONCE_OK;
	return error_set(err, ONCE_BUG, "could not assign partitions: %s",
			 rd_kafka_err2str(code));
}

enum once_status clients_open_consumer(const struct topic *topic, int index,
				       int count, rd_kafka_t **ret_rk,
				       struct once_error *err)
{
	const struct property properties[] = {
		{ "bootstrap.servers", topic->kafka.bootstrap },
		{ "group.id", topic->kafka.group },
		{ "enable.auto.offset.store", "false" },
		{ "auto.offset.reset", "error" },
		{ "log_level", "3" },
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	enum once_status status;

	status = set(conf, properties, sizeof(properties) / sizeof(*properties),
		     err);
	if (status != ONCE_OK) {
		rd_kafka_conf_destroy(conf);
		return status;
	}
	status = open_client(RD_KAFKA_CONSUMER, conf, ret_rk, err);
	if (status != ONCE_OK)
		return status;
	rd_kafka_poll_set_consumer(*ret_rk);
	return assign(*ret_rk, topic, index, count, err);
}

void clients_close_consumer(rd_kafka_t *rk)
{
	if (rk == NULL)
		return;
	rd_kafka_consumer_close(rk);
	rd_kafka_destroy(rk);
}

/* ---- messages ---- */

static enum once_status check_messages(rd_kafka_message_t **messages,
				       size_t count, struct once_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (messages[i]->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return error_set(err, ONCE_TRANSIENT,
					 "could not consume: %s",
					 rd_kafka_message_errstr(messages[i]));
	return ONCE_OK;
}

enum once_status clients_take(rd_kafka_queue_t *queue,
			      rd_kafka_message_t **messages, size_t most,
			      size_t *ret_count, struct once_error *err)
{
	ssize_t count =
		rd_kafka_consume_batch_queue(queue, WAIT_MS, messages, most);

	*ret_count = count < 0 ? 0 : (size_t)count;
	return check_messages(messages, *ret_count, err);
}

struct once_bytes clients_message_id(const rd_kafka_message_t *rkm)
{
	rd_kafka_headers_t *headers;
	const void *data;
	size_t size;

	if (rd_kafka_message_headers(rkm, &headers) ==
		    RD_KAFKA_RESP_ERR_NO_ERROR &&
	    rd_kafka_header_get_last(headers, "message-id", &data, &size) ==
		    RD_KAFKA_RESP_ERR_NO_ERROR)
		return bytes_of(data, size);
	return bytes_of(NULL, 0);
}
