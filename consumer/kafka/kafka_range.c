#include "kafka_range.h"

#include "clock.h"
#include "kafka_conf.h"

/* A broker answers what came on a connection in turn: a question waits until
 * the fetch before it is answered, which the broker holds for so long. */
static int64_t fetch_wait_ms(rd_kafka_t *rk)
{
	return (int64_t)kafka_conf_get_number(rk, "fetch.wait.max.ms");
}

static rd_kafka_resp_err_t take_offset(const rd_kafka_topic_partition_t *asked,
				       int64_t *ret_offset)
{
	*ret_offset = asked->offset;
	if (asked->err == RD_KAFKA_RESP_ERR_NO_ERROR && asked->offset < 0)
		return RD_KAFKA_RESP_ERR__BAD_MSG;
	return asked->err;
}

/* Of `count` partitions from `first` on. RD_KAFKA_OFFSET_BEGINNING and _END are
 * times, too, as Kafka has it. */
static rd_kafka_resp_err_t ask_all(rd_kafka_t *rk, const char *topic,
				   int32_t first, int count, int64_t time,
				   int64_t until_ms, int64_t *ret_offsets)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(count);
	int64_t left_ms = until_ms - clock_ms();
	rd_kafka_resp_err_t error;

	for (int i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, topic, first + i)
			->offset = time;
	error = rd_kafka_offsets_for_times(rk, list,
					   left_ms > 1 ? (int)left_ms : 1);
	for (int i = 0; i < count && error == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
		error = take_offset(
			&list->elems[i],
			&ret_offsets[list->elems[i].partition - first]);
	rd_kafka_topic_partition_list_destroy(list);
	return error;
}

static rd_kafka_resp_err_t ask(rd_kafka_t *rk, const char *topic,
			       int32_t partition, int64_t time,
			       int64_t until_ms, int64_t *ret_offset)
{
	return ask_all(rk, topic, partition, 1, time, until_ms, ret_offset);
}

rd_kafka_resp_err_t kafka_ask_end(rd_kafka_t *rk, const char *topic,
				  int32_t partition, int timeout_ms,
				  int64_t *ret_end)
{
	return ask(rk, topic, partition, RD_KAFKA_OFFSET_END,
		   clock_ms() + timeout_ms + fetch_wait_ms(rk), ret_end);
}

rd_kafka_resp_err_t kafka_ask_ends(rd_kafka_t *rk, const char *topic, int count,
				   int timeout_ms, int64_t *ret_ends)
{
	return ask_all(rk, topic, 0, count, RD_KAFKA_OFFSET_END,
		       clock_ms() + timeout_ms + fetch_wait_ms(rk), ret_ends);
}

rd_kafka_resp_err_t kafka_ask_range(rd_kafka_t *rk, const char *topic,
				    int32_t partition, int timeout_ms,
				    int64_t *ret_first, int64_t *ret_end)
{
	int64_t until_ms = clock_ms() + timeout_ms + 2 * fetch_wait_ms(rk);
	rd_kafka_resp_err_t error =
		ask(rk, topic, partition, RD_KAFKA_OFFSET_BEGINNING, until_ms,
		    ret_first);

	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return error;
	return ask(rk, topic, partition, RD_KAFKA_OFFSET_END, until_ms,
		   ret_end);
}
