/* read_stage.h - librdkafka reads the topic, and nothing is done with it: more
 * than that no consumer can take. */
#ifndef BENCH_READ_STAGE_H
#define BENCH_READ_STAGE_H

#include "bench.h"

void read_stage_run(struct bench *bench, struct pace *ret_pace);

#endif
