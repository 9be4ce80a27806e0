/* facts.h - where and with what a run's figures were measured. */
#ifndef BENCH_FACTS_H
#define BENCH_FACTS_H

#include "bench.h"

struct facts {
	char date[32];
	char kernel[80];
	char processor[80]; /* as it calls itself */
	int processors;
	char postgres[80]; /* versions */
	const char *librdkafka;
	int64_t messages; /* of a topic */
	int rounds;
};

void facts_init(struct facts *facts, struct bench *bench);
/* A line of text above the tables. */
void facts_print(const struct facts *facts);

#endif
