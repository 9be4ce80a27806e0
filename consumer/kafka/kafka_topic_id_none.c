/* librdkafka before 2.3: it tells no topic's id. */
#include "kafka_topic_id.h"

bool kafka_topic_id_is_told(void)
{
	return false;
}

void kafka_topic_id_ask(rd_kafka_t *rk, const char **topics, size_t count,
			int timeout_ms, rd_kafka_queue_t *queue)
{
	(void)rk;
	(void)topics;
	(void)count;
	(void)timeout_ms;
	(void)queue;
}

bool kafka_topic_id_take(rd_kafka_event_t *event, kafka_topic_id_f *told,
			 void *arg)
{
	(void)told;
	(void)arg;
	if (event != NULL)
		rd_kafka_event_destroy(event);
	return false;
}
