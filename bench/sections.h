/* sections.h - the parts of a run: what is measured beside what. */
#ifndef BENCH_SECTIONS_H
#define BENCH_SECTIONS_H

#include "stage.h"

struct section;

/* Add its figures to the results. */
typedef void section_f(struct bench *bench, const struct section *section);

/* Tell what came out of a scenario. */
typedef void add_f(struct bench *bench, const struct section *section,
		   const struct scenario *scenario,
		   const struct outcome *outcome);

struct section {
	const char *name;  /* for ONCE_BENCH_SECTION, and of its figures */
	const char *title; /* what it answers */
	section_f *run;
	/* for section_run_scenarios */
	const struct topic_plan *topics;
	size_t topic_count;
	const struct scenario *scenarios;
	size_t scenario_count;
	add_f *add;

	const struct goal *goals;
	size_t goal_count;
};

/* In the order in which they run. The last one has no name. */
extern const struct section sections[];

/* Fill the topics; then run all scenarios one after the other, and again for
 * each further round. */
section_f section_run_scenarios;
/* From the broker's time of a message to its COMMIT, at shares of the top rate.
 */
section_f section_run_latency;
/* A topic is drained again and again, while the log becomes long. */
section_f section_run_growth;

/* Messages a second, and processor time. */
add_f section_add_rate;
/* Where onced's own time goes. */
add_f section_add_stages;

/* What is going on, for who waits. */
void tell(const char *section, const char *what);

#endif
