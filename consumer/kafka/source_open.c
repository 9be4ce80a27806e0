/*
 * Where a partition starts. The database is asked first; only a partition that
 * has no position anywhere starts where the route's `initial_position` says.
 */
#include "source_impl.h"

#include "clock.h"
#include "kafka_range.h"
#include "log.h"
#include "log_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ASK_TIMEOUT_MS = 5000,
	ASK_AGAIN_MS = 1000,
	ASK_TURN_MS = 500
};

void source_order(struct source_partition *partition, enum order_kind kind,
		  struct parcel *parcel)
{
	struct order *order = calloc(1, sizeof(*order));

	if (order == NULL)
		abort(); /* the partition would stand still for ever */
	order->kind = kind;
	order->address = partition_address(partition);
	order->parcel = parcel;
	order->next_offset = partition->fetch_next;
	snprintf(order->log_id, sizeof(order->log_id), "%s", partition->log_id);
	if (kind == ORDER_DROP) /* others wait for it */
		mailbox_put_urgently(partition->lane->orders, order);
	else
		mailbox_put(partition->lane->orders, order);
}

void source_open(struct source *source, struct source_partition *partition)
{
	(void)source;
	if (!partition_is_held(partition))
		partition_forget_log(partition);
	source_forget_ahead(partition);
	partition->fetch_next = -1;
	partition->stored_next = -1;
	partition_enter(partition, PARTITION_OPENING);
	source_order(partition, ORDER_OPEN, NULL);
}

void source_halt(struct source *source, struct source_partition *partition,
		 const char *why)
{
	(void)source;
	snprintf(partition->why, sizeof(partition->why), "%s", why);
	partition_enter(partition, PARTITION_HALTED);
	log_error(PARTITION_FIELDS(partition), "halted: %s", why);
}

/* ---- no position in the database ---- */

/* What the group has committed to Kafka for `count` partitions from `first` on;
 * -1: nothing. false: no answer. */
static bool ask_committed(struct source *source, const char *topic,
			  int32_t first, int count, int64_t *ret_offsets)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(count);
	bool answered;

	for (int i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, topic, first + i);
	answered = rd_kafka_committed(source->rk, list, ASK_TIMEOUT_MS) ==
		   RD_KAFKA_RESP_ERR_NO_ERROR;
	for (int i = 0; i < count; i++) {
		const rd_kafka_topic_partition_t *at = &list->elems[i];

		answered = answered && at->err == RD_KAFKA_RESP_ERR_NO_ERROR;
		ret_offsets[at->partition - first] =
			at->offset >= 0 ? at->offset : -1;
	}
	rd_kafka_topic_partition_list_destroy(list);
	return answered;
}

static int count_partitions(struct source *source, const char *topic)
{
	rd_kafka_topic_t *handle = rd_kafka_topic_new(source->rk, topic, NULL);
	const rd_kafka_metadata_t *metadata = NULL;
	int count = 0;

	if (handle == NULL)
		return 0;
	if (rd_kafka_metadata(source->rk, 0, handle, &metadata,
			      ASK_TIMEOUT_MS) == RD_KAFKA_RESP_ERR_NO_ERROR) {
		if (metadata->topic_cnt == 1)
			count = metadata->topics[0].partition_cnt;
		rd_kafka_metadata_destroy(metadata);
	}
	rd_kafka_topic_destroy(handle);
	return count;
}

static void order_creation(struct source_partition *partition, int64_t *offsets,
			   size_t count)
{
	struct order *order = calloc(1, sizeof(*order));

	if (order == NULL)
		abort(); /* see source_order() */
	order->kind = ORDER_CREATE;
	order->address = partition_address(partition);
	order->offsets = offsets;
	order->offset_count = count;
	partition_enter(partition, PARTITION_CREATING);
	mailbox_put(partition->lane->orders, order);
}

static int64_t *no_offsets(size_t count)
{
	int64_t *offsets = malloc(count * sizeof(*offsets));

	for (size_t i = 0; offsets != NULL && i < count; i++)
		offsets[i] = -1;
	return offsets;
}

static bool start_at(struct source_partition *partition, int64_t offset)
{
	size_t count = (size_t)partition->number + 1;
	int64_t *offsets = no_offsets(count);

	if (offsets == NULL)
		return false;
	offsets[partition->number] = offset;
	order_creation(partition, offsets, count);
	return true;
}

/* A group that was renamed by mistake starts so, too. */
static bool start_at_first(struct source *source,
			   struct source_partition *partition)
{
	int64_t first;
	int64_t end;

	if (kafka_ask_range(source->rk, partition->topic, partition->number,
			    ASK_TIMEOUT_MS, &first,
			    &end) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	if (first < end)
		log_warning(PARTITION_FIELDS(partition),
			    "no position anywhere: starting at the first "
			    "message, %lld; the log ends at %lld",
			    (long long)first, (long long)end);
	return start_at(partition, first);
}

/* Of those partitions that aren't empty. */
static void tell_passed_over(struct source *source, const char *topic,
			     const int64_t *ends, int count)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(count);

