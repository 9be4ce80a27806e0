/* load.h - the messages. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "bench.h"

/* Fill the topic, evenly over its partitions, with refunds: `different` ones,
 * each under its own header message-id, and then those again and again. Returns
 * when the broker has them all. */
void load_produce(struct bench *bench);

#endif
