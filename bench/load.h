/* load.h - the messages. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "bench.h"

/* Fill the topic, evenly over its partitions: refunds, each its own, each under
 * its own header message-id. Returns when the broker has them all. */
void load_produce(struct bench *bench);

#endif
