/*
 * traffic.h - sends the ledger's messages, so many a second, and writes into it
 * where they went.
 *
 * Threads: main.
 */
#ifndef ONCED_TRAFFIC_H
#define ONCED_TRAFFIC_H

#include "ledger.h"

#include <stdbool.h>

struct traffic;

/* `ledger` is kept. Nothing is sent before the first step. */
enum once_status traffic_start(const char *brokers, struct ledger *ledger,
			       struct traffic **ret_traffic,
			       struct once_error *err) ONCE_MUST_CHECK;
void traffic_stop(struct traffic *traffic);

/* Send what is due by now, hear what has arrived. TRANSIENT: the broker refused
 * a message. */
enum once_status traffic_step(struct traffic *traffic,
			      struct once_error *err) ONCE_MUST_CHECK;

size_t traffic_sent(const struct traffic *traffic); /* acknowledged */
bool traffic_is_over(const struct traffic *traffic);

#endif
