/*
 * Before Kafka is told how far we are, it is asked what it believes. Its
 * offsets are never followed. But an offset that somebody set is told to
 * people, and one that is gone means mostly that the topic was deleted:
 * librdkafka says nothing of that when the topic is there again soon enough.
 * What was pulled while the offset was still there is the witness that the log
 * is compared with then.
 */
#include "source_impl.h"

#include "clock.h"
#include "log.h"
#include "numbers.h"

enum {
	LOOK_EVERY_MS = 3000, /* when nothing is to be committed */
	ANSWER_MS = 5000
};

/* ---- asking ---- */

static rd_kafka_topic_partition_list_t *list_to_ask(struct source *source)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(16);

	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next) {
		if (at->state != PARTITION_RUNNING)
			continue;
		rd_kafka_topic_partition_list_add(list, at->topic, at->number);
		at->asked_epoch = at->epoch;
		at->asked_committed = at->committed_next;
		at->asked_pulled = at->pulled;
	}
	return list;
}

static void send_question(struct source *source,
			  const rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_ListConsumerGroupOffsets_t *question =
		rd_kafka_ListConsumerGroupOffsets_new(
			source->options.cfg->kafka.group, list);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
		source->rk, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);

	(void)rd_kafka_AdminOptions_set_request_timeout(options, ANSWER_MS,
							NULL, 0);
	rd_kafka_ListConsumerGroupOffsets(source->rk, &question, 1, options,
					  source->answers);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_ListConsumerGroupOffsets_destroy(question);
	source->looking = true;
}

void source_look_on_timer(struct source *source)
{
	rd_kafka_topic_partition_list_t *list;
	int64_t now_ms = clock_ms();

	if (source->looking ||
	    (!source->stored && now_ms - source->looked_at_ms < LOOK_EVERY_MS))
		return;
	source->looked_at_ms = now_ms;
	list = list_to_ask(source);
	if (list->cnt > 0)
		send_question(source, list);
	rd_kafka_topic_partition_list_destroy(list);
}

/* ---- what Kafka believes ---- */

static const char *compare(int64_t offset, int64_t ours)
{
	return offset < 0 ? "none" : offset < ours ? "behind" : "ahead";
}

static void tell_strange(struct source *source,
			 const struct source_partition *partition,
			 int64_t offset, int64_t ours)
{
	const char *found = compare(offset, ours);
	enum log_level level = partition->asked_committed >= 0
				       ? LOG_LEVEL_WARNING
				       : LOG_LEVEL_INFO;

	numbers_group_offset_strange(source->options.numbers, partition->topic,
				     found);
	if (offset < 0)
		log_warning(
			PARTITION_FIELDS(partition),
			"Kafka has no offset of the group any more (expired, "
			"deleted, or the topic was); the position in the "
			"database, %lld, counts",
			(long long)ours);
	else
		log_line(level, PARTITION_FIELDS(partition),
			 "Kafka's offset of the group is %lld, and not %lld, "
			 "where we left it; it isn't followed. If it was set "
			 "on purpose, stop the group and run: onced seek "
			 "--topic %s --partition %d --to %lld",
			 (long long)offset, (long long)ours, partition->topic,
			 (int)partition->number, (long long)offset);
}

/* The first look of an assignment. A group that never committed has none; a
 * process that was killed leaves it behind; records that nobody handles are
 * counted as read. So this proves little. */
static void judge_first(struct source *source,
			struct source_partition *partition, int64_t offset)
{
	if (offset != partition->opened_next && partition->opened_next >= 0)
		tell_strange(source, partition, offset, partition->opened_next);
}

/* It was what we committed last; what is on its way may have arrived. */
static void judge_next(struct source *source,
		       struct source_partition *partition, int64_t offset)
{
	int64_t ours = partition->asked_committed;
	int64_t newest = partition->committed_next > partition->sent_next
				 ? partition->committed_next
				 : partition->sent_next;

	if (offset >= ours && offset <= newest) {
		partition->witness = partition->asked_pulled;
		return;
	}
	tell_strange(source, partition, offset, ours);
	if (offset < 0)
		source_suspect(source, partition,
			       "Kafka has forgotten the group's offset, as it "
			       "does when a topic is deleted");
	source_rewind_offset(source, partition, partition->handled_next);
}

static void judge(struct source *source, const rd_kafka_topic_partition_t *elem)
{
	struct source_partition *partition =
		source_find(source, elem->topic, elem->partition);

	if (partition == NULL || elem->err != RD_KAFKA_RESP_ERR_NO_ERROR ||
	    partition->asked_epoch != partition->epoch ||
	    partition->state != PARTITION_RUNNING)
		return;
	if (partition->asked_committed >= 0)
		judge_next(source, partition, elem->offset);
	else if (!partition->looked_at)
		judge_first(source, partition, elem->offset);
	partition->looked_at = true;
}

/* false: no answer. */
static bool judge_all(struct source *source, rd_kafka_event_t *event)
{
	const rd_kafka_ListConsumerGroupOffsets_result_t *result =
		rd_kafka_event_ListConsumerGroupOffsets_result(event);
	const rd_kafka_group_result_t **groups;
	const rd_kafka_topic_partition_list_t *list;
	size_t count = 0;

	if (result == NULL || rd_kafka_event_error(event) != 0)
		return false;
	groups =
		rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count);
	if (count == 0 || rd_kafka_group_result_error(groups[0]) != NULL)
		return false;
	list = rd_kafka_group_result_partitions(groups[0]);
	for (int i = 0; list != NULL && i < list->cnt; i++)
		judge(source, &list->elems[i]);
	return true;
}

/* Whatever it said: now Kafka may be told. */
void source_take_answers(struct source *source)
{
	rd_kafka_event_t *event;

	while ((event = rd_kafka_queue_poll(source->answers, 0)) != NULL) {
		source->looking = false;
		if (judge_all(source, event))
			source_flow_is_back(source);
		rd_kafka_event_destroy(event);
		source_commit_stored(source);
	}
}
