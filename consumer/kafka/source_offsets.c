/*
 * What Kafka is told. Its offsets are a report for the tools people use to see
 * lag; the position in the database is the truth, so a refused commit costs
 * nothing.
 */
#include "source_impl.h"

#include "clock.h"
#include "fault.h"
#include "log_event.h"

enum {
	COMMIT_EVERY_MS = 500,
	COMMIT_LIMIT_MS = 3000
};

/* Behind what was pulled last, and the records after it that nobody handles. */
static int64_t librdkafka_position(struct source *source,
				   const struct source_partition *partition)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	int64_t offset = -1;

	rd_kafka_topic_partition_list_add(list, partition->topic,
					  partition->number);
	if (rd_kafka_position(source->rk, list) == RD_KAFKA_RESP_ERR_NO_ERROR)
		offset = list->elems[0].offset;
	rd_kafka_topic_partition_list_destroy(list);
	return offset;
}

/* A new assignment takes effect in another thread. Until then the position is
 * that of the one before, behind messages that were pulled then and perhaps
 * never handled; it is unset before the first message of the new one comes. */
void source_check_position(struct source *source,
			   struct source_partition *partition)
{
	int64_t offset;

	if (partition->believed)
		return;
	offset = librdkafka_position(source, partition);
	partition->believed =
		offset < 0 || offset == partition_start_offset(partition);
}

/* At the end of a topic stand records that nobody handles (transaction markers,
 * compacted ones): when nothing is in flight, lag should still reach 0. */
static int64_t idle_position(struct source *source,
			     const struct source_partition *partition)
{
	int64_t offset;

	if (partition->busy || partition->ahead != NULL || partition->absent ||
	    partition->resting || !partition->believed)
		return -1;
	offset = librdkafka_position(source, partition);
	/* Something was pulled and ended between the two: next time. */
	return partition->fetch_next == partition->handled_next ? offset : -1;
}

int64_t source_ended_next(struct source *source,
			  const struct source_partition *partition)
{
	int64_t idle = -1;

	if (partition->state == PARTITION_RUNNING)
		idle = idle_position(source, partition);
	return idle > partition->handled_next ? idle : partition->handled_next;
}

static int64_t offset_to_store(struct source *source,
			       const struct source_partition *partition)
{
	if (partition->state != PARTITION_RUNNING &&
	    partition->state != PARTITION_DROPPING &&
	    partition->state != PARTITION_IDLE)
		return -1;
	return source_ended_next(source, partition);
}

static rd_kafka_topic_partition_list_t *list_unstored(struct source *source)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(16);

	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next) {
		int64_t offset = offset_to_store(source, at);

		if (at->queue == NULL || offset < 0 ||
		    offset <= at->stored_next || offset <= at->committed_next)
			continue;
		rd_kafka_topic_partition_list_add(list, at->topic, at->number)
			->offset = offset;
	}
	return list;
}

static void note_stored(struct source *source,
			const rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; i < list->cnt; i++) {
		const rd_kafka_topic_partition_t *elem = &list->elems[i];
		struct source_partition *partition =
			source_find(source, elem->topic, elem->partition);

		if (elem->err != RD_KAFKA_RESP_ERR_NO_ERROR ||
		    partition == NULL)
			continue; /* not ours any more, or not read yet */
		partition->stored_next = elem->offset;
		source->stored = true;
	}
}

void source_store_offsets(struct source *source)
{
	rd_kafka_topic_partition_list_t *list = list_unstored(source);

	if (list->cnt > 0) {
		(void)rd_kafka_offsets_store(source->rk, list);
		note_stored(source, list);
		fault_point("after_store");
	}
	rd_kafka_topic_partition_list_destroy(list);
}

/* If Kafka forgets it later, then the topic was deleted later, too. */
static void note_acknowledged(struct source_partition *partition,
			      int64_t offset)
{
	partition->committed_next = offset;
	source_note_allowed(partition);
	source_take_witness(partition, &partition->sent_pulled);
}