	for (int i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, topic, i)->offset =
			RD_KAFKA_OFFSET_BEGINNING;
	if (rd_kafka_offsets_for_times(source->rk, list, ASK_TIMEOUT_MS) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		log_warning(LOG_FIELDS(LOG_TEXT("topic", topic)),
			    "initial_position is \"latest\": what the topic "
			    "has now is passed over, and never handled");
	for (int i = 0; i < list->cnt; i++) {
		int64_t first = list->elems[i].offset;

		if (list->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR ||
		    first < 0 || first >= ends[i])
			continue;
		log_warning(LOG_FIELDS(LOG_TEXT("topic", topic),
				       LOG_NUMBER("partition", i)),
			    "initial_position is \"latest\": starting at "
			    "%lld; up to %lld messages before it are passed "
			    "over, and never handled",
			    (long long)ends[i], (long long)(ends[i] - first));
	}
	rd_kafka_topic_partition_list_destroy(list);
}

/* Kafka's offset where the group has one, else the end. */
static bool ask_latest(struct source *source, const char *topic, int count,
		       int64_t *offsets)
{
	int64_t *ends = malloc((size_t)count * sizeof(*ends));
	bool answered = ends != NULL &&
			ask_committed(source, topic, 0, count, offsets) &&
			kafka_ask_ends(source->rk, topic, count, ASK_TIMEOUT_MS,
				       ends) == RD_KAFKA_RESP_ERR_NO_ERROR;

	for (int i = 0; i < count && answered; i++) {
		if (offsets[i] < 0)
			offsets[i] = ends[i];
		else
			ends[i] = -1; /* nothing is passed over */
	}
	if (answered)
		tell_passed_over(source, topic, ends, count);
	free(ends);
	return answered;
}

static bool is_of_same_start(const struct source_partition *at,
			     const struct source_partition *partition)
{
	return at != partition && at->state == PARTITION_RESOLVING &&
	       !at->topic_known && at->first_next < 0 &&
	       strcmp(at->topic, partition->topic) == 0;
}

/* "latest" is for what exists when the group is new: all of the topic's
 * partitions get their row at once, and one that appears later is read from its
 * first message. One question answers for all that wait for it: hundreds of
 * them, one after another, would keep this thread from the group. */
static bool start_all_at_end(struct source *source,
			     struct source_partition *partition)
{
	int count = count_partitions(source, partition->topic);
	int64_t *offsets;

	if (count <= partition->number)
		return false;
	offsets = no_offsets((size_t)count);
	if (offsets == NULL ||
	    !ask_latest(source, partition->topic, count, offsets)) {
		free(offsets);
		return false;
	}
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (is_of_same_start(at, partition) && at->number < count)
			start_at(at, offsets[at->number]);
	order_creation(partition, offsets, (size_t)count);
	return true;
}

static bool is_start_for_all(const struct source *source,
			     const struct source_partition *partition)
{
	const struct route_config *route =
		&source->options.cfg->routes[partition->route];

	return route->initial_position == INITIAL_LATEST &&
	       !partition->topic_known;
}

static bool start_by_policy(struct source *source,
			    struct source_partition *partition)
{
	const struct route_config *route =
		&source->options.cfg->routes[partition->route];

	if (route->initial_position == INITIAL_FAIL) {
		source_halt(source, partition,
			    "there is no position for it, and "
			    "initial_position is \"fail\"; stop the group, "
			    "say with onced seek where it starts, and start it "
			    "again");
		return true;
	}
	if (is_start_for_all(source, partition))
		return start_all_at_end(source, partition);
	return start_at_first(source, partition);
}

static bool resolve(struct source *source, struct source_partition *partition)
{
	int64_t committed;

	/* It had a row, which a failover has forgotten, with all that was done
	 * since: Kafka's offset is ahead of that. */
	if (partition->first_next >= 0) {
		log_warning(PARTITION_FIELDS(partition),
			    "the position in the database is gone: starting "
			    "at %lld, where this process began",
			    (long long)partition->first_next);
		return start_at(partition, partition->first_next);
	}
	if (!ask_committed(source, partition->topic, partition->number, 1,
			   &committed))
		return false;
	if (committed >= 0) {
		log_info(PARTITION_FIELDS(partition),
			 "no position in the database: starting at "
			 "%lld, the group's offset in Kafka",
			 (long long)committed);
		/* A row of its own would make the topic a known one. */
		return is_start_for_all(source, partition)
			       ? start_all_at_end(source, partition)
			       : start_at(partition, committed);
	}
	return start_by_policy(source, partition);
}

/* The one that has waited longest; NULL: none is due. */
static struct source_partition *next_to_resolve(struct source *source)
{
	struct source_partition *next = NULL;

	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (at->state == PARTITION_RESOLVING &&
		    (next == NULL || at->retry_at_ms < next->retry_at_ms))
			next = at;
	return next == NULL || next->retry_at_ms > clock_ms() ? NULL : next;
}

/* Asking waits for the broker, and the group must be served in between. */
void source_resolve_starts(struct source *source)
{
	int64_t end_ms = clock_ms() + ASK_TURN_MS;
	struct source_partition *partition;

	while (clock_ms() < end_ms &&
	       (partition = next_to_resolve(source)) != NULL) {
		if (resolve(source, partition))
			continue;
		partition->retry_at_ms = clock_ms() + ASK_AGAIN_MS;
		log_often("start unknown", 1, LOG_LEVEL_WARNING,
			  LOG_FIELDS(LOG_TEXT("topic", partition->topic),
				     LOG_NUMBER("partition", partition->number),
				     LOG_NUMBER("next_ms", ASK_AGAIN_MS)),
			  "Kafka doesn't say where the partition starts");
	}
}
