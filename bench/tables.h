/* tables.h - what all stages write to: refund and once.consume_log, with the
 * same indexes in each. */
#ifndef BENCH_TABLES_H
#define BENCH_TABLES_H

#include "bench.h"

/* The table refund. Schema once is made by `onced migrate`. */
void tables_create(struct bench *bench);
/* Before each stage: empty as new, and no old pages left to be written. */
void tables_empty(struct bench *bench);
/* `count` refunds and claims, each one once, and nothing parked. */
void tables_check(struct bench *bench, int64_t count);

#endif
