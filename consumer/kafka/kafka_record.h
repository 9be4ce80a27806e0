/* kafka_record.h - a message of librdkafka's as a record of libonce's. */
#ifndef ONCED_KAFKA_RECORD_H
#define ONCED_KAFKA_RECORD_H

#include <librdkafka/rdkafka.h>
#include <once/once.h>

size_t kafka_record_count_headers(rd_kafka_message_t *rkm);

/* `headers`: room for that many. The record borrows all of it. Of which log it
 * is, a lane knows. */
void kafka_record_fill(struct once_record *record, const char *topic,
		       rd_kafka_message_t *rkm, struct once_header *headers,
		       size_t header_count);

/* What it would leave behind as the last one that was handled. */
void kafka_record_anchor(const rd_kafka_message_t *rkm,
			 struct once_anchor *ret_anchor);

#endif
