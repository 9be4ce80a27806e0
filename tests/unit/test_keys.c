/* What a survey makes of messages: the same that onced would. */
#include "bytes.h"
#include "key_survey.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COUNT_PLACES = 3
};

struct trial {
	struct key_place places[COUNT_PLACES];
	struct key_survey survey;
	struct once_key_reader *reader;
	int64_t offset;
};

static void init_with(struct trial *trial, const char *biz_id,
		      const char *fingerprint)
{
	const struct once_route_options options = {
		.name = "refund",
		.scope = "shop/refund",
		.msg_id = "{header:id}",
		.biz_id = biz_id,
		.fingerprint = fingerprint,
	};
	struct once_error err;

	memset(trial, 0, sizeof(*trial));
	for (int i = 0; i < COUNT_PLACES; i++)
		trial->places[i] = (struct key_place){ "refunds", i, 0 };
	ck_assert_msg(once_key_reader_create(&options, &trial->reader, &err) ==
			      ONCE_OK,
		      "%s", err.text);
	key_survey_init(&trial->survey, trial->places, COUNT_PLACES);
}

static void init(struct trial *trial)
{
	init_with(trial, "{header:biz}", NULL);
}

static void fini(struct trial *trial)
{
	key_survey_fini(&trial->survey);
	once_key_reader_destroy(trial->reader);
}

/* "": no such header. */
static void add(struct trial *trial, uint32_t place, const char *msg_id,
		const char *biz_id, const char *value)
{
	struct once_header headers[2];
	struct once_record record = { .topic = "refunds",
				      .partition = (int32_t)place,
				      .offset = trial->offset++,
				      .value = bytes_text(value),
				      .headers = headers };
	struct once_read_keys keys;
	struct once_error err;
	enum once_status status;

	if (msg_id[0] != '\0')
		headers[record.header_count++] =
			(struct once_header){ "id", bytes_text(msg_id) };
	if (biz_id[0] != '\0')
		headers[record.header_count++] =
			(struct once_header){ "biz", bytes_text(biz_id) };
	status = once_key_reader_read(trial->reader, &record, &keys, &err);
	if (status == ONCE_INVALID)
		key_survey_add_bad(&trial->survey, place, record.offset,
				   err.text);
	else
		ck_assert(status == ONCE_OK &&
			  key_survey_add(&trial->survey, place, record.offset,
					 &keys, &err) == ONCE_OK);
}

static void check_found(const struct trial *trial, int64_t new,
			int64_t repeated, int64_t conflicting, int64_t bad)
{
	const int64_t *found = trial->survey.found;

	ck_assert_int_eq(found[KEY_FINDING_NEW], new);
	ck_assert_int_eq(found[KEY_FINDING_REPEATED], repeated);
	ck_assert_int_eq(found[KEY_FINDING_CONFLICTING], conflicting);
	ck_assert_int_eq(found[KEY_FINDING_BAD], bad);
	ck_assert_int_eq(trial->survey.messages,
			 new + repeated + conflicting + bad);
}

static void check_example(const struct key_example *example, int64_t offset,
			  int64_t first_offset, enum once_key_kind kind,
			  const char *key)
{
	ck_assert_int_eq(example->offset, offset);
	ck_assert_int_eq(example->first_offset, first_offset);
	ck_assert_int_eq(example->kind, kind);
	ck_assert(bytes_equal(bytes_of(example->key, example->key_size),
			      bytes_text(key)));
}

START_TEST(the_same_key_with_the_same_payload_is_repeated)
{
	struct trial trial;

	init(&trial);
	add(&trial, 0, "m1", "b1", "one");
	add(&trial, 0, "m1", "b1", "one"); /* sent again: both keys */
	add(&trial, 0, "m2", "b1", "one"); /* under a new id */
	add(&trial, 0, "m3", "b3", "one");
	check_found(&trial, 2, 2, 0, 0);
	ck_assert_int_eq(trial.survey.repeated_by[ONCE_KEY_MSG_ID], 1);
	ck_assert_int_eq(trial.survey.repeated_by[ONCE_KEY_BIZ_ID], 1);
	check_example(&trial.survey.repeated.list[0], 1, 0, ONCE_KEY_MSG_ID,
		      "m1");
	check_example(&trial.survey.repeated.list[1], 2, 0, ONCE_KEY_BIZ_ID,
		      "b1");
	fini(&trial);
}
END_TEST

