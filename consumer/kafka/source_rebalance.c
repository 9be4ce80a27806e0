/*
 * Partitions that come and go. What comes is assigned to nobody until the
 * database has said where it stands; what goes is first let go by its lane, so
 * that no transaction of ours runs on where another member reads.
 */
#include "source_impl.h"

#include "clock.h"
#include "log.h"
#include "numbers.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DROP_LIMIT_MS = 10000,
	LATE_PARCEL_WEIGHT = 1000
};

struct source_partition *source_find(struct source *source, const char *topic,
				     int32_t number)
{
	struct source_partition *partition = source->partitions;

	while (partition != NULL && (partition->number != number ||
				     strcmp(partition->topic, topic) != 0))
		partition = partition->next;
	return partition;
}

/* ---- one that goes ---- */

bool source_is_leaving(const struct source_partition *partition)
{
	return partition->queue != NULL && !partition_is_held(partition);
}

static void order_drop(struct source_partition *partition)
{
	source_forget_ahead(partition);
	partition_enter(partition, PARTITION_DROPPING);
	source_order(partition, ORDER_DROP, NULL);
}

static void close_partition(struct source *source,
			    struct source_partition *partition)
{
	rd_kafka_queue_destroy(partition->queue);
	partition->queue = NULL;
	partition->epoch++; /* what comes later changes nothing */
	if (partition->state == PARTITION_DROPPING)
		partition_enter(partition, PARTITION_IDLE);
	numbers_partition_remove(source->options.numbers, partition->topic,
				 partition->number);
}

/* ---- coming ---- */

/* A lane that hasn't let go of what it was told to drop is in a handler that
 * doesn't return: what it is given now would stand behind that. */
static size_t load_of(struct source *source, const struct source_lane *lane)
{
	size_t load = lane->parcels * LATE_PARCEL_WEIGHT;

	for (const struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		load += partition_is_held(at) && at->lane == lane;
	return load;
}

static struct source_lane *least_loaded_lane(struct source *source)
{
	struct source_lane *best = &source->lanes[0];

	for (unsigned i = 1; i < source->options.cfg->lanes; i++)
		if (load_of(source, &source->lanes[i]) < load_of(source, best))
			best = &source->lanes[i];
	return best;
}

static struct source_partition *get_partition(struct source *source,
					      const char *topic, int32_t number)
{
	struct source_partition *partition = source_find(source, topic, number);
	int route = config_route_of(source->options.cfg, topic);

	if (partition != NULL || route < 0)
		return partition;
	partition = partition_create(topic, number, (size_t)route);
	if (partition == NULL)
		abort(); /* it would never be read */
	partition->parcel_size = source->options.cfg->batch.max_messages;
	partition->next = source->partitions;
	source->partitions = partition;
	return partition;
}

void source_take_queue(struct source *source,
		       struct source_partition *partition)
{
	if (partition->queue != NULL)
		rd_kafka_queue_destroy(partition->queue);
	partition->queue = rd_kafka_queue_get_partition(
		source->rk, partition->topic, partition->number);
	rd_kafka_queue_forward(partition->queue, NULL);
	rd_kafka_queue_io_event_enable(partition->queue, source->wake_fd,
				       "\1\0\0\0\0\0\0\0", 8);
}

static void take_partition(struct source *source, const char *topic,
			   int32_t number)
{
	struct source_partition *partition =
		get_partition(source, topic, number);

	if (partition == NULL)
		return;
	if (partition_is_held(partition)) {
		order_drop(partition); /* it was never taken away */
		close_partition(source, partition);
	}
	partition->epoch++;
	partition->busy = false;
	partition->committed_next = -1;
	partition->lane = least_loaded_lane(source);
	source_take_queue(source, partition);
	source_open(source, partition);
}

/* The library is asked here only: once it is closing it might not answer. */
static bool is_incremental(struct source *source)
{
	const char *protocol = rd_kafka_rebalance_protocol(source->rk);

	return protocol != NULL && strcmp(protocol, "COOPERATIVE") == 0;
}

static void take_partitions(struct source *source,
			    const rd_kafka_topic_partition_list_t *list)
{
	source->incremental = is_incremental(source);
	log_info(LOG_FIELDS(LOG_NUMBER("partitions", list->cnt),
			    LOG_TEXT("rebalance", source->incremental
							  ? "incremental"
							  : "eager")),
		 "assigned");
	for (int i = 0; i < list->cnt; i++)
		take_partition(source, list->elems[i].topic,
			       list->elems[i].partition);
	source_check_memory(source);
	source_acknowledge(source);
	source_publish(source); /* or nothing would be seen to be waited for */
	atomic_store(&source->joined, true);
	atomic_store(&source->timed_out, false);
	source_set_trouble(source, "");
	atomic_store(&source->group_denied, false);
	source_note_answer(source);
}

/* ---- going ---- */

static bool is_dropping(const struct source *source)
{
	for (const struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (at->state == PARTITION_DROPPING)
			return true;
	return false;
}

/* NULL: all. */
static void order_drops(struct source *source,
			rd_kafka_topic_partition_list_t *list)
{
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (partition_is_held(at) &&
		    (list == NULL ||
		     rd_kafka_topic_partition_list_find(list, at->topic,
							at->number) != NULL))
			order_drop(at);
}

static void wait_for_drops(struct source *source)
{
	int64_t end_ms = clock_ms() + DROP_LIMIT_MS;
	struct pollfd fd = { source->wake_fd, POLLIN, 0 };
	uint64_t count;

	source_take_reports(source);
	while (is_dropping(source) && clock_ms() < end_ms) {
		atomic_store(&source->moved_at_ms, clock_ms());
		if (poll(&fd, 1, 100) > 0 &&
		    read(source->wake_fd, &count, sizeof(count)) < 0)
			continue;
		source_take_reports(source);
	}
	if (is_dropping(source))
		log_warning(NULL,
			    "a handler didn't end within %d ms of a rebalance; "
			    "its transaction is fenced by the position",
			    DROP_LIMIT_MS);
}

static void close_leaving(struct source *source)
{
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (source_is_leaving(at))
			close_partition(source, at);
}

static void give_partitions(struct source *source,
			    rd_kafka_topic_partition_list_t *list)
{
	bool lost = rd_kafka_assignment_lost(source->rk) != 0;

	log_info(LOG_FIELDS(LOG_NUMBER("partitions", list->cnt),
			    LOG_TEXT("lost", lost ? "yes" : "no")),
		 "revoked");
	order_drops(source, source->incremental ? list : NULL);
	if (lost) /* the next assignment may take a session's time */
		atomic_store(&source->joined, false);
	if (!lost) {
		wait_for_drops(source);
		source_commit_now(source);
	}
	source_unassign(source);
	close_leaving(source);
}

/* Nobody knows what is ours: nothing is, until the group says so again. */
static void give_up(struct source *source, rd_kafka_resp_err_t error)
{
	log_error(NULL, "a rebalance failed: %s", rd_kafka_err2str(error));
	order_drops(source, NULL);
	source_unassign(source);
	close_leaving(source);
}

void source_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t error,
		      rd_kafka_topic_partition_list_t *list, void *opaque)
{
	struct source *source = opaque;

	(void)rk;
	if (error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
		take_partitions(source, list);
	else if (error == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS)
		give_partitions(source, list);
	else
		give_up(source, error);
}

/* It takes an assignment that comes meanwhile back without a word. */
void source_let_go(struct source *source)
{
	order_drops(source, NULL);
	close_leaving(source);
}
