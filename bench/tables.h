/* tables.h - what all stages write to: refund and once.consume_log, with the
 * same indexes in each. And `little`, for commits of next to nothing. */
#ifndef BENCH_TABLES_H
#define BENCH_TABLES_H

#include "bench.h"

enum {
	TABLES_CONSUMER_ID = 1 /* of BENCH_SCOPE, in once.consumer */
};

/* The tables refund and little, and the scope's row. Schema once is made by
 * `onced migrate`. */
void tables_create(struct bench *bench);
/* Before each stage: empty as new, */
void tables_empty(struct bench *bench);
/* or as it is; no positions, and no old pages left to be written. */
void tables_settle(struct bench *bench);
/* `count` refunds and claims, each one once, and nothing parked. */
void tables_check(struct bench *bench, int64_t count);
/* What the rows say, without the time when they were written: the same text for
 * the same rows, in whatever order. The caller's. */
char *tables_digest(struct bench *bench);

#endif
