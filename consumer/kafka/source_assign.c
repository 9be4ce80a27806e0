/*
 * Which partitions librdkafka reads. It keeps what the group has given us and
 * what it reads apart, so a rebalance is answered at once, with nothing, and a
 * partition is read when the database has said from where.
 *
 * An eager assignment is always the whole list: those that run already are
 * assigned again where they are. An incremental one names what is added or
 * removed, and the others go on.
 */
#include "source_impl.h"

#include "clock.h"
#include "log.h"

enum {
	GATHER_MS = 300, /* assigning drops what is prefetched: do it rarely */
	REFUSED_MS = 1000
};

typedef bool is_wanted_f(const struct source_partition *partition);

static rd_kafka_topic_partition_list_t *list_wanted(struct source *source,
						    is_wanted_f *is_wanted)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(16);

	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (is_wanted(at))
			rd_kafka_topic_partition_list_add(list, at->topic,
							  at->number)
				->offset = partition_start_offset(at);
	return list;
}

/* false: it was refused. */
static bool take_error(rd_kafka_error_t *error, const char *what)
{
	if (error == NULL)
		return true;
	log_error(NULL, "could not %s partitions: %s", what,
		  rd_kafka_error_string(error));
	rd_kafka_error_destroy(error);
	return false;
}

/* ---- eager: the whole list ---- */

static bool is_readable(const struct source_partition *partition)
{
	return partition->state == PARTITION_READY ||
	       partition->state == PARTITION_RUNNING;
}

/* NULL: none. */
static bool assign_list(struct source *source,
			const rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_resp_err_t error = rd_kafka_assign(source->rk, list);

	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		return true;
	log_error(NULL, "could not assign partitions: %s",
		  rd_kafka_err2str(error));
	return false;
}

static void take_queues(struct source *source, is_wanted_f *is_wanted)
{
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (is_wanted(at))
			source_take_queue(source, at);
}

static bool assign_all(struct source *source)
{
	rd_kafka_topic_partition_list_t *list =
		list_wanted(source, is_readable);
	bool assigned;

	take_queues(source, is_readable);
	assigned = assign_list(source, list);
	rd_kafka_topic_partition_list_destroy(list);
	return assigned;
}

/* ---- incremental: what changes ---- */

static bool is_new(const struct source_partition *partition)
{
	return partition->state == PARTITION_READY;
}

static bool is_read_anew(const struct source_partition *partition)
{
	return partition->state == PARTITION_READY && partition->assigned;
}

static bool is_read_no_more(const struct source_partition *partition)
{
	return partition->assigned && source_is_leaving(partition);
}

static bool is_none(const struct source_partition *partition)
{
	(void)partition;
	return false;
}

static bool add(struct source *source, is_wanted_f *is_wanted)
{
	rd_kafka_topic_partition_list_t *list = list_wanted(source, is_wanted);
	bool added;

	take_queues(source, is_wanted);
	added = take_error(rd_kafka_incremental_assign(source->rk, list),
			   "add");
	rd_kafka_topic_partition_list_destroy(list);
	return added;
}

static bool remove_those(struct source *source, is_wanted_f *is_wanted)
{
	rd_kafka_topic_partition_list_t *list = list_wanted(source, is_wanted);
	bool removed = take_error(
		rd_kafka_incremental_unassign(source->rk, list), "remove");

	rd_kafka_topic_partition_list_destroy(list);
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		at->assigned = at->assigned && !(removed && is_wanted(at));
	return removed;
}

/* Whichever assignment comes next is taken for the answer to a rebalance that
 * we haven't met yet: that one first. */
static bool rebalance_waits(struct source *source)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(source->rk);
	size_t length = rd_kafka_queue_length(queue);

	rd_kafka_queue_destroy(queue);
	return length > 0;
}

static bool any_is(struct source *source, is_wanted_f *is_wanted)
{
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (is_wanted(at))
			return true;
	return false;
}

static bool add_new(struct source *source)
{
	if (any_is(source, is_read_anew) && !remove_those(source, is_read_anew))
		return false;
	return add(source, is_new);
}

/* ---- what the rebalance and the loop ask for ---- */

void source_acknowledge(struct source *source)
{
	rd_kafka_topic_partition_list_t *nothing;

	if (source->incremental) {
		(void)add(source, is_none);
		return;
	}
	nothing = rd_kafka_topic_partition_list_new(0);
	(void)assign_list(source, nothing);
	rd_kafka_topic_partition_list_destroy(nothing);
}

void source_unassign(struct source *source)
{
	if (source->incremental)
		(void)remove_those(source, is_read_no_more);
	else
		(void)assign_list(source, NULL);
}

static bool should_assign(struct source *source)
{
	if (!any_is(source, is_new)) {
		source->ready_since_ms = 0;
		return false;
	}
	if (source->ready_since_ms == 0)
		source->ready_since_ms = clock_ms();
	if (clock_ms() < source->assign_at_ms)
		return false;
	if (source->incremental)
		return !rebalance_waits(source);
	return !any_is(source, partition_is_opening) ||
	       clock_ms() - source->ready_since_ms > GATHER_MS;
}

/* Assigning forgets what was stored. */
static void note_assigned(struct source *source)
{
	size_t count = 0;

	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next) {
		if (!source->incremental && is_readable(at)) {
			at->stored_next = -1;
			at->resting = false;
			at->believed = false;
		}
		if (at->state != PARTITION_READY)
			continue;
		at->stored_next = -1;
		at->resting = false;
		at->believed = false;
		at->assigned = true;
		partition_enter(at, PARTITION_RUNNING);
		count++;
	}
	log_debug(LOG_FIELDS(LOG_NUMBER("partitions", (int64_t)count)),
		  "reading");
}

void source_assign_ready(struct source *source)
{
	if (!should_assign(source))
		return;
	source->ready_since_ms = 0;
	if (source->incremental ? add_new(source) : assign_all(source))
		note_assigned(source);
	else
		source->assign_at_ms = clock_ms() + REFUSED_MS;
}
