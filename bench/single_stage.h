/* single_stage.h - what people write by hand: a consumer with a transaction for
 * each message. */
#ifndef BENCH_SINGLE_STAGE_H
#define BENCH_SINGLE_STAGE_H

#include "bench.h"

/* For 15 seconds, or until the topic is drained. The time is from the first
 * message on. */
void single_stage_run(struct bench *bench, struct pace *ret_pace);

#endif
