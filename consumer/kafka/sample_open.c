/* Which offsets are read is decided once, here: the newest ones, the same
 * number of each partition, and what a short partition leaves over goes to the
 * longer ones. */
#include "sample_impl.h"

#include "error.h"
#include "kafka_conf.h"
#include "kafka_range.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	ASK_MS = 10000
};

/* ---- asking ---- */

static void take_error(rd_kafka_t *rk, int error, const char *reason,
		       void *opaque)
{
	struct sample *sample = opaque;

	(void)rk;
	if (error != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		snprintf(sample->reason, sizeof(sample->reason), "%s", reason);
}

static enum once_status not_answered(struct sample *sample,
				     rd_kafka_resp_err_t error,
				     struct once_error *err)
{
	rd_kafka_poll(sample->rk, 0); /* it knows more than the code says */
	return error_set(err, ONCE_TRANSIENT,
			 "could not reach Kafka at \"%s\": %s%s%s%s",
			 sample->cfg->kafka.brokers, rd_kafka_err2str(error),
			 sample->reason[0] == '\0' ? "" : " (", sample->reason,
			 sample->reason[0] == '\0' ? "" : ")");
}

static enum once_status make_consumer(struct sample *sample,
				      struct once_error *err)
{
	rd_kafka_conf_t *conf = kafka_conf_create_onlooker(sample->cfg, err);
	char text[400];

	if (conf == NULL)
		return ONCE_CONFIG;
	rd_kafka_conf_set_opaque(conf, sample);
	rd_kafka_conf_set_error_cb(conf, take_error);
	sample->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
	if (sample->rk == NULL) {
		rd_kafka_conf_destroy(conf);
		return error_set(err, ONCE_CONFIG,
				 "could not make a consumer: %s", text);
	}
	sample->queue = rd_kafka_queue_new(sample->rk);
	return ONCE_OK;
}

static bool is_unknown(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
	       error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
}

static enum once_status take_metadata(struct sample_topic *topic,
				      const rd_kafka_metadata_t *metadata,
				      struct once_error *err)
{
	rd_kafka_resp_err_t error = metadata->topic_cnt == 1
					    ? metadata->topics[0].err
					    : RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;

	if (is_unknown(error))
		return error_set(err, ONCE_CONFIG,
				 "Kafka has no topic \"%s\"; create it, or "
				 "correct handlers[].topics",
				 topic->name);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return error_set(err, ONCE_CONFIG, "topic \"%s\": %s",
				 topic->name, rd_kafka_err2str(error));
	topic->count = (size_t)metadata->topics[0].partition_cnt;
	return ONCE_OK;
}

static enum once_status ask_for_topic(struct sample *sample,
				      struct sample_topic *topic,
				      struct once_error *err)
{
	const rd_kafka_metadata_t *metadata = NULL;
	enum once_status status;
	rd_kafka_resp_err_t error;

	topic->rkt = rd_kafka_topic_new(sample->rk, topic->name, NULL);
	if (topic->rkt == NULL)
		return error_set(err, ONCE_CONFIG, "topic \"%s\": %s",
				 topic->name,
				 rd_kafka_err2str(rd_kafka_last_error()));
	error = rd_kafka_metadata(sample->rk, 0, topic->rkt, &metadata, ASK_MS);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return not_answered(sample, error, err);
	status = take_metadata(topic, metadata, err);
	rd_kafka_metadata_destroy(metadata);
	topic->first = sample->partition_count;
	sample->partition_count += topic->count;
	return status;
}

static enum once_status ask_for_partition(struct sample *sample,
					  struct sample_partition *at,
					  struct once_error *err)
{
	rd_kafka_resp_err_t error =
		kafka_ask_range(sample->rk, at->topic, at->partition, ASK_MS,
				&at->first, &at->end);

	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		return ONCE_OK;
	(void)not_answered(sample, error, err);
	error_prefix(err, "%s[%d]", at->topic, (int)at->partition);
	return ONCE_TRANSIENT;
}

static enum once_status ask(struct sample *sample, struct once_error *err)
{
	enum once_status status = ONCE_OK;

	for (size_t i = 0; i < sample->topic_count && status == ONCE_OK; i++)
		status = ask_for_topic(sample, &sample->topics[i], err);
	if (status != ONCE_OK)
		return status;
	sample->partitions = calloc(sample->partition_count + 1,
				    sizeof(*sample->partitions));
	if (sample->partitions == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < sample->topic_count; i++)
		for (size_t k = 0; k < sample->topics[i].count; k++) {
			struct sample_partition *at =
				&sample->partitions[sample->topics[i].first +
						    k];

			at->topic = sample->topics[i].name;
			at->partition = (int32_t)k;
			status = ask_for_partition(sample, at, err);
			if (status != ONCE_OK)
				return status;
		}
	return ONCE_OK;
}

/* ---- choosing ---- */

/* Partitions that hold no more than an even share are read whole. */
static bool take_short_ones(struct sample *sample, int64_t *left,
			    size_t *undecided)
{
	int64_t share = *undecided == 0 ? 0 : *left / (int64_t)*undecided;
	bool took = false;

	for (size_t i = 0; i < sample->partition_count; i++) {
		struct sample_partition *at = &sample->partitions[i];
		int64_t size = at->end - at->first;

		if (at->from >= 0 || size > share)
			continue;
		at->from = at->first;
		*left -= size;
		--*undecided;
		took = true;
	}
	return took;
}

static void choose(struct sample *sample, int64_t most)
{
	size_t undecided = sample->partition_count;
	int64_t left = most;

	for (size_t i = 0; i < sample->partition_count; i++)
		sample->partitions[i].from =
			most < 0 ? sample->partitions[i].first : -1;
	while (most >= 0 && take_short_ones(sample, &left, &undecided))
		;
	for (size_t i = 0; i < sample->partition_count; i++) {
		struct sample_partition *at = &sample->partitions[i];

		if (at->from < 0) {
			at->from = at->end - left / (int64_t)undecided;
			left -= at->end - at->from;
			undecided--;
		}
		at->next = at->from;
		at->is_done = at->from >= at->end;
		sample->open_count += !at->is_done;
	}
}

/* ---- all ---- */

static enum once_status fill(struct sample *sample, const char *const *topics,
			     struct once_error *err)
{
	enum once_status status;

	sample->topics =
		calloc(sample->topic_count + 1, sizeof(*sample->topics));
	if (sample->topics == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < sample->topic_count; i++)
		sample->topics[i].name = topics[i];
	status = make_consumer(sample, err);
	if (status == ONCE_OK)
		status = kafka_conf_check_version(rd_kafka_version(), err);
	return status == ONCE_OK ? ask(sample, err) : status;
}

enum once_status sample_open(const struct config *cfg,
			     const char *const *topics, size_t topic_count,
			     int64_t most, struct sample **ret_sample,
			     struct once_error *err)
{
	struct sample *sample = calloc(1, sizeof(*sample));
	enum once_status status;

	if (sample == NULL)
		return error_no_memory(err);
	sample->cfg = cfg;
	sample->topic_count = topic_count;
	status = fill(sample, topics, err);
	if (status != ONCE_OK) {
		sample_close(sample);
		return status;
	}
	choose(sample, most);
	*ret_sample = sample;
	return ONCE_OK;
}

void sample_close(struct sample *sample)
{
	if (sample == NULL)
		return;
	for (size_t i = 0; sample->topics != NULL && i < sample->topic_count;
	     i++)
		if (sample->topics[i].rkt != NULL)
			rd_kafka_topic_destroy(sample->topics[i].rkt);
	if (sample->queue != NULL)
		rd_kafka_queue_destroy(sample->queue);
	if (sample->rk != NULL)
		rd_kafka_destroy(sample->rk);
	free(sample->topics);
	free(sample->partitions);
	free(sample->headers);
	free(sample);
}
