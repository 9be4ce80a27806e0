/*
 * Before 2.2, librdkafka's thread of a broker sleeps for up to a second when
 * the queues of all its partitions are full, and who empties them doesn't wake
 * it: lanes that pass over duplicates have them empty long before. A request to
 * that broker does. It gets one whose answer nobody waits for.
 */
#include "source_impl.h"

#include "kafka_conf.h"

/* It was about full, and half of that is gone. */
static bool is_hungry(const struct source *source,
		      struct source_partition *partition)
{
	size_t length = rd_kafka_queue_length(partition->queue);

	if (length > partition->queue_most)
		partition->queue_most = length;
	if (2 * length > partition->queue_most ||
	    2 * partition->queue_most <
		    kafka_memory_queue_capacity(&source->memory,
						partition->message_size))
		return false;
	partition->queue_most = length;
	return true;
}

static void ask_in_passing(struct source *source,
			   rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; i < list->cnt; i++)
		list->elems[i].offset = RD_KAFKA_OFFSET_END;
	(void)rd_kafka_offsets_for_times(source->rk, list, 0);
}

void source_refill(struct source *source)
{
	rd_kafka_topic_partition_list_t *hungry;

	if (kafka_conf_has_queue_backoff())
		return;
	hungry = rd_kafka_topic_partition_list_new(0);
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (at->state == PARTITION_RUNNING && is_hungry(source, at))
			rd_kafka_topic_partition_list_add(hungry, at->topic,
							  at->number);
	if (hungry->cnt > 0)
		ask_in_passing(source, hungry);
	rd_kafka_topic_partition_list_destroy(hungry);
}
