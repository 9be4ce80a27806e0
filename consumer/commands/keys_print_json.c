/* The same for scripts, but nothing is cut. */
#include "keys_print.h"

#include "bytes.h"

static void name_member(struct text *text, const char *name)
{
	text_addf(text,
		  "%s\"%s\":", text->data[text->size - 1] == '{' ? "" : ",",
		  name);
}

/* NULL is null. */
static void add_text(struct text *text, const char *name, const char *value)
{
	name_member(text, name);
	if (value == NULL)
		text_adds(text, "null");
	else
		text_add_json(text, bytes_text(value));
}

static void add_number(struct text *text, const char *name, int64_t number)
{
	name_member(text, name);
	text_addf(text, "%lld", (long long)number);
}

static void add_bool(struct text *text, const char *name, bool value)
{
	name_member(text, name);
	text_adds(text, value ? "true" : "false");
}

static void begin_list(struct text *text, const char *name)
{
	name_member(text, name);
	text_adds(text, "[");
}

static void begin_element(struct text *text, size_t number)
{
	text_adds(text, number == 0 ? "{" : ",{");
}

static void add_kinds(struct text *text, const char *name, int64_t msg_id,
		      int64_t biz_id)
{
	name_member(text, name);
	text_addf(text, "{\"msg_id\":%lld,\"biz_id\":%lld}", (long long)msg_id,
		  (long long)biz_id);
}

/* ---- parts ---- */

static void add_place(struct text *text, const struct key_survey *survey,
		      uint32_t place, int64_t offset)
{
	add_text(text, "topic", survey->places[place].topic);
	add_number(text, "partition", survey->places[place].partition);
	add_number(text, "offset", offset);
}

static void add_route(struct text *text, const struct route_config *route)
{
	add_text(text, "route", route->name);
	add_text(text, "msg_id", route->msg_id);
	add_text(text, "biz_id", route->biz_id);
	add_text(text, "fingerprint",
		 route->fingerprint == NULL ? "value" : route->fingerprint);
	add_text(text, "on_bad_key",
		 route->on_bad_key == ONCE_BAD_KEY_PARK ? "park" : "halt");
	add_text(text, "on_conflict",
		 route->on_conflict == ONCE_CONFLICT_PARK ? "park" : "skip");
}

static void add_counts(struct text *text, const struct key_survey *survey)
{
	const struct key_table *keys = survey->keys;

	add_number(text, "messages", survey->messages);
	for (int i = 0; i < COUNT_KEY_FINDINGS; i++)
		add_number(text, key_finding_word(i), survey->found[i]);
	add_number(text, "conflicting_by_biz_id", survey->other_operations);
	add_kinds(text, "repeated_by", survey->repeated_by[ONCE_KEY_MSG_ID],
		  survey->repeated_by[ONCE_KEY_BIZ_ID]);
	add_kinds(text, "too_long", survey->shortened[ONCE_KEY_MSG_ID],
		  survey->shortened[ONCE_KEY_BIZ_ID]);
	add_kinds(text, "different", (int64_t)keys[ONCE_KEY_MSG_ID].count,
		  (int64_t)keys[ONCE_KEY_BIZ_ID].count);
	add_kinds(text, "in_several_partitions",
		  (int64_t)keys[ONCE_KEY_MSG_ID].elsewhere,
		  (int64_t)keys[ONCE_KEY_BIZ_ID].elsewhere);
}

static void add_reasons(struct text *text, const struct key_survey *survey)
{
	begin_list(text, "bad_keys");
	for (size_t i = 0; i < survey->reason_count; i++) {
		begin_element(text, i);
		add_text(text, "reason", survey->reasons[i].text);
		add_number(text, "messages", survey->reasons[i].count);
		add_place(text, survey, survey->reasons[i].place,
			  survey->reasons[i].offset);
		text_adds(text, "}");
	}
	text_adds(text, "]");
}

static void add_key(struct text *text, enum once_key_kind kind, const char *key,
		    size_t size)
{
	add_text(text, "key_kind", once_key_kind_word(kind));
	name_member(text, "key");
	text_add_json(text, bytes_of(key, size));
}

static void add_examples(struct text *text, const struct key_survey *survey,
			 const char *name, const struct key_examples *examples)
{
	begin_list(text, name);
	for (size_t i = 0; i < examples->count; i++) {
		const struct key_example *at = &examples->list[i];

		begin_element(text, i);
		add_place(text, survey, at->place, at->offset);
		add_key(text, at->kind, at->key, at->key_size);
		if (examples != &survey->shortened_ones) {
			add_bool(text, "other_biz_id", at->other_operation);
			name_member(text, "first");
			text_adds(text, "{");
			add_place(text, survey, at->first_place,
				  at->first_offset);
			text_adds(text, "}");
		}
		text_adds(text, "}");
	}
	text_adds(text, "]");
}

static void add_often(struct text *text, const struct key_survey *survey)
{
	struct key_often often[KEY_SURVEY_TOP];

	key_survey_sort_often(survey, often);
	begin_list(text, "met_most_often");
	for (size_t i = 0; i < survey->often_count; i++) {
		begin_element(text, i);
		add_key(text, survey->often_kind, often[i].key,
			often[i].key_size);
		add_number(text, "messages", often[i].seen);
		text_adds(text, "}");
	}
	text_adds(text, "]");
}

static void add_partitions(struct text *text, const struct keys_report *report)
{
	begin_list(text, "partitions");
	for (size_t i = 0; i < report->partition_count; i++) {
		const struct sample_partition *at = &report->partitions[i];

		begin_element(text, i);
		add_text(text, "topic", at->topic);
		add_number(text, "partition", at->partition);
		add_number(text, "messages",
			   report->survey->places[i].messages);
		add_number(text, "first", at->first);
		add_number(text, "from", at->from);
		add_number(text, "end", at->end);
		add_text(text, "fault",
			 at->fault[0] == '\0' ? NULL : at->fault);
		text_adds(text, "}");
	}
	text_adds(text, "]");
}

void keys_print_json(struct text *text, const struct keys_report *report)
{
	const struct key_survey *survey = report->survey;

	text_adds(text, "{");
	if (text->broken)
		return;
	add_route(text, report->route);
	add_counts(text, survey);
	add_number(text, "would_be_parked", keys_report_parked(report));
	add_bool(text, "would_halt", keys_report_halts(report));
	add_reasons(text, survey);
	add_number(text, "bad_for_other_reasons", survey->reasons_left_out);
	add_examples(text, survey, "conflicting_examples",
		     &survey->conflicting);
	add_examples(text, survey, "repeated_examples", &survey->repeated);
	add_examples(text, survey, "too_long_examples",
		     &survey->shortened_ones);
	add_often(text, survey);
	add_partitions(text, report);
	text_adds(text, "}");
}
