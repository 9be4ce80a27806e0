/*
 * The topic's id stands beside the position, and is compared when a partition
 * is opened and on a slow timer. It shows what no message does: a topic made
 * again in whose log the same message stands at the old place, or where the old
 * one was removed long ago. A librdkafka that tells no ids leaves all of this
 * off.
 *
 * A partition that has an id isn't pulled until that is compared; if there is
 * no answer, the messages alone have to tell, as ever.
 */
#include "source_impl.h"

#include "clock.h"
#include "kafka_topic_id.h"
#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	EVERY_MS = 10000,
	ANSWER_MS = 5000
};

void source_expect_identity(struct source *source,
			    struct source_partition *partition,
			    const struct once_position *position)
{
	if (!kafka_topic_id_is_told())
		return;
	snprintf(partition->log_id, sizeof(partition->log_id), "%s",
		 position->log_id);
	partition->unidentified = partition->log_id[0] != '\0';
	partition->asked_for_id = false;
	source->identify_at_ms = 0;
}

static bool is_read(const struct source_partition *partition)
{
	return partition->state == PARTITION_READY ||
	       partition->state == PARTITION_RUNNING;
}

static void compare(struct source *source, struct source_partition *partition,
		    const char *id)
{
	char what[160];

	partition->unidentified = false;
	if (strcmp(partition->log_id, id) == 0)
		return;
	if (partition->log_id[0] == '\0') {
		snprintf(partition->log_id, sizeof(partition->log_id), "%s",
			 id);
		source_order(partition, ORDER_NAME, NULL);
		return;
	}
	snprintf(what, sizeof(what), "its topic has the id %s now, and had %s",
		 id, partition->log_id);
	source_halt_other_log(source, partition, what);
}

static void take_id(void *arg, const char *topic, const char *id)
{
	struct source *source = arg;

	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (is_read(at) && strcmp(at->topic, topic) == 0)
			compare(source, at, id);
}

static void take_answer(struct source *source)
{
	rd_kafka_event_t *event = rd_kafka_queue_poll(source->identities, 0);

	if (event == NULL)
		return;
	source->identifying = false;
	(void)kafka_topic_id_take(event, take_id, source);
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (at->asked_for_id)
			at->unidentified = at->asked_for_id = false;
}

/* Each topic once. */
static size_t list_topics(struct source *source, const char **topics,
			  size_t most)
{
	size_t count = 0;

	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next) {
		size_t i = 0;

		if (!is_read(at))
			continue;
		at->asked_for_id = true;
		while (i < count && strcmp(topics[i], at->topic) != 0)
			i++;
		if (i == count && count < most)
			topics[count++] = at->topic;
	}
	return count;
}

static size_t count_topics(const struct config *cfg)
{
	size_t count = 0;

	for (size_t i = 0; i < cfg->route_count; i++)
		count += cfg->routes[i].topic_count;
	return count;
}

static void ask(struct source *source)
{
	size_t most = count_topics(source->options.cfg);
	const char **topics = calloc(most, sizeof(*topics));
	size_t count = topics == NULL ? 0 : list_topics(source, topics, most);

	if (source->identities == NULL)
		source->identities = source_make_queue(source);
	if (count > 0) {
		source->identifying = true;
		kafka_topic_id_ask(source->rk, topics, count, ANSWER_MS,
				   source->identities);
		source->identify_at_ms = clock_ms() + EVERY_MS;
	}
	free(topics);
}

void source_identify(struct source *source)
{
	if (!kafka_topic_id_is_told())
		return;
	if (source->identifying)
		take_answer(source);
	if (!source->identifying && clock_ms() >= source->identify_at_ms)
		ask(source);
}
