/*
 * How many partitions there are is asked before the group is joined, and a
 * consumer is made for so many: a handle's limits can't be changed. While no
 * broker answers, joining would be in vain, too.
 */
#include "source_impl.h"

#include "clock.h"
#include "error.h"
#include "log.h"

enum {
	ASK_MS = 1000 /* a stop waits so long */
};

/* Of a topic that isn't there, or may not be seen: 0. false: no answer. */
static bool count_of_topic(rd_kafka_t *rk, const char *name, size_t *ret_count)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
	const struct rd_kafka_metadata *metadata;
	bool answered = topic != NULL &&
			rd_kafka_metadata(rk, 0, topic, &metadata, ASK_MS) ==
				RD_KAFKA_RESP_ERR_NO_ERROR;

	*ret_count = 0;
	if (answered) {
		if (metadata->topic_cnt == 1)
			*ret_count = (size_t)metadata->topics[0].partition_cnt;
		rd_kafka_metadata_destroy(metadata);
	}
	if (topic != NULL)
		rd_kafka_topic_destroy(topic);
	return answered;
}

/* One topic at a time: a broker that hangs is asked for some of them only, and
 * what others have said stands. */
bool source_count_partitions(struct source *source)
{
	size_t count;

	if (!count_of_topic(source->rk,
			    source->topics[source->counted_topics].name,
			    &count))
		return false;
	source_note_answer(source);
	source->partition_count += count;
	return ++source->counted_topics == source->topic_count;
}

static size_t whole_mib(size_t bytes)
{
	return (bytes + 1048575) / 1048576;
}

void source_divide_memory(struct source *source, size_t partitions)
{
	struct kafka_memory *memory = &source->memory;
	const struct config *cfg = source->options.cfg;
	struct once_error err;

	kafka_memory_divide(cfg, partitions, source->options.careful, memory);
	log_info(LOG_FIELDS(
			 LOG_NUMBER("partitions", (int64_t)memory->partitions),
			 LOG_NUMBER("kib_each",
				    (int64_t)(memory->share / 1024))),
		 "kafka.max_memory is divided among the partitions");
	if (source->options.careful)
		log_info(NULL,
			 "a process of this group has ended uncleanly, or "
			 "the database couldn't say: fetching batch by "
			 "batch until the next start");
	if (kafka_memory_check(cfg, memory, &err) != ONCE_OK)
		log_warning(NULL, "%s", err.text);
}

/* Topics that were made, or have grown, since we have asked. */
void source_check_memory(struct source *source)
{
	const struct config *cfg = source->options.cfg;
	size_t held = 0;

	for (const struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		held += partition_is_held(at);
	if (held <= source->memory.partitions || kafka_memory_is_overruled(cfg))
		return;
	log_warning(NULL,
		    "%zu partitions are assigned, and there were %zu when this "
		    "process started: their messages may take %zu MiB instead "
		    "of kafka.max_memory, %zu MiB; restart it to divide that "
		    "anew",
		    held, source->memory.partitions,
		    whole_mib(cfg->kafka.max_memory /
			      source->memory.partitions * held),
		    whole_mib(cfg->kafka.max_memory));
}
