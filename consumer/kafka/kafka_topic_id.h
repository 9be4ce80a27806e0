/*
 * kafka_topic_id.h - which topic does a name mean now? One that was deleted and
 * made again has another id. librdkafka tells it since 2.3; for an older one
 * there is kafka_topic_id_none.c.
 */
#ifndef ONCED_KAFKA_TOPIC_ID_H
#define ONCED_KAFKA_TOPIC_ID_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

/* Can this librdkafka tell? */
bool kafka_topic_id_is_told(void);

/* The answer comes to `queue`, as an event for kafka_topic_id_take(). Never
 * waits. */
void kafka_topic_id_ask(rd_kafka_t *rk, const char **topics, size_t count,
			int timeout_ms, rd_kafka_queue_t *queue);

/* Told of each topic that has one; text, which ends with the call. */
typedef void kafka_topic_id_f(void *arg, const char *topic, const char *id);
/* `event` is destroyed; NULL: none came. false: there is no answer in it. */
bool kafka_topic_id_take(rd_kafka_event_t *event, kafka_topic_id_f *told,
			 void *arg);

#endif
