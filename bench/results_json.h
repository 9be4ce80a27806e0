/* results_json.h - the figures as a file, for programs that compare runs. */
#ifndef BENCH_RESULTS_JSON_H
#define BENCH_RESULTS_JSON_H

#include "results.h"

/* What was measured where, beside the figures. */
struct run_facts {
	int64_t messages; /* of a topic */
	int rounds;
};

/* {"run": {…}, "figures": [{"section", "stage", "unit", "values", "median",
 * "min", "max", "against", "ratio": {…}}, …]} */
void results_write_json(const struct results *results,
			const struct run_facts *facts, const char *path);

#endif