START_TEST(the_same_key_with_another_payload_conflicts)
{
	struct trial trial;

	init(&trial);
	add(&trial, 0, "m1", "b1", "one");
	add(&trial, 1, "m2", "b1", "two");
	check_found(&trial, 1, 0, 1, 0);
	check_example(&trial.survey.conflicting.list[0], 1, 0, ONCE_KEY_BIZ_ID,
		      "b1");
	ck_assert_uint_eq(trial.survey.conflicting.list[0].place, 1);
	ck_assert_uint_eq(trial.survey.conflicting.list[0].first_place, 0);
	ck_assert(!trial.survey.conflicting.list[0].other_operation);
	fini(&trial);
}
END_TEST

START_TEST(the_same_message_for_another_operation_conflicts_whatever_it_says)
{
	struct trial trial;

	init(&trial);
	add(&trial, 0, "m1", "b1", "one");
	add(&trial, 0, "m1", "b2", "one");
	check_found(&trial, 1, 0, 1, 0);
	ck_assert_int_eq(trial.survey.other_operations, 1);
	ck_assert(trial.survey.conflicting.list[0].other_operation);
	fini(&trial);
}
END_TEST

/* One message has the msg_id of the first and the biz_id of the second. */
START_TEST(the_operation_counts_before_the_message)
{
	struct trial trial;

	init(&trial);
	add(&trial, 0, "m1", "b1", "one");
	add(&trial, 0, "m2", "b2", "two");
	add(&trial, 0, "m1", "b2", "two");
	check_found(&trial, 2, 1, 0, 0);
	check_example(&trial.survey.repeated.list[0], 2, 1, ONCE_KEY_BIZ_ID,
		      "b2");
	add(&trial, 0, "m1", "b2", "one");
	check_found(&trial, 2, 1, 1, 0);
	ck_assert_int_eq(trial.survey.other_operations, 0);
	fini(&trial);
}
END_TEST

START_TEST(what_repeats_conflicts_or_is_bad_claims_no_key)
{
	struct trial trial;

	init(&trial);
	add(&trial, 0, "m1", "b1", "one");
	add(&trial, 0, "m2", "b1", "one"); /* m2 stays free */
	add(&trial, 0, "m3", "b1", "two"); /* m3, too */
	add(&trial, 0, "m1", "b4", "one"); /* and b4 */
	add(&trial, 0, "m5", "", "one");   /* and m5 */
	check_found(&trial, 1, 1, 2, 1);
	add(&trial, 0, "m2", "b2", "x");
	add(&trial, 0, "m3", "b3", "x");
	add(&trial, 0, "m4", "b4", "x");
	add(&trial, 0, "m5", "b5", "x");
	check_found(&trial, 5, 1, 2, 1);
	fini(&trial);
}
END_TEST

START_TEST(without_a_fingerprint_nothing_contradicts_but_another_operation)
{
	struct trial trial;

	init_with(&trial, "{header:biz}", "none");
	add(&trial, 0, "m1", "b1", "one");
	add(&trial, 0, "m2", "b1", "two");
	add(&trial, 0, "m1", "b2", "one");
	check_found(&trial, 1, 1, 1, 0);
	fini(&trial);
}
END_TEST

START_TEST(a_fingerprint_of_fields_looks_at_these_only)
{
	struct trial trial;

	init_with(&trial, NULL, "{json:/amount}");
	add(&trial, 0, "m1", "", "{\"amount\": 1, \"at\": 7}");
	add(&trial, 0, "m1", "", "{\"amount\": 1, \"at\": 8}");
	add(&trial, 0, "m1", "", "{\"amount\": 2, \"at\": 7}");
	check_found(&trial, 1, 1, 1, 0);
	ck_assert_uint_eq(trial.survey.keys[ONCE_KEY_BIZ_ID].count, 0);
	fini(&trial);
}
END_TEST

