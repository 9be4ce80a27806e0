/*
 * Before Kafka is told how far we are, it is asked what it believes. Its
 * offsets are never followed. But an offset that somebody set is told to
 * people, and one that is gone means mostly that the topic was deleted:
 * librdkafka says nothing of that when the topic is there again soon enough.
 * What was pulled while the offset was still there is the witness that the log
 * is compared with then.
 *
 * The rule: a witness is of the old log. Between the topic's end and the
 * comparison, messages of the new log are pulled, handled and committed, and by
 * that commit Kafka knows the group again:
 *
 *	seen to be gone, nothing in hand    opened again at once
 *	seen to be gone, a parcel in hand   nothing is pulled; it ends first
 *	opened again, not compared yet      `proving`
 *
 * So in none of these does a witness change, nor with a new assignment.
 */
#include "source_impl.h"

#include "clock.h"
#include "log_event.h"
#include "numbers.h"

enum {
	LOOK_EVERY_MS = 3000, /* when nothing is to be committed */
	ANSWER_MS = 200       /* it is waited for */
};

static const char *compare(int64_t offset, int64_t ours)
{
	return offset < 0 ? "none" : offset < ours ? "behind" : "ahead";
}

static void tell_strange(struct source *source,
			 const struct source_partition *partition,
			 int64_t offset, int64_t ours)
{
	const char *found = compare(offset, ours);
	enum log_level level = partition->committed_next >= 0
				       ? LOG_LEVEL_WARNING
				       : LOG_LEVEL_INFO;

	numbers_group_offset_strange(source->options.numbers, partition->topic,
				     found);
	if (offset < 0)
		log_often("offset gone", LOG_OFTEN, LOG_LEVEL_WARNING,
			  PARTITION_FIELDS(partition),
			  "Kafka has no offset of the group any more (expired, "
			  "deleted, or the topic was); the position in the "
			  "database, %lld, counts",
			  (long long)ours);
	else
		log_often("offset strange", LOG_OFTEN, level,
			  PARTITION_FIELDS(partition),
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
	int64_t ours = partition->committed_next;
	int64_t newest = partition->committed_next > partition->sent_next
				 ? partition->committed_next
				 : partition->sent_next;

	if (offset >= ours && offset <= newest) {
		source_take_witness(partition, &partition->pulled);
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
	    partition->state != PARTITION_RUNNING)
		return;
	if (partition->committed_next >= 0)
		judge_next(source, partition, elem->offset);
	else if (!partition->looked_at)
		judge_first(source, partition, elem->offset);
	partition->looked_at = true;
}

/* ---- asking ---- */

static rd_kafka_topic_partition_list_t *list_to_ask(struct source *source,
						    bool *ret_idle)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(16);

	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (at->state == PARTITION_RUNNING)
			rd_kafka_topic_partition_list_add(list, at->topic,
							  at->number);
	*ret_idle = list->cnt == 0;
	if (*ret_idle) /* for its rights alone */
		rd_kafka_topic_partition_list_add(list, source->topics[0].name,
						  0);
	return list;
}

/* Who may read the group's offsets may not commit for that. */
static void note_right(struct source *source, rd_kafka_resp_err_t error)
{
	if (error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		source->group_hidden = true;
	else if (error == RD_KAFKA_RESP_ERR_NO_ERROR && source->group_hidden)
		source->group_hidden = false;
	else
		return;
	atomic_store(&source->group_denied, source->group_hidden);
}

static bool judge_all(struct source *source,
		      rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_resp_err_t error =
		rd_kafka_committed(source->rk, list, ANSWER_MS);

	note_right(source, error);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	source_note_answer(source);
	for (int i = 0; i < list->cnt; i++)
		judge(source, &list->elems[i]);
	return true;
}

/* The admin API wouldn't wait, but in librdkafka 2.0.2 it aborts the process
 * when the coordinator is away. */
static void ask(struct source *source)
{
	bool idle;
	rd_kafka_topic_partition_list_t *list = list_to_ask(source, &idle);

	source->answered = judge_all(source, list);
	if (source->answered && !idle)
		source_flow_is_back(source);
	rd_kafka_topic_partition_list_destroy(list);
}

/* A broker that is away is asked less often. */
static bool is_due(const struct source *source)
{
	return (source->stored && source->answered) ||
	       clock_ms() - source->looked_at_ms >= LOOK_EVERY_MS;
}

void source_look_on_timer(struct source *source)
{
	if (!is_due(source))
		return;
	source->looked_at_ms = clock_ms();
	ask(source);
}
