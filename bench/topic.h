/* topic.h - a topic full of messages. */
#ifndef BENCH_TOPIC_H
#define BENCH_TOPIC_H

#include <kafka_fixture.h>
#include <stdbool.h>

enum {
	TOPIC_PARTITIONS = 4,
	TOPIC_VALUE_SIZE = 430
};

/* Zero is: as many messages as a run has, all different. */
struct topic_plan {
	int percent;     /* of the run's messages; 0: 100 */
	int value_size;  /* 0: TOPIC_VALUE_SIZE; of larger ones there are
			    fewer, that is as many bytes */
	int repetitions; /* each message so many times, round and round */
	bool a_third;    /* is a repetition of one that came before */
	bool other_ids;  /* the same refunds in other messages */
	int64_t first;   /* the number of the first refund */
};

struct topic {
	struct topic_plan plan;
	size_t value_size;
	int64_t messages;
	int64_t different; /* of them */
	struct kafka_fixture kafka;
};

/* Create and fill it, evenly over its partitions. Returns when the broker has
 * all messages. */
void topic_init(struct topic *topic, const struct topic_plan *plan,
		int64_t messages);
void topic_fini(struct topic *topic);

#endif
