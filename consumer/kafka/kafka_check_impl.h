/* kafka_check_impl.h - shared by kafka_check.c (what can be reached) and
 * kafka_rights.c (what may be done there). */
#ifndef ONCED_KAFKA_CHECK_IMPL_H
#define ONCED_KAFKA_CHECK_IMPL_H

#include "kafka_check.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

enum {
	KAFKA_REASONS = 16,
	KAFKA_REASON_SIZE = 300
};

struct kafka_check {
	const struct config *cfg;
	kafka_check_f *told;
	void *arg;
	int64_t end_ms; /* of the whole check */
	rd_kafka_t *rk;
	/* What librdkafka has complained of; a ring. */
	char reasons[KAFKA_REASONS][KAFKA_REASON_SIZE];
	size_t reason_count;
	/* The one that explains best why nobody answers; "": none. */
	char reason[KAFKA_REASON_SIZE];
	bool is_refused;     /* by a broker: waiting won't help */
	bool never_ends;     /* the handle, of librdkafka 2.0.2 */
	const char **topics; /* that are there; the configuration's */
	size_t topic_count;
};

void kafka_check_tell(struct kafka_check *check, enum once_status status,
		      const char *fmt, ...) ONCE_PRINTF(3, 4);
/* Of the check; at most `most_ms`, and never negative. */
int kafka_check_left_ms(const struct kafka_check *check, int most_ms);

/* kafka_rights.c: the group's and the topics'. */
void kafka_check_rights(struct kafka_check *check);

#endif
