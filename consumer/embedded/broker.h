/*
 * broker.h - a Kafka broker inside this process: librdkafka's mock cluster,
 * over real TCP, on this machine only. It forgets everything with the process,
 * and the oldest messages of a partition beyond 5 MiB.
 *
 * Threads: main.
 */
#ifndef ONCED_BROKER_H
#define ONCED_BROKER_H

#include <once/types.h>

struct broker;

enum once_status broker_start(struct broker **ret_broker,
			      struct once_error *err) ONCE_MUST_CHECK;
void broker_stop(struct broker *broker);

/* host:port */
char *broker_address(struct broker *broker);

enum once_status broker_create_topic(struct broker *broker, const char *topic,
				     int partitions,
				     struct once_error *err) ONCE_MUST_CHECK;

#endif
