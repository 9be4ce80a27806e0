/* onced_stage.h - `onced run`, from its start until the topic is drained. */
#ifndef BENCH_ONCED_STAGE_H
#define BENCH_ONCED_STAGE_H

#include "bench.h"

enum {
	QUARTERS = 4
};

struct onced_outcome {
	struct pace pace; /* from exec on, or behind what is skipped */
	int64_t start_ns;
	int64_t memory_kib[QUARTERS]; /* most, in each quarter of the messages
				       */
	double processor_s;           /* of onced, without the servers */
};

/* `round`: of 1, 2, …; `how` the handler writes: "send" or "collect" */
void onced_stage_run(struct bench *bench, int round, const char *how,
		     struct onced_outcome *ret_outcome);

#endif
