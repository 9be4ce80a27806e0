/* A topic's id, by DescribeTopics. A cluster that has none answers with zeros.
 */
#include "kafka_topic_id.h"

bool kafka_topic_id_is_told(void)
{
	return true;
}

void kafka_topic_id_ask(rd_kafka_t *rk, const char **topics, size_t count,
			int timeout_ms, rd_kafka_queue_t *queue)
{
	rd_kafka_AdminOptions_t *options =
		rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
	rd_kafka_TopicCollection_t *collection =
		rd_kafka_TopicCollection_of_topic_names(topics, count);

	(void)rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms,
							NULL, 0);
	rd_kafka_DescribeTopics(rk, collection, options, queue);
	rd_kafka_TopicCollection_destroy(collection);
	rd_kafka_AdminOptions_destroy(options);
}

static void tell(const rd_kafka_TopicDescription_t *topic,
		 kafka_topic_id_f *told, void *arg)
{
	const rd_kafka_Uuid_t *id = rd_kafka_TopicDescription_topic_id(topic);

	if (rd_kafka_error_code(rd_kafka_TopicDescription_error(topic)) !=
		    RD_KAFKA_RESP_ERR_NO_ERROR ||
	    id == NULL ||
	    (rd_kafka_Uuid_most_significant_bits(id) == 0 &&
	     rd_kafka_Uuid_least_significant_bits(id) == 0))
		return;
	told(arg, rd_kafka_TopicDescription_name(topic),
	     rd_kafka_Uuid_base64str(id));
}

bool kafka_topic_id_take(rd_kafka_event_t *event, kafka_topic_id_f *told,
			 void *arg)
{
	const rd_kafka_DescribeTopics_result_t *result =
		event == NULL ? NULL
			      : rd_kafka_event_DescribeTopics_result(event);
	const rd_kafka_TopicDescription_t **topics;
	bool answered = result != NULL && rd_kafka_event_error(event) ==
						  RD_KAFKA_RESP_ERR_NO_ERROR;
	size_t count = 0;

	if (answered) {
		topics = rd_kafka_DescribeTopics_result_topics(result, &count);
		for (size_t i = 0; i < count; i++)
			tell(topics[i], told, arg);
	}
	if (event != NULL)
		rd_kafka_event_destroy(event);
	return answered;
}
