/*
 * kafka_policy.h - may a record vanish from the middle of a topic's log? From
 * its beginning retention removes them; from anywhere, compaction alone.
 */
#ifndef ONCED_KAFKA_POLICY_H
#define ONCED_KAFKA_POLICY_H

#include <librdkafka/rdkafka.h>

enum kafka_policy {
	KAFKA_POLICY_UNANSWERED, /* ask again */
	KAFKA_POLICY_HIDDEN,     /* we may not ask, or nobody can tell */
	KAFKA_POLICY_WHOLE,      /* without compaction */
	KAFKA_POLICY_COMPACTED
};

/* The answer comes to `queue`, as an event for kafka_policy_take(). Never
 * waits. */
void kafka_policy_ask(rd_kafka_t *rk, const char *topic, int timeout_ms,
		      rd_kafka_queue_t *queue);
/* `event` is destroyed; NULL: none came. */
enum kafka_policy kafka_policy_take(rd_kafka_event_t *event);

#endif
