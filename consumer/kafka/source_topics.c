/* For `onced check`: are the topics there, and is there memory for them? */
#include "error.h"
#include "kafka_conf.h"
#include "source.h"
#include "text.h"

#include <string.h>

static bool is_there(const rd_kafka_metadata_t *metadata, const char *topic)
{
	for (int i = 0; i < metadata->topic_cnt; i++)
		if (strcmp(metadata->topics[i].topic, topic) == 0)
			return metadata->topics[i].err ==
			       RD_KAFKA_RESP_ERR_NO_ERROR;
	return false;
}

static enum once_status find_missing(const struct config *cfg,
				     const rd_kafka_metadata_t *metadata,
				     struct once_error *err)
{
	scoped_text struct text missing = { 0 };

	for (size_t i = 0; i < cfg->route_count; i++)
		for (size_t k = 0; k < cfg->routes[i].topic_count; k++)
			if (!is_there(metadata, cfg->routes[i].topics[k]))
				text_addf(&missing, "%s\"%s\"",
					  missing.size == 0 ? "" : ", ",
					  cfg->routes[i].topics[k]);
	if (missing.size == 0)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "Kafka has no topic %s; create what is missing, or "
			 "correct handlers[].topics",
			 missing.data);
}

static size_t count_partitions(const struct config *cfg,
			       const rd_kafka_metadata_t *metadata)
{
	size_t count = 0;

	for (int i = 0; i < metadata->topic_cnt; i++)
		if (config_route_of(cfg, metadata->topics[i].topic) >= 0)
			count += (size_t)metadata->topics[i].partition_cnt;
	return count;
}

static enum once_status check_found(const struct config *cfg,
				    const rd_kafka_metadata_t *metadata,
				    struct once_error *err)
{
	struct kafka_memory memory;

	kafka_memory_divide(cfg, count_partitions(cfg, metadata), false,
			    &memory);
	if (find_missing(cfg, metadata, err) != ONCE_OK)
		return err->status;
	return kafka_memory_check(cfg, &memory, err);
}

enum once_status source_check_topics(const struct config *cfg, int timeout_ms,
				     struct once_error *err)
{
	rd_kafka_conf_t *conf = kafka_conf_create(cfg, NULL, err);
	const rd_kafka_metadata_t *metadata = NULL;
	enum once_status status = ONCE_OK;
	rd_kafka_resp_err_t error;
	rd_kafka_t *rk;
	char text[400];

	if (conf == NULL)
		return ONCE_CONFIG;
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
	if (rk == NULL) {
		rd_kafka_conf_destroy(conf);
		return error_set(err, ONCE_CONFIG,
				 "could not make a consumer: %s", text);
	}
	error = rd_kafka_metadata(rk, 1, NULL, &metadata, timeout_ms);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		status = error_set(err, ONCE_TRANSIENT,
				   "could not reach Kafka at \"%s\": %s",
				   cfg->kafka.brokers, rd_kafka_err2str(error));
	else
		status = check_found(cfg, metadata, err);
	if (metadata != NULL)
		rd_kafka_metadata_destroy(metadata);
	rd_kafka_destroy(rk);
	return status;
}
