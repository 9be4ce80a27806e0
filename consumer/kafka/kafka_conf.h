/* kafka_conf.h - from our configuration to librdkafka's. */
#ifndef ONCED_KAFKA_CONF_H
#define ONCED_KAFKA_CONF_H

#include "kafka_memory.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

/* A consumer that stores and commits only what we tell it. `opaque` and the
 * callbacks are the caller's to set. `memory` NULL: it reads little. NULL: see
 * `err`. */
rd_kafka_conf_t *kafka_conf_create(const struct config *cfg,
				   const struct kafka_memory *memory,
				   struct once_error *err);

/* One without a group, that is told of the ends of partitions. */
rd_kafka_conf_t *kafka_conf_create_onlooker(const struct config *cfg,
					    struct once_error *err);

/* librdkafka's log lines, in ours. Threads: librdkafka's. */
void kafka_conf_log(const rd_kafka_t *rk, int level, const char *facility,
		    const char *text);

/* Are the values that guard against loss what we set, after all aliases and
 * defaults? */
enum once_status kafka_conf_check(rd_kafka_t *rk, struct once_error *err);

/* 2.1 and 2.2 lose offsets or start over. */
enum once_status kafka_conf_check_version(int version, struct once_error *err);

/* One of librdkafka's numbers, as it has it in the end; 0: it has none of that
 * name. */
size_t kafka_conf_get_number(rd_kafka_t *rk, const char *name);

/* Can it be told how soon to fill queues again that were full? Before 2.2:
 * source_refill.c. */
bool kafka_conf_has_queue_backoff(void);

/* Does a librdkafka of that version have this value, and soundly? false: `text`
 * says which version does. */
bool kafka_conf_check_value(int version, const char *name, const char *value,
			    char *text, size_t size);

/* What a librdkafka of that version has, and some brokers refuse. false:
 * nothing of it is in the configuration. */
bool kafka_conf_warn(int version, const struct config *cfg, char *text,
		     size_t size);

#endif
