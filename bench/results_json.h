/* results_json.h - the figures as a file, for programs that compare runs. */
#ifndef BENCH_RESULTS_JSON_H
#define BENCH_RESULTS_JSON_H

#include "facts.h"

/* {"run": {…}, "figures": [{"section", "stage", "unit", "values", "median",
 * "min", "max", "against", "ratio": {…}}, …]} */
void results_write_json(const struct results *results,
			const struct facts *facts, const char *path);

#endif
