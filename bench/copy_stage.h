/* copy_stage.h - the fastest way into PostgreSQL that there is, for the rows
 * that onced wrote. It claims nothing, and calls nobody. */
#ifndef BENCH_COPY_STAGE_H
#define BENCH_COPY_STAGE_H

#include "bench.h"

/* Keep what is in the tables now, in a file for each session and table. */
void copy_stage_export(struct bench *bench);
/* Bring it back, by two sessions at once, into empty tables. */
void copy_stage_run(struct bench *bench, struct pace *ret_pace);

#endif
