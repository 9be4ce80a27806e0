/*
 * section_stages.c - where onced's own time goes: what a message takes of a
 * lane, stage by stage, and of the source.
 *
 * The idea: onced counts it itself, always. It is time that passed, waiting for
 * an answer included, so the lanes' number divided by a lane's time is the
 * rate.
 */
#include "sections.h"

static double per_message_ns(double seconds, double messages)
{
	return messages > 0 ? seconds * 1e9 / messages : 0;
}

/* What is in none of the stages. */
static double find_rest_s(const struct page *page)
{
	double rest_s = page->busy_s;

	for (size_t i = 0; i < TIMED_COUNT; i++)
		if (i != TIMED_FETCH)
			rest_s -= page->stages_s[i];
	return rest_s;
}

void section_add_stages(struct bench *bench, const struct section *section,
			const struct scenario *scenario,
			const struct outcome *outcome)
{
	const struct page *page = &outcome->page;
	struct results *results = &bench->results;
	const char *name = scenario->name;

	results_add(results, section->name, name, "lane, ns",
		    per_message_ns(page->busy_s, page->batched));
	for (size_t i = 0; i < TIMED_COUNT; i++)
		results_add(results, section->name, name, page_stage_words[i],
			    per_message_ns(page->stages_s[i],
					   i == TIMED_FETCH ? page->consumed
							    : page->batched));
	results_add(results, section->name, name, "rest",
		    per_message_ns(find_rest_s(page), page->batched));
	results_add(results, section->name, name, "messages/s",
		    (double)outcome->messages * 1e9 / (double)outcome->took_ns);
}