/* Of one operation; `value` NULL: a tombstone. */
struct pair {
	const char *a;
	const char *b;
	bool conflict;
};

static void check_pair(const char *fingerprint, const struct pair *pair)
{
	struct trial trial;

	init_with(&trial, "{header:biz}", fingerprint);
	add(&trial, 0, "m1", "b1", pair->a);
	add(&trial, 0, "m2", "b1", pair->b);
	check_found(&trial, 1, !pair->conflict, pair->conflict, 0);
	fini(&trial);
}

#define YEN "\"amount\": 10, \"currency\": \"JPY\""

START_TEST(a_field_that_is_not_there_hides_no_other_difference)
{
	static const struct pair pairs[] = {
		{ "{\"amount\": 10}", "{\"amount\": 10}", false },
		{ "{\"amount\": 10}", "{\"at\": 7, \"amount\": 10}", false },
		{ "{\"amount\": 10}", "{\"amount\": 9999}", true },
		{ "{\"amount\": 10}", "{" YEN "}", true },
		{ "{" YEN "}", "{\"at\": 7, " YEN "}", false },
		{ "{\"amount\": 10}", "{\"currency\": \"10\"}", true },
		{ "{\"amount\": 10}", "not JSON at all", true },
		{ "{\"amount\": 10}", NULL, true },
		{ "{\"amount\": 10, \"currency\": \"\"}", "{\"amount\": 10}",
		  true },
		{ "{\"amount\": 10, \"currency\": null}", "{\"amount\": 10}",
		  true },
		{ NULL, NULL, false },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		check_pair("{json:/amount}:{json:/currency}", &pairs[i]);
}
END_TEST

/* Nothing of the template can be had: the whole value is compared. */
START_TEST(a_value_that_the_fingerprint_cannot_read_is_compared_as_a_whole)
{
	static const struct pair pairs[] = {
		{ "not JSON", "not JSON", false },
		{ "not JSON", "nor this", true },
		{ "{\"total\": 1}", "{\"total\": 1}", false },
		{ "{\"total\": 1}", "{\"total\": 2}", true },
		{ "{\"amount\": 1, \"currency\": [1]}",
		  "{\"amount\": 1, \"currency\": [2]}", true },
		{ "{\"amount\": [1]}", "{\"amount\": [1]}", false },
		{ "", NULL, true },
		{ "", "{\"total\": 1}", true },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		check_pair("{json:/amount}:{json:/currency}", &pairs[i]);
}
END_TEST

static void read_fingerprint(const char *fingerprint, const char *value,
			     unsigned char digest[ONCE_FINGERPRINT_SIZE])
{
	struct once_header header = { "id", bytes_text("m1") };
	struct once_record record = { .topic = "refunds",
				      .value = bytes_text(value),
				      .headers = &header,
				      .header_count = 1 };
	struct once_read_keys keys;
	struct once_error err;
	struct trial trial;

	init_with(&trial, NULL, fingerprint);
	ck_assert(once_key_reader_read(trial.reader, &record, &keys, &err) ==
		  ONCE_OK);
	ck_assert_uint_eq(keys.fingerprint.size, ONCE_FINGERPRINT_SIZE);
	memcpy(digest, keys.fingerprint.data, ONCE_FINGERPRINT_SIZE);
	fini(&trial);
}

static bool differ(const unsigned char *a, const unsigned char *b)
{
	return once_fingerprints_differ(bytes_of(a, ONCE_FINGERPRINT_SIZE),
					bytes_of(b, ONCE_FINGERPRINT_SIZE));
}

/* Rows of the log were written by versions before this one. What they made of
 * a message that lacked a field was the same for all such messages. */
START_TEST(rows_of_before_are_compared_as_far_as_they_say_something)
{
	static const char whole[] = "52501b5686d6564eb02b8ffea94cea183177fb5d";
	static const char lacking[] =
		"52501b56d9265cc53bb2b9ae6131b78f753823cd";
	static const char template[] = "{json:/amount}:{json:/currency}";
	unsigned char now[ONCE_FINGERPRINT_SIZE];
	unsigned char before[ONCE_FINGERPRINT_SIZE];

	read_fingerprint(template, "{" YEN "}", now);
	ck_assert(bytes_parse_hex(bytes_text(whole), before, sizeof(before)));
	ck_assert_mem_eq(now, before, sizeof(before));
	read_fingerprint(template, "{\"amount\": 10}", now);
	ck_assert(differ(now, before));
	ck_assert(bytes_parse_hex(bytes_text(lacking), before, sizeof(before)));
	ck_assert(!differ(now, before));
}
END_TEST

START_TEST(bad_keys_are_counted_by_their_reasons)
{
	struct trial trial;
	const struct key_reason *reasons = trial.survey.reasons;

	init(&trial);
	add(&trial, 0, "m1", "b1", "one");
	add(&trial, 2, "", "b1", "one");
	add(&trial, 0, "m3", "", "one");
	add(&trial, 0, "", "b4", "one");
	check_found(&trial, 1, 0, 0, 3);
	ck_assert_uint_eq(trial.survey.reason_count, 2);
	ck_assert_str_eq(reasons[0].text, "msg_id: header:id is missing");
	ck_assert_int_eq(reasons[0].count, 2);
	ck_assert_uint_eq(reasons[0].place, 2);
	ck_assert_int_eq(reasons[0].offset, 1);
	ck_assert_str_eq(reasons[1].text, "biz_id: header:biz is missing");
	fini(&trial);
}
END_TEST

START_TEST(more_reasons_than_there_is_room_for_are_still_counted)
{
	struct trial trial;
	char why[32];

	init(&trial);
	for (int i = 0; i < KEY_SURVEY_REASONS + 2; i++) {
		snprintf(why, sizeof(why), "reason %d", i);
		key_survey_add_bad(&trial.survey, 0, i, why);
	}
	ck_assert_uint_eq(trial.survey.reason_count, KEY_SURVEY_REASONS);
	ck_assert_int_eq(trial.survey.reasons_left_out, 2);
	check_found(&trial, 0, 0, 0, KEY_SURVEY_REASONS + 2);
	fini(&trial);
}
END_TEST

START_TEST(a_key_that_is_too_long_is_told)
{
	struct trial trial;
	char biz_id[301];
	char other[301];

	init(&trial);
	memset(biz_id, 'x', 300);
	biz_id[300] = '\0';
	memcpy(other, biz_id, sizeof(other));
	other[299] = 'y'; /* it differs behind what is kept */
	add(&trial, 0, "m1", biz_id, "one");
	add(&trial, 0, "m2", other, "two");
	check_found(&trial, 2, 0, 0, 0);
	ck_assert_int_eq(trial.survey.shortened[ONCE_KEY_BIZ_ID], 2);
	ck_assert_int_eq(trial.survey.shortened[ONCE_KEY_MSG_ID], 0);
	ck_assert_uint_eq(trial.survey.shortened_ones.list[0].key_size, 256);
	biz_id[256] = '\0'; /* just fits */
	add(&trial, 0, "m3", biz_id, "three");
	ck_assert_int_eq(trial.survey.shortened[ONCE_KEY_BIZ_ID], 2);
	fini(&trial);
}
END_TEST

START_TEST(keys_that_meet_across_partitions_are_counted_once_each)
{
	struct trial trial;

	init(&trial);
	add(&trial, 0, "m1", "b1", "one");
	add(&trial, 0, "m1", "b1", "one");
	ck_assert_uint_eq(trial.survey.keys[ONCE_KEY_BIZ_ID].elsewhere, 0);
	add(&trial, 1, "m2", "b1", "one");
	add(&trial, 2, "m3", "b1", "two");
	add(&trial, 2, "m4", "b4", "one");
	ck_assert_uint_eq(trial.survey.keys[ONCE_KEY_BIZ_ID].count, 2);
	ck_assert_uint_eq(trial.survey.keys[ONCE_KEY_BIZ_ID].elsewhere, 1);
	ck_assert_uint_eq(trial.survey.keys[ONCE_KEY_MSG_ID].count, 4);
	ck_assert_uint_eq(trial.survey.keys[ONCE_KEY_MSG_ID].elsewhere, 0);
	ck_assert_int_eq(trial.places[0].messages, 2);
	ck_assert_int_eq(trial.places[2].messages, 2);
	fini(&trial);
}
END_TEST

static int64_t times_of(int64_t number)
{
	return number % 10 == 3 ? 2 + number : 1;
}

START_TEST(the_keys_that_are_met_most_often_are_found_among_many)
{
	struct key_often often[KEY_SURVEY_TOP];
	struct trial trial;
	char msg_id[24];
	char biz_id[24];

	init(&trial);
	for (int64_t round = 0; round < 100; round++)
		for (int64_t i = 0; i < 97; i++) {
			if (round >= times_of(i))
				continue;
			snprintf(msg_id, sizeof(msg_id), "m%lld",
				 (long long)trial.offset);
			snprintf(biz_id, sizeof(biz_id), "b%lld", (long long)i);
			add(&trial, 0, msg_id, biz_id, "one");
		}
	ck_assert_uint_eq(trial.survey.often_count, KEY_SURVEY_TOP);
	key_survey_sort_often(&trial.survey, often);
	for (uint32_t i = 0; i < KEY_SURVEY_TOP; i++) {
		snprintf(biz_id, sizeof(biz_id), "b%u", 93 - 10 * i);
		ck_assert_uint_eq(often[i].seen, 95 - 10 * i);
		ck_assert(bytes_equal(bytes_of(often[i].key, often[i].key_size),
				      bytes_text(biz_id)));
	}
	fini(&trial);
}
END_TEST

START_TEST(a_hundred_thousand_keys_are_told_apart)
{
	struct trial trial;
	char msg_id[24];
	char biz_id[24];

	init(&trial);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 100000; i++) {
			snprintf(msg_id, sizeof(msg_id), "m%d", i);
			snprintf(biz_id, sizeof(biz_id), "b%d", i);
			add(&trial, 0, msg_id, biz_id, "one");
		}
	check_found(&trial, 100000, 100000, 0, 0);
	ck_assert_uint_eq(trial.survey.keys[ONCE_KEY_MSG_ID].count, 100000);
	ck_assert_uint_eq(trial.survey.repeated.count, KEY_SURVEY_EXAMPLES);
	fini(&trial);
}
END_TEST

START_TEST(a_reader_refuses_a_template_as_a_route_does)
{
	struct once_route_options options = { .name = "refund",
					      .scope = "shop/refund",
					      .msg_id = "the same" };
	struct once_key_reader *reader = NULL;
	struct once_error err;

	ck_assert(once_key_reader_create(&options, &reader, &err) ==
		  ONCE_INVALID);
	ck_assert_ptr_null(reader);
	once_key_reader_destroy(reader);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("keys");
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, the_same_key_with_the_same_payload_is_repeated);
	tcase_add_test(tests, the_same_key_with_another_payload_conflicts);
	tcase_add_test(
		tests,
		the_same_message_for_another_operation_conflicts_whatever_it_says);
	tcase_add_test(tests, the_operation_counts_before_the_message);
	tcase_add_test(tests, what_repeats_conflicts_or_is_bad_claims_no_key);
	tcase_add_test(
		tests,
		without_a_fingerprint_nothing_contradicts_but_another_operation);
	tcase_add_test(tests, a_fingerprint_of_fields_looks_at_these_only);
	tcase_add_test(tests,
		       a_field_that_is_not_there_hides_no_other_difference);
	tcase_add_test(
		tests,
		a_value_that_the_fingerprint_cannot_read_is_compared_as_a_whole);
	tcase_add_test(
		tests,
		rows_of_before_are_compared_as_far_as_they_say_something);
	tcase_add_test(tests, bad_keys_are_counted_by_their_reasons);
	tcase_add_test(tests,
		       more_reasons_than_there_is_room_for_are_still_counted);
	tcase_add_test(tests, a_key_that_is_too_long_is_told);
	tcase_add_test(tests,
		       keys_that_meet_across_partitions_are_counted_once_each);
	tcase_add_test(tests,
		       the_keys_that_are_met_most_often_are_found_among_many);
	tcase_add_test(tests, a_hundred_thousand_keys_are_told_apart);
	tcase_add_test(tests, a_reader_refuses_a_template_as_a_route_does);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
