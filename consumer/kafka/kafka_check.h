/*
 * kafka_check.h - for `onced check`: what of Kafka would keep `run` from
 * reading. It joins no group, reads no message and changes nothing.
 *
 * Threads: main.
 */
#ifndef ONCED_KAFKA_CHECK_H
#define ONCED_KAFKA_CHECK_H

#include "config.h"

/* Told of each finding. `status` OK: a warning. TRANSIENT: something can't be
 * reached now. CONFIG, DENIED: somebody has to do something. */
typedef void kafka_check_f(void *arg, enum once_status status,
			   const char *text);

/* All findings, within `timeout_ms` in all. */
void kafka_check(const struct config *cfg, int timeout_ms, kafka_check_f *told,
		 void *arg);

#endif
