/*
 * kafka_memory.h - kafka.max_memory, divided among partitions.
 *
 * librdkafka's limits are fixed when a handle is made, before anybody knows
 * what will be assigned to it; they count values only, and for each partition.
 * So the memory is divided among all partitions of all topics, which one
 * process has when the others are gone.
 */
#ifndef ONCED_KAFKA_MEMORY_H
#define ONCED_KAFKA_MEMORY_H

#include "config.h"

enum {
	/* What a message takes beside its value, in librdkafka and in a parcel:
	 * 390 bytes with one short header (2.0.2), and some for keys. */
	KAFKA_MESSAGE_COST = 512
};

struct kafka_memory {
	size_t partitions;
	size_t share;        /* of each, in bytes */
	size_t least;        /* that kafka.max_memory should be, in bytes */
	size_t queue_values; /* that wait in a queue, in bytes */
	size_t queue_count;  /* of messages there */
	size_t fetch_values; /* that come at once for a partition, or a batch */
	size_t fetch_whole;  /* that come at once from a broker */
	size_t parcel_memory; /* that a lane is given at once */
};

/* Pure. Where there is less than `least`, each partition gets what it needs to
 * move at all, and more is used than the budget allows. `careful`: some
 * messages may unpack to far more than they are. */
void kafka_memory_divide(const struct config *cfg, size_t partitions,
			 bool careful, struct kafka_memory *ret_memory);

/* How many messages a queue has when it is full, if each has so many bytes:
 * one at least. */
size_t kafka_memory_queue_capacity(const struct kafka_memory *memory,
				   size_t message_size);

/* Has the user set what may wait in queues himself? */
bool kafka_memory_is_overruled(const struct config *cfg);

/* CONFIG: it is too little for so many partitions, and not overruled. */
enum once_status kafka_memory_check(const struct config *cfg,
				    const struct kafka_memory *memory,
				    struct once_error *err);

#endif