static void note_group_right(struct source *source, rd_kafka_resp_err_t error)
{
	if (error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		atomic_store(&source->group_denied, true);
	else if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
		atomic_store(&source->group_denied, false);
		source_note_answer(source);
	}
}

void source_note_commit(rd_kafka_t *rk, rd_kafka_resp_err_t error,
			rd_kafka_topic_partition_list_t *list, void *opaque)
{
	struct source *source = opaque;

	(void)rk;
	for (int i = 0; list != NULL && i < list->cnt; i++) {
		const rd_kafka_topic_partition_t *elem = &list->elems[i];
		struct source_partition *partition =
			source_find(source, elem->topic, elem->partition);

		if (partition == NULL || elem->offset < 0)
			continue;
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    elem->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			note_acknowledged(partition, elem->offset);
		else
			partition->stored_next = -1; /* store it again */
		if (elem->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
			source_note_denied(partition);
	}
	note_group_right(source, error);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR &&
	    error != RD_KAFKA_RESP_ERR__NO_OFFSET &&
	    error != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED &&
	    error != RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		log_often(
			"offset commit refused", 1, LOG_LEVEL_INFO, NULL,
			"Kafka refused an offset commit (%s); the position in "
			"the database stands",
			rd_kafka_err2str(error));
}

/* What is stored is committed only if it is more than before; a list is
 * committed as it is. */
void source_rewind_offset(struct source *source,
			  const struct source_partition *partition,
			  int64_t offset)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);

	rd_kafka_topic_partition_list_add(list, partition->topic,
					  partition->number)
		->offset = offset;
	(void)rd_kafka_commit(source->rk, list, 1);
	rd_kafka_topic_partition_list_destroy(list);
}

static void note_sent(struct source *source)
{
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next) {
		if (at->queue == NULL || at->stored_next <= at->sent_next)
			continue;
		at->sent_next = at->stored_next;
		at->sent_pulled = at->pulled;
	}
}

static void commit_stored(struct source *source)
{
	if (!source->stored)
		return;
	source->stored = false;
	note_sent(source);
	(void)rd_kafka_commit(source->rk, NULL, 1);
	fault_point("after_offset_commit");
}

void source_commit_on_timer(struct source *source)
{
	int64_t now_ms = clock_ms();

	if (now_ms - source->committed_at_ms < COMMIT_EVERY_MS)
		return;
	source->committed_at_ms = now_ms;
	source_store_offsets(source);
	source_look_on_timer(source);
	commit_stored(source);
}

static void note_last_commit(rd_kafka_t *rk, rd_kafka_resp_err_t error,
			     rd_kafka_topic_partition_list_t *list,
			     void *opaque)
{
	struct source *source = opaque;

	source_note_commit(rk, error, list, source);
	source->committing = false;
}

/* Without a coordinator the answer can take as long as a session; nothing is
 * lost by not waiting for it. */
static void wait_for_commit(struct source *source, rd_kafka_queue_t *answers)
{
	int64_t end_ms = clock_ms() + COMMIT_LIMIT_MS;

	while (source->committing && clock_ms() < end_ms) {
		atomic_store(&source->moved_at_ms, clock_ms());
		(void)rd_kafka_queue_poll_callback(answers, 100);
	}
	if (source->committing)
		log_often("offset commit unanswered", 1, LOG_LEVEL_INFO, NULL,
			  "Kafka didn't answer an offset commit within %d ms; "
			  "the position in the database stands",
			  COMMIT_LIMIT_MS);
}

void source_commit_now(struct source *source)
{
	rd_kafka_queue_t *answers = rd_kafka_queue_new(source->rk);

	source_store_offsets(source);
	source->stored = false;
	source->committing = true;
	if (rd_kafka_commit_queue(source->rk, NULL, answers, note_last_commit,
				  source) != RD_KAFKA_RESP_ERR_NO_ERROR)
		source->committing = false;
	wait_for_commit(source, answers);
	rd_kafka_queue_destroy(answers); /* and a later answer with it */
	fault_point("after_offset_commit");
}
