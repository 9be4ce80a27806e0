/*
 * kafka_range.h - what Kafka has of a partition.
 *
 * Instead of rd_kafka_query_watermark_offsets(), which before 2.3 knows no
 * time-out: a broker that hangs held up whoever asked it, for a minute.
 */
#ifndef ONCED_KAFKA_RANGE_H
#define ONCED_KAFKA_RANGE_H

#include <librdkafka/rdkafka.h>

/* The first offset that is there, and the one after the last; for who reads
 * committed messages alone, of those. The time-out is beside what the broker
 * may hold a fetch. */
rd_kafka_resp_err_t kafka_ask_range(rd_kafka_t *rk, const char *topic,
				    int32_t partition, int timeout_ms,
				    int64_t *ret_first, int64_t *ret_end);
rd_kafka_resp_err_t kafka_ask_end(rd_kafka_t *rk, const char *topic,
				  int32_t partition, int timeout_ms,
				  int64_t *ret_end);
/* Of partitions 0 to count - 1: one question to each broker, for all that it
 * leads. */
rd_kafka_resp_err_t kafka_ask_ends(rd_kafka_t *rk, const char *topic, int count,
				   int timeout_ms, int64_t *ret_ends);

#endif
