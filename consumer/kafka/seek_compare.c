/*
 * Is the log that is there the one that a position is of? The message that was
 * handled last is read and compared, by the rules of the source:
 * source_anchor.c and source_absent.c. A topic may have been made again while
 * nobody ran, and a person who sets its positions then is the first to meet it.
 */
#include "source_seek_impl.h"

#include "clock.h"
#include "error.h"
#include "kafka_policy.h"
#include "kafka_record.h"
#include "kafka_topic_id.h"

#include <stdio.h>
#include <string.h>

enum {
	PULL_MS = 100
};

struct comparison {
	struct seeking *seeking;
	rd_kafka_topic_t *rkt;
	rd_kafka_queue_t *queue;
	size_t open;               /* partitions whose anchor is being read */
	char id[ONCE_LOG_ID_SIZE]; /* the topic's; "": not told */
};

/* NULL: it has none. */
static const struct once_position *position_of(const struct seeking *seeking,
					       size_t partition)
{
	const struct seek_request *request = seeking->request;

	return partition < request->position_count &&
			       request->positions[partition].next_offset >= 0
		       ? &request->positions[partition]
		       : NULL;
}

static bool is_other_topic(const struct comparison *comparison,
			   const struct once_position *position)
{
	return comparison->id[0] != '\0' && position->log_id[0] != '\0' &&
	       strcmp(comparison->id, position->log_id) != 0;
}

static void start(struct comparison *comparison, size_t partition)
{
	const struct seeking *seeking = comparison->seeking;
	struct seek_place *place = &seeking->places[partition];
	struct seek_range *range = &seeking->ranges[partition];
	const struct once_position *position = position_of(seeking, partition);

	if (place->offset < 0 || position == NULL)
		return;
	if (position->disowned || is_other_topic(comparison, position))
		place->log = SEEK_LOG_ANOTHER;
	else if (position->anchor.offset < 0)
		return;
	else if (position->anchor.offset < range->first)
		place->log = SEEK_LOG_UNPROVEN;
	else if (position->anchor.offset >= range->end)
		place->log = SEEK_LOG_ANOTHER; /* it had got further */
	else if (rd_kafka_consume_start_queue(
			 comparison->rkt, (int32_t)partition,
			 position->anchor.offset, comparison->queue) == 0) {
		range->asked = true;
		comparison->open++;
	} else {
		place->log = SEEK_LOG_UNPROVEN;
	}
}

/* What can't be read proves nothing. */
static void judge(struct comparison *comparison, const rd_kafka_message_t *rkm)
{
	struct seeking *seeking = comparison->seeking;
	size_t partition = (size_t)rkm->partition;
	struct seek_place *place = &seeking->places[partition];
	const struct once_anchor *anchor =
		&position_of(seeking, partition)->anchor;
	struct once_anchor found;

	place->log = SEEK_LOG_UNPROVEN;
	if (rkm->err == RD_KAFKA_RESP_ERR__PARTITION_EOF ||
	    (rkm->err == RD_KAFKA_RESP_ERR_NO_ERROR &&
	     rkm->offset > anchor->offset)) {
		seeking->ranges[partition].absent = true;
	} else if (rkm->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		kafka_record_anchor(rkm, &found);
		place->log = once_anchors_equal(&found, anchor)
				     ? SEEK_LOG_SAME
				     : SEEK_LOG_ANOTHER;
	}
}

static void meet(struct comparison *comparison, const rd_kafka_message_t *rkm)
{
	struct seeking *seeking = comparison->seeking;
	struct seek_range *range;

	if (rkm->partition < 0 || (size_t)rkm->partition >= seeking->count)
		return; /* of no partition: brokers that come and go */
	range = &seeking->ranges[rkm->partition];
	if (!range->asked)
		return;
	judge(comparison, rkm);
	range->asked = false;
	comparison->open--;
	rd_kafka_consume_stop(comparison->rkt, rkm->partition);
}

static enum once_status read_anchors(struct comparison *comparison,
				     struct once_error *err)
{
	int64_t end_ms = clock_ms() + SEEK_ASK_MS;

	while (comparison->open > 0 && clock_ms() < end_ms) {
		rd_kafka_message_t *rkm =
			rd_kafka_consume_queue(comparison->queue, PULL_MS);

		if (rkm == NULL)
			continue;
		meet(comparison, rkm);
		end_ms = clock_ms() + SEEK_ASK_MS;
		rd_kafka_message_destroy(rkm);
	}
	if (comparison->open == 0)
		return ONCE_OK;
	for (size_t i = 0; i < comparison->seeking->count; i++)
		if (comparison->seeking->ranges[i].asked)
			rd_kafka_consume_stop(comparison->rkt, (int32_t)i);
	return seek_not_answered(RD_KAFKA_RESP_ERR__TIMED_OUT, err);
}

static enum kafka_policy ask_policy(const struct seeking *seeking)
{
	rd_kafka_queue_t *answers = rd_kafka_queue_new(seeking->rk);
	enum kafka_policy policy;

	kafka_policy_ask(seeking->rk, seeking->request->topic, SEEK_ASK_MS,
			 answers);
	policy = kafka_policy_take(rd_kafka_queue_poll(answers, SEEK_ASK_MS));
	rd_kafka_queue_destroy(answers);
	return policy;
}

/* The topic is asked once, if any partition wants to know. */
static enum once_status judge_absent(struct seeking *seeking,
				     struct once_error *err)
{
	enum kafka_policy policy = KAFKA_POLICY_UNANSWERED;

	for (size_t i = 0; i < seeking->count; i++) {
		if (!seeking->ranges[i].absent)
			continue;
		if (policy == KAFKA_POLICY_UNANSWERED)
			policy = ask_policy(seeking);
		if (policy == KAFKA_POLICY_UNANSWERED)
			return seek_not_answered(RD_KAFKA_RESP_ERR__TIMED_OUT,
						 err);
		if (policy == KAFKA_POLICY_WHOLE)
			seeking->places[i].log = SEEK_LOG_ANOTHER;
	}
	return ONCE_OK;
}

static void take_id(void *arg, const char *topic, const char *id)
{
	struct comparison *comparison = arg;

	(void)topic;
	snprintf(comparison->id, sizeof(comparison->id), "%s", id);
}

/* If there is no answer, the messages alone have to tell. */
static void ask_id(struct comparison *comparison)
{
	const struct seeking *seeking = comparison->seeking;
	const char *topic = seeking->request->topic;
	rd_kafka_queue_t *answers;

	if (!kafka_topic_id_is_told())
		return;
	answers = rd_kafka_queue_new(seeking->rk);
	kafka_topic_id_ask(seeking->rk, &topic, 1, SEEK_ASK_MS, answers);
	(void)kafka_topic_id_take(rd_kafka_queue_poll(answers, SEEK_ASK_MS),
				  take_id, comparison);
	rd_kafka_queue_destroy(answers);
}

enum once_status seek_compare_logs(struct seeking *seeking,
				   struct once_error *err)
{
	struct comparison comparison = {
		.seeking = seeking,
		.rkt = rd_kafka_topic_new(seeking->rk, seeking->request->topic,
					  NULL),
		.queue = rd_kafka_queue_new(seeking->rk),
	};
	enum once_status status;

	ask_id(&comparison);
	for (size_t i = 0; i < seeking->count; i++)
		start(&comparison, i);
	status = read_anchors(&comparison, err);
	if (status == ONCE_OK)
		status = judge_absent(seeking, err);
	rd_kafka_queue_destroy(comparison.queue);
	rd_kafka_topic_destroy(comparison.rkt);
	return status;
}
