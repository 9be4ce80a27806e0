/* sample_impl.h - shared by sample.c (reading) and sample_open.c (asking). */
#ifndef ONCED_SAMPLE_IMPL_H
#define ONCED_SAMPLE_IMPL_H

#include "sample.h"

#include <librdkafka/rdkafka.h>

struct sample_topic {
	const char *name;
	rd_kafka_topic_t *rkt;
	size_t first; /* index of its partition 0 */
	size_t count;
};

struct sample {
	const struct config *cfg;
	rd_kafka_t *rk;
	rd_kafka_queue_t *queue; /* of all partitions */
	struct sample_topic *topics;
	size_t topic_count;
	struct sample_partition *partitions;
	size_t partition_count;
	size_t open_count; /* partitions that aren't done */
	struct once_header *headers;
	size_t header_room;
	char reason[256]; /* what librdkafka has complained of last */
};

#endif
