/* sender.h - messages at a given rate, each with the time when it was sent. */
#ifndef BENCH_SENDER_H
#define BENCH_SENDER_H

#include <kafka_fixture.h>

struct sender {
	const struct kafka_fixture *kafka;
	int64_t sent; /* so far; the number of the next refund */
};

/* For so long, evenly; returns when the broker has them all. */
void sender_run(struct sender *sender, int64_t per_second, int64_t span_ns);

#endif
