/*
 * A partition's share has three parts: what a lane has in hand, what one fetch
 * may bring to a queue that is almost full, and what waits in the queue. The
 * last is by far the largest: a queue that is half empty must last until a
 * broker that is busy has filled it again.
 *
 * A queue's share is spent on values by half, on messages by half: whatever
 * their size, both together stay within it.
 *
 * That is so for messages as people send them. zstd makes 2 KB of 50 MiB of
 * spaces, and librdkafka unpacks a whole fetch before it looks at any limit: a
 * fetch of 1 MiB would take gigabytes, and the process would die of it at every
 * start. So little is fetched at once. The invariant: for each partition there
 * is in memory, beside its share, what one fetch unpacks to. That is
 *
 *	FETCH          at most 7 such messages of 50 MiB. Costs nothing: batches
 *	               come whole whatever their size, and of small ones enough
 *	               come at once.
 *	CAREFUL_FETCH  a single batch. Costs a round trip for every two or three
 *	               messages that were sent one at a time.
 *
 * A batch has in Kafka at most the topic's max.message.bytes. librdkafka
 * unpacks zstd to receive.message.max.bytes at most, gzip to 1000 times and lz4
 * to 255 times what it is, without a limit.
 *
 * A handle's limits can't be changed, so it is decided at the start: careful
 * after a process of the group has ended uncleanly, whatever it died of, and
 * also while the database can't say (once_group_has_crashed()). What can fail:
 *
 *	FETCH was too much          the process dies, and its row in
 *	                            once.instance stays: the next start is
 *	                            careful, of each member that dies
 *	it died of something else   careful for nothing, until the next start
 *	                            a day later
 *	CAREFUL_FETCH is too much   receive.message.max.bytes, or
 *	                            max.message.bytes of the topic, has to be
 *	                            lowered, or there has to be more memory
 *	only aborted transactions   librdkafka takes that for a fetch that was
 *	came                        too small and doubles it for the partition,
 *	                            until the next start
 */
#include "kafka_memory.h"

#include "error.h"

#include <string.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

enum {
	/* Compressed, a fetch is so many times as large when it is unpacked;
	 * and so much more than their bytes do small messages take. */
	UNPACKED = 4
};

/* A producer's batch may have 1 MiB, and is never fetched in pieces. */
#define LEAST_SHARE (2 * MIB)
#define LEAST_HAND MIB
#define MOST_BATCH MIB
#define FETCH (16 * KIB)
#define CAREFUL_FETCH KIB
#define LEAST_WHOLE MIB
#define MOST_WHOLE (16 * MIB)
#define MOST_QUEUE (1024 * MIB) /* librdkafka takes 2 GiB */

static size_t at_most(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t at_least(size_t a, size_t b)
{
	return a > b ? a : b;
}

void kafka_memory_divide(const struct config *cfg, size_t partitions,
			 bool careful, struct kafka_memory *ret_memory)
{
	size_t count = at_least(partitions, 1);
	size_t share = cfg->kafka.max_memory / count;
	size_t used = at_least(share, LEAST_SHARE);
	/* Small messages take twice their bytes. */
	size_t hand = at_most(at_least(2 * cfg->batch.max_bytes, LEAST_HAND),
			      used / 4);
	size_t fetch = at_most(UNPACKED * MOST_BATCH, used / 4);
	size_t queue = at_most(used - hand - fetch, MOST_QUEUE);

	*ret_memory = (struct kafka_memory){
		.partitions = count,
		.share = share,
		.least = count * LEAST_SHARE,
		.queue_values = queue / 2,
		.queue_count = queue / 2 / KAFKA_MESSAGE_COST,
		.fetch_values = careful ? CAREFUL_FETCH : FETCH,
		.fetch_whole = at_most(
			at_least(cfg->kafka.max_memory / 8, LEAST_WHOLE),
			MOST_WHOLE),
		.parcel_memory = hand,
	};
}

size_t kafka_memory_queue_capacity(const struct kafka_memory *memory,
				   size_t message_size)
{
	size_t count = memory->queue_values / at_least(message_size, 1);

	return at_least(at_most(count, memory->queue_count), 1);
}

bool kafka_memory_is_overruled(const struct config *cfg)
{
	for (size_t i = 0; i < cfg->kafka.property_count; i++)
		if (strncmp(cfg->kafka.properties[i].name, "queued.", 7) == 0)
			return true;
	return false;
}

enum once_status kafka_memory_check(const struct config *cfg,
				    const struct kafka_memory *memory,
				    struct once_error *err)
{
	if (cfg->kafka.max_memory >= memory->least ||
	    kafka_memory_is_overruled(cfg))
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "kafka.max_memory is too little for %zu partitions: a "
			 "process that has all of them takes up to %zu MiB for "
			 "their messages; write at least %zuMiB",
			 memory->partitions, memory->least / MIB,
			 memory->least / MIB);
}
