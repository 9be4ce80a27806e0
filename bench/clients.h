/* clients.h - librdkafka's clients, as all stages but onced use them. */
#ifndef BENCH_CLIENTS_H
#define BENCH_CLIENTS_H

#include "topic.h"

/* Each message sent once, not ever again. One that doesn't arrive ends the run.
 * `linger_ms`: how long one may wait for more, as librdkafka's property. */
rd_kafka_t *clients_open_producer(const char *bootstrap, const char *linger_ms);

/* A consumer of each partition whose number leaves `index` when divided by
 * `count`, from its beginning on. It joins no group. On any thread. */
enum once_status clients_open_consumer(const struct topic *topic, int index,
				       int count, rd_kafka_t **ret_rk,
				       struct once_error *err) ONCE_MUST_CHECK;
/* NULL is none. */
void clients_close_consumer(rd_kafka_t *rk);

/* Up to `most` messages, or what there is after a second. Each is the
 * caller's. */
enum once_status clients_take(rd_kafka_queue_t *queue,
			      rd_kafka_message_t **messages, size_t most,
			      size_t *ret_count,
			      struct once_error *err) ONCE_MUST_CHECK;
/* Its header; data NULL: it has none. Lives as long as the message. */
struct once_bytes clients_message_id(const rd_kafka_message_t *rkm);

#endif
