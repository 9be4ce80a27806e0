/* One broker is enough: nothing here is replicated. The handle that the cluster
 * hangs on sends nothing itself. */
#include "broker.h"

#include "error.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>

struct broker {
	rd_kafka_t *rk;
	rd_kafka_mock_cluster_t *cluster;
	char address[128];
};

static void stay_silent(const rd_kafka_t *rk, int level, const char *facility,
			const char *text)
{
	(void)rk;
	(void)level;
	(void)facility;
	(void)text;
}

enum once_status broker_start(struct broker **ret_broker,
			      struct once_error *err)
{
	struct broker *broker = calloc(1, sizeof(*broker));
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char text[300] = "the mock cluster refused";

	if (broker == NULL) {
		rd_kafka_conf_destroy(conf);
		return error_no_memory(err);
	}
	rd_kafka_conf_set_log_cb(conf, stay_silent);
	broker->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
	if (broker->rk == NULL)
		rd_kafka_conf_destroy(conf);
	else
		broker->cluster = rd_kafka_mock_cluster_new(broker->rk, 1);
	if (broker->cluster == NULL) {
		broker_stop(broker);
		return error_set(err, ONCE_TRANSIENT,
				 "could not start the embedded broker: %s",
				 text);
	}
	snprintf(broker->address, sizeof(broker->address), "%s",
		 rd_kafka_mock_cluster_bootstraps(broker->cluster));
	*ret_broker = broker;
	return ONCE_OK;
}

void broker_stop(struct broker *broker)
{
	if (broker == NULL)
		return;
	if (broker->cluster != NULL)
		rd_kafka_mock_cluster_destroy(broker->cluster);
	if (broker->rk != NULL)
		rd_kafka_destroy(broker->rk);
	free(broker);
}

char *broker_address(struct broker *broker)
{
	return broker->address;
}

enum once_status broker_create_topic(struct broker *broker, const char *topic,
				     int partitions, struct once_error *err)
{
	rd_kafka_resp_err_t error = rd_kafka_mock_topic_create(
		broker->cluster, topic, partitions, 1);

	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG, "could not create topic \"%s\": %s",
			 topic, rd_kafka_err2str(error));
}
