/* For people: shares first, then one example of each kind after the other, with
 * coordinates to look at; the long lists are cut, and say so. */
#include "keys_print.h"

#include "bytes.h"
#include "readable.h"

#include <stdlib.h>

enum {
	WIDTH = 80,
	SHOWN_PARTITIONS = 12
};

/* ---- what would come of it ---- */

int64_t keys_report_parked(const struct keys_report *report)
{
	const int64_t *found = report->survey->found;
	int64_t parked = 0;

	if (report->route->on_bad_key == ONCE_BAD_KEY_PARK)
		parked += found[KEY_FINDING_BAD];
	if (report->route->on_conflict == ONCE_CONFLICT_PARK)
		parked += found[KEY_FINDING_CONFLICTING];
	return parked;
}

bool keys_report_halts(const struct keys_report *report)
{
	for (size_t i = 0; i < report->partition_count; i++)
		if (report->partitions[i].fault[0] != '\0')
			return true;
	return report->route->on_bad_key == ONCE_BAD_KEY_HALT &&
	       report->survey->found[KEY_FINDING_BAD] > 0;
}

static const char *consequence(const struct keys_report *report,
			       enum key_finding finding)
{
	switch (finding) {
	case KEY_FINDING_NEW:
		return "would be handled";
	case KEY_FINDING_REPEATED:
		return "same key, same payload: duplicates";
	case KEY_FINDING_CONFLICTING:
		return report->route->on_conflict == ONCE_CONFLICT_PARK
			       ? "same key, other payload: would be parked"
			       : "same key, other payload: passed over";
	case KEY_FINDING_BAD:
		return report->route->on_bad_key == ONCE_BAD_KEY_PARK
			       ? "without a key: would be parked"
			       : "without a key: partitions would halt";
	case COUNT_KEY_FINDINGS:
		break;
	}
	return "";
}

/* ---- head ---- */

static void add_setting(struct text *text, const char *name, const char *value,
			const char *otherwise)
{
	size_t begin = text->size;

	text_addf(text, "  %-12s ", name);
	readable_add(text, bytes_text(value == NULL ? otherwise : value),
		     READABLE_WHOLE);
	readable_end_line(text, begin, WIDTH);
}

static int64_t count_offsets(const struct keys_report *report)
{
	int64_t offsets = 0;

	for (size_t i = 0; i < report->partition_count; i++)
		offsets +=
			report->partitions[i].end - report->partitions[i].first;
	return offsets;
}

static int64_t count_chosen(const struct keys_report *report)
{
	int64_t offsets = 0;

	for (size_t i = 0; i < report->partition_count; i++)
		offsets +=
			report->partitions[i].end - report->partitions[i].from;
	return offsets;
}

static void add_extent(struct text *text, const struct keys_report *report)
{
	long long held = (long long)count_offsets(report);
	long long chosen = (long long)count_chosen(report);

	text_addf(text, "  %-12s %lld messages at ", "read",
		  (long long)report->survey->messages);
	if (chosen == held)
		text_addf(text, "all %lld offsets that Kafka has\n", held);
	else
		text_addf(text, "the newest %lld of %lld offsets\n", chosen,
			  held);
}

static void add_head(struct text *text, const struct keys_report *report)
{
	const struct route_config *route = report->route;

	readable_add(text, bytes_text(route->name), READABLE_WHOLE);
	text_adds(text, "\n");
	add_setting(text, "msg_id", route->msg_id,
		    "(the usual headers: message-id, ce_id, id)");
	add_setting(text, "biz_id", route->biz_id, "(none)");
	add_setting(text, "fingerprint", route->fingerprint, "value");
	add_extent(text, report);
}

/* ---- counts ---- */

