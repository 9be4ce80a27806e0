/* table.h - what came out, for people. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include "onced_stage.h"

enum {
	ROUNDS_MAX = 15
};

struct round {
	struct onced_outcome onced;
	struct onced_outcome collect;
	struct pace single;
	struct pace copy;
};

/* Medians of the rounds' rates and of their ratios, to stdout. Memory is the
 * most of all rounds. */
void table_print(const struct round *rounds, size_t count);

#endif
