/*
 * A partition that waits for long lets go of what is fetched for it. librdkafka
 * frees a fetch as a whole, with all partitions in it: each message that lies
 * in a queue may hold a megabyte of what others had long ago. So a queue that
 * fills drop by drop, beside others that flow, is emptied, and read again when
 * the partition goes on. One that Kafka can fill at once is left alone: it is
 * full of its own, and librdkafka fetches no more for it.
 *
 * The idea: `fetch_next` stays where it is. It is what the partition is read
 * from when it is assigned again.
 */
#include "source_impl.h"

#include "clock.h"

enum {
	WAITS_MS = 5000,
	LOOK_EVERY_MS = 1000,
	RETURN_EVERY_MS = 1000 /* assigning drops what others have fetched */
};

/* A halted one is read until the next assignment, too. */
static bool waits(const struct source_partition *partition)
{
	if (partition->state == PARTITION_HALTED)
		return partition->queue != NULL;
	return partition->state == PARTITION_RUNNING && partition->busy &&
	       !partition->proving && !partition->suspected &&
	       clock_ms() - partition->busy_since_ms > WAITS_MS;
}

/* All that Kafka has of it will lie in the queue, which isn't full then. */
static bool is_trickling(struct source *source,
			 const struct source_partition *partition)
{
	int64_t room = (int64_t)kafka_memory_queue_capacity(
		&source->memory, partition->message_size);
	int64_t first;
	int64_t end;

	return rd_kafka_queue_length(partition->queue) > 0 &&
	       rd_kafka_get_watermark_offsets(
		       source->rk, partition->topic, partition->number, &first,
		       &end) == RD_KAFKA_RESP_ERR_NO_ERROR &&
	       end - partition->rested_next < room;
}

/* The message that was looked at comes again with the others. */
static void begin_rest(struct source_partition *partition)
{
	if (partition->ahead != NULL)
		partition->fetch_next = partition->ahead->offset;
	source_forget_ahead(partition);
	partition->resting = true;
}

static void rest(struct source *source, struct source_partition *partition)
{
	if (!partition->resting)
		partition->rested_next = partition->fetch_next;
	if (!is_trickling(source, partition))
		return;
	begin_rest(partition);
	source_drop_queued(source, partition);
}

/* All that may, together. */
static void go_on(struct source *source)
{
	if (clock_ms() - source->returned_at_ms < RETURN_EVERY_MS)
		return;
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next) {
		if (!at->resting || at->busy || at->state != PARTITION_RUNNING)
			continue;
		partition_enter(at, PARTITION_READY);
		source->returned_at_ms = clock_ms();
	}
}

void source_rest_on_timer(struct source *source)
{
	go_on(source);
	if (clock_ms() - source->rested_at_ms < LOOK_EVERY_MS)
		return;
	source->rested_at_ms = clock_ms();
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (waits(at))
			rest(source, at);
}
