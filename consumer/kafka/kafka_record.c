/* Nothing is copied: keys, values and headers stay librdkafka's. */
#include "kafka_record.h"

#include "bytes.h"

size_t kafka_record_count_headers(rd_kafka_message_t *rkm)
{
	rd_kafka_headers_t *headers;

	if (rd_kafka_message_headers(rkm, &headers) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return 0;
	return rd_kafka_header_cnt(headers);
}

static void fill_headers(rd_kafka_message_t *rkm, struct once_header *at)
{
	rd_kafka_headers_t *headers;

	if (rd_kafka_message_headers(rkm, &headers) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	for (size_t i = 0;
	     rd_kafka_header_get_all(headers, i, &at[i].name, &at[i].value.data,
				     &at[i].value.size) ==
	     RD_KAFKA_RESP_ERR_NO_ERROR;
	     i++)
		;
}

void kafka_record_fill(struct once_record *record, const char *topic,
		       rd_kafka_message_t *rkm, struct once_header *headers,
		       size_t header_count)
{
	rd_kafka_timestamp_type_t type;

	record->topic = topic;
	record->partition = rkm->partition;
	record->offset = rkm->offset;
	record->time_ms = rd_kafka_message_timestamp(rkm, &type);
	record->key = bytes_of(rkm->key, rkm->key_len);
	record->value = bytes_of(rkm->payload, rkm->len);
	record->headers = headers;
	record->header_count = header_count;
	record->log_generation = 0;
	fill_headers(rkm, headers);
}

void kafka_record_anchor(const rd_kafka_message_t *rkm,
			 struct once_anchor *ret_anchor)
{
	struct once_record record = { .offset = rkm->offset };
	rd_kafka_timestamp_type_t type;

	record.time_ms = rd_kafka_message_timestamp(rkm, &type);
	record.key = bytes_of(rkm->key, rkm->key_len);
	record.value = bytes_of(rkm->payload, rkm->len);
	once_anchor_of(&record, ret_anchor);
}
