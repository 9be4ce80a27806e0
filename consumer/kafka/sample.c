/* librdkafka's simple consumer: partitions are read into one queue, and no
 * group exists that could be joined or committed to. A partition is done at its
 * end as it was at first, whether a message stands there or a gap. */
#include "sample_impl.h"

#include "clock.h"
#include "error.h"
#include "kafka_range.h"
#include "kafka_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PULL_MS = 100,
	ASK_MS = 10000,
	SILENCE_MS = 30000
};

static rd_kafka_topic_t *topic_of(const struct sample *sample,
				  const struct sample_partition *at)
{
	size_t number = (size_t)(at - sample->partitions);

	for (size_t i = 0; i < sample->topic_count; i++)
		if (number - sample->topics[i].first < sample->topics[i].count)
			return sample->topics[i].rkt;
	return NULL;
}

static struct sample_partition *partition_of(struct sample *sample,
					     const rd_kafka_message_t *rkm)
{
	const char *name =
		rkm->rkt == NULL ? "" : rd_kafka_topic_name(rkm->rkt);

	for (size_t i = 0; i < sample->topic_count; i++)
		if (strcmp(sample->topics[i].name, name) == 0 &&
		    rkm->partition >= 0 &&
		    (size_t)rkm->partition < sample->topics[i].count)
			return &sample->partitions[sample->topics[i].first +
						   (size_t)rkm->partition];
	return NULL;
}

/* ---- a partition ---- */

static void finish(struct sample *sample, struct sample_partition *at,
		   const char *fault)
{
	if (at->is_done)
		return;
	at->is_done = true;
	snprintf(at->fault, sizeof(at->fault), "%s", fault);
	sample->open_count--;
	rd_kafka_consume_stop(topic_of(sample, at), at->partition);
}

static void start(struct sample *sample, struct sample_partition *at)
{
	if (rd_kafka_consume_start_queue(topic_of(sample, at), at->partition,
					 at->next, sample->queue) == 0)
		return;
	at->is_done = true;
	snprintf(at->fault, sizeof(at->fault), "%s",
		 rd_kafka_err2str(rd_kafka_last_error()));
	sample->open_count--;
}

/* Retention has been faster than we; or a corrupt batch has led astray. */
static void meet_out_of_range(struct sample *sample,
			      struct sample_partition *at)
{
	int64_t first;
	int64_t end;
	char fault[sizeof(at->fault)];

	if (kafka_ask_range(sample->rk, at->topic, at->partition, ASK_MS,
			    &first, &end) != RD_KAFKA_RESP_ERR_NO_ERROR ||
	    first <= at->next) {
		snprintf(fault, sizeof(fault), "offset %lld isn't there",
			 (long long)at->next);
		finish(sample, at, fault);
		return;
	}
	rd_kafka_consume_stop(topic_of(sample, at), at->partition);
	at->next = first;
	if (at->next < at->end) {
		start(sample, at);
		return;
	}
	at->is_done = true;
	sample->open_count--;
}

static void meet_error(struct sample *sample, struct sample_partition *at,
		       const rd_kafka_message_t *rkm)
{
	char fault[sizeof(at->fault)];

	if (rkm->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
		finish(sample, at, "");
	} else if (rkm->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
		meet_out_of_range(sample, at);
	} else {
		snprintf(fault, sizeof(fault),
			 "what stands at offset %lld can't be read: %s",
			 (long long)at->next, rd_kafka_message_errstr(rkm));
		finish(sample, at, fault);
	}
}

/* ---- a message ---- */

static bool make_room(struct sample *sample, size_t header_count)
{
	struct once_header *headers;

	if (header_count <= sample->header_room)
		return true;
	headers = realloc(sample->headers, 2 * header_count * sizeof(*headers));
	if (headers == NULL)
		return false;
	sample->headers = headers;
	sample->header_room = 2 * header_count;
	return true;
}

static enum once_status meet_message(struct sample *sample,
				     struct sample_partition *at,
				     rd_kafka_message_t *rkm,
				     sample_take_f *take, void *arg,
				     struct once_error *err)
{
	size_t header_count = kafka_record_count_headers(rkm);
	struct once_record record;
	enum once_status status;

	if (at->is_done || rkm->offset < at->next)
		return ONCE_OK;
	if (rkm->offset >= at->end) {
		finish(sample, at, "");
		return ONCE_OK;
	}
	if (!make_room(sample, header_count))
		return error_no_memory(err);
	kafka_record_fill(&record, at->topic, rkm, sample->headers,
			  header_count);
	status = take(arg, (size_t)(at - sample->partitions), &record, err);
	at->next = rkm->offset + 1;
	if (at->next >= at->end)
		finish(sample, at, "");
	return status;
}

static enum once_status meet(struct sample *sample, rd_kafka_message_t *rkm,
			     sample_take_f *take, void *arg,
			     struct once_error *err)
{
	struct sample_partition *at = partition_of(sample, rkm);

	if (at == NULL)
		return ONCE_OK;
	if (rkm->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return meet_message(sample, at, rkm, take, arg, err);
	if (!at->is_done)
		meet_error(sample, at, rkm);
	return ONCE_OK;
}

/* ---- all ---- */

static enum once_status fall_silent(const struct sample *sample,
				    struct once_error *err)
{
	const struct sample_partition *at = sample->partitions;

	while (at->is_done)
		at++;
	return error_set(err, ONCE_TRANSIENT,
			 "Kafka at \"%s\" has said nothing for %d s; %s[%d] is "
			 "read up to offset %lld of %lld%s%s",
			 sample->cfg->kafka.brokers, SILENCE_MS / 1000,
			 at->topic, (int)at->partition, (long long)at->next,
			 (long long)at->end,
			 sample->reason[0] == '\0' ? "" : ": ", sample->reason);
}

enum once_status sample_read(struct sample *sample, sample_take_f *take,
			     void *arg, struct once_error *err)
{
	int64_t heard_ms = clock_ms();
	enum once_status status = ONCE_OK;

	for (size_t i = 0; i < sample->partition_count; i++)
		if (!sample->partitions[i].is_done)
			start(sample, &sample->partitions[i]);
	while (sample->open_count > 0 && status == ONCE_OK) {
		rd_kafka_message_t *rkm =
			rd_kafka_consume_queue(sample->queue, PULL_MS);

		if (rkm != NULL) {
			heard_ms = clock_ms();
			status = meet(sample, rkm, take, arg, err);
			rd_kafka_message_destroy(rkm);
			continue;
		}
		rd_kafka_poll(sample->rk, 0);
		if (clock_ms() - heard_ms > SILENCE_MS)
			status = fall_silent(sample, err);
	}
	return status;
}

const struct sample_partition *sample_partitions(const struct sample *sample,
						 size_t *ret_count)
{
	*ret_count = sample->partition_count;
	return sample->partitions;
}

int64_t sample_offsets(const struct sample *sample)
{
	int64_t offsets = 0;

	for (size_t i = 0; i < sample->partition_count; i++)
		offsets +=
			sample->partitions[i].end - sample->partitions[i].from;
	return offsets;
}
