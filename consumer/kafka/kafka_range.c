#include "kafka_range.h"

#include "clock.h"

/* RD_KAFKA_OFFSET_BEGINNING and _END are times, too, as Kafka has it. */
static rd_kafka_resp_err_t ask(rd_kafka_t *rk, const char *topic,
			       int32_t partition, int64_t time, int timeout_ms,
			       int64_t *ret_offset)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_t *asked =
		rd_kafka_topic_partition_list_add(list, topic, partition);
	rd_kafka_resp_err_t error;

	asked->offset = time;
	error = rd_kafka_offsets_for_times(rk, list, timeout_ms);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		error = asked->err;
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR && asked->offset < 0)
		error = RD_KAFKA_RESP_ERR__BAD_MSG;
	*ret_offset = asked->offset;
	rd_kafka_topic_partition_list_destroy(list);
	return error;
}

rd_kafka_resp_err_t kafka_ask_range(rd_kafka_t *rk, const char *topic,
				    int32_t partition, int timeout_ms,
				    int64_t *ret_first, int64_t *ret_end)
{
	int64_t began_ms = clock_ms();
	rd_kafka_resp_err_t error =
		ask(rk, topic, partition, RD_KAFKA_OFFSET_BEGINNING, timeout_ms,
		    ret_first);
	int64_t left_ms = timeout_ms - (clock_ms() - began_ms);

	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return error;
	return ask(rk, topic, partition, RD_KAFKA_OFFSET_END,
		   left_ms > 1 ? (int)left_ms : 1, ret_end);
}
