/*
 * results.h - what came out: figures by section, stage and unit, one value for
 * each round; as a table for people and as JSON for programs.
 *
 * The first unit of a section is the one that is compared: its median and
 * spread are shown, and its ratio to the yardstick of the stage. Of all further
 * units the table has the medians. Names and units are kept, not copied: they
 * are constants, or live as long as the results.
 */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ROUNDS_MAX = 15,
	FIGURES_MAX = 1000
};

struct figure {
	const char *section;
	const char *name; /* of the stage */
	const char *unit;
	double values[ROUNDS_MAX];
	size_t count;
};

struct yardstick {
	const char *section;
	const char *name;
	const char *against; /* the name of another stage of the section */
};

/* What is wanted of the medians. */
struct goal {
	const char *name; /* of the stage */
	const char *unit;
	const char *against; /* of their ratio; NULL: of the figure itself */
	double limit;
	bool at_most;  /* instead of: at least */
	double enough; /* a figure that will do whatever the ratio; 0: none */
};

struct results {
	struct figure figures[FIGURES_MAX];
	size_t figure_count;
	struct yardstick yardsticks[FIGURES_MAX];
	size_t yardstick_count;
};

struct spread {
	double median;
	double min;
	double max;
};

/* Called once in a round, in the order of the rows and columns. */
void results_add(struct results *results, const char *section, const char *name,
		 const char *unit, double value);
/* What the stage is compared with. To be said once, or again. */
void results_compare(struct results *results, const char *section,
		     const char *name, const char *against);

/* NULL: there is none. */
const struct figure *results_find(const struct results *results,
				  const char *section, const char *name,
				  const char *unit);
/* What its values are divided by; NULL: it is compared with nothing, as all
 * units but the first are. */
const struct figure *results_find_yardstick(const struct results *results,
					    const struct figure *figure);

struct spread spread_of(const struct figure *figure);
/* Of the ratios, round by round: two stages of one round ran one after the
 * other, so the machine was the same for both. */
struct spread spread_of_ratios(const struct figure *figure,
			       const struct figure *yardstick);

/* Markdown to stdout: a row for each stage. */
void results_print(const struct results *results, const char *section);
/* And one for each goal. */
void results_print_goals(const struct results *results, const char *section,
			 const struct goal *goals, size_t count);

#endif