static double share_of(int64_t part, int64_t whole)
{
	return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static void add_counts(struct text *text, const struct keys_report *report)
{
	const struct key_survey *survey = report->survey;

	text_addf(text, "\n  %-12s %12s %10s\n", "", "messages", "share");
	for (int i = 0; i < COUNT_KEY_FINDINGS; i++)
		text_addf(text, "  %-12s %12lld %8.3f %%  %s\n",
			  key_finding_word(i), (long long)survey->found[i],
			  share_of(survey->found[i], survey->messages),
			  consequence(report, i));
}

static void add_kind(struct text *text, const struct key_survey *survey,
		     enum once_key_kind kind)
{
	const struct key_table *keys = &survey->keys[kind];

	if (keys->count == 0)
		return;
	text_addf(text,
		  "  %-12s %12zu different; in several partitions: %zu; too "
		  "long: %lld\n",
		  once_key_kind_word(kind), keys->count, keys->elsewhere,
		  (long long)survey->shortened[kind]);
}

/* ---- examples ---- */

static void add_place(struct text *text, const struct key_survey *survey,
		      uint32_t place, int64_t offset)
{
	readable_add(text, bytes_text(survey->places[place].topic),
		     READABLE_WHOLE);
	text_addf(text, "[%d] %lld", (int)survey->places[place].partition,
		  (long long)offset);
}

static void add_key_line(struct text *text, const char *key, size_t size)
{
	size_t begin = text->size;

	text_adds(text, "      ");
	readable_add(text, bytes_of(key, size), READABLE_WHOLE);
	readable_end_line(text, begin, WIDTH);
}

static void add_examples(struct text *text, const struct key_survey *survey,
			 const char *heading,
			 const struct key_examples *examples)
{
	if (examples->count > 0)
		text_addf(text, "\n  %s, for example\n", heading);
	for (size_t i = 0; i < examples->count; i++) {
		const struct key_example *at = &examples->list[i];

		text_adds(text, "    ");
		add_place(text, survey, at->place, at->offset);
		if (examples != &survey->shortened_ones) {
			text_adds(text, " after ");
			add_place(text, survey, at->first_place,
				  at->first_offset);
		}
		text_addf(text, ": %s%s\n", once_key_kind_word(at->kind),
			  at->other_operation ? ", with another biz_id" : "");
		add_key_line(text, at->key, at->key_size);
	}
}

static void add_reasons(struct text *text, const struct key_survey *survey)
{
	if (survey->reason_count > 0)
		text_adds(text, "\n  bad keys\n");
	for (size_t i = 0; i < survey->reason_count; i++) {
		const struct key_reason *reason = &survey->reasons[i];
		size_t begin = text->size;

		text_addf(text, "  %12lld  ", (long long)reason->count);
		readable_add(text, bytes_text(reason->text), READABLE_WHOLE);
		readable_end_line(text, begin, WIDTH);
		text_addf(text, "  %12s  first: ", "");
		add_place(text, survey, reason->place, reason->offset);
		text_adds(text, "\n");
	}
	if (survey->reasons_left_out > 0)
		text_addf(text, "  %12lld  for other reasons\n",
			  (long long)survey->reasons_left_out);
}

static void add_often(struct text *text, const struct key_survey *survey)
{
	struct key_often often[KEY_SURVEY_TOP];

	if (survey->often_count == 0)
		return;
	text_addf(text, "\n  met most often, as %s\n",
		  once_key_kind_word(survey->often_kind));
	key_survey_sort_often(survey, often);
	for (size_t i = 0; i < survey->often_count; i++) {
		size_t begin = text->size;

		text_addf(text, "  %12u  ", often[i].seen);
		readable_add(text, bytes_of(often[i].key, often[i].key_size),
			     READABLE_WHOLE);
		readable_end_line(text, begin, WIDTH);
	}
}

/* ---- partitions ---- */

static void add_partition(struct text *text, const struct keys_report *report,
			  size_t number)
{
	const struct sample_partition *at = &report->partitions[number];
	int64_t messages = report->survey->places[number].messages;

	text_addf(text, "  %12lld %8.3f %%  ", (long long)messages,
		  share_of(messages, report->survey->messages));
	readable_add(text, bytes_text(at->topic), READABLE_WHOLE);
	text_addf(text, "[%d], offsets %lld to %lld\n", (int)at->partition,
		  (long long)at->from, (long long)at->end);
}

static void add_fault(struct text *text, const struct sample_partition *at)
{
	text_adds(text, "\n  ");
	readable_add(text, bytes_text(at->topic), READABLE_WHOLE);
	text_addf(text, "[%d] halts: ", (int)at->partition);
	readable_add(text, bytes_text(at->fault), READABLE_WHOLE);
	text_adds(text, "\n");
}

static void add_faults(struct text *text, const struct keys_report *report)
{
	for (size_t i = 0; i < report->partition_count; i++) {
		const struct sample_partition *at = &report->partitions[i];

		if (at->fault[0] != '\0')
			add_fault(text, at);
	}
}

static void add_partitions(struct text *text, const struct keys_report *report)
{
	size_t shown = report->partition_count < SHOWN_PARTITIONS
			       ? report->partition_count
			       : SHOWN_PARTITIONS;

	text_adds(text, "\n  partitions\n");
	for (size_t i = 0; i < shown; i++)
		add_partition(text, report, i);
	if (shown < report->partition_count)
		text_addf(text, "  and %zu more; --json has all\n",
			  report->partition_count - shown);
	add_faults(text, report);
}

void keys_print_text(struct text *text, const struct keys_report *report)
{
	const struct key_survey *survey = report->survey;

	add_head(text, report);
	add_counts(text, report);
	text_adds(text, "\n");
	add_kind(text, survey, ONCE_KEY_MSG_ID);
	add_kind(text, survey, ONCE_KEY_BIZ_ID);
	add_reasons(text, survey);
	add_examples(text, survey, "conflicting", &survey->conflicting);
	add_examples(text, survey, "repeated", &survey->repeated);
	add_examples(text, survey, "too long", &survey->shortened_ones);
	add_often(text, survey);
	add_partitions(text, report);
}
