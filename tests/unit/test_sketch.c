/* The most repeated keys, and that what is said of them is within its bounds.
 */
#include "bytes.h"
#include "repeated.h"
#include "sketch.h"
#include "suite.h"
#include "text.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ZIPF_KEYS = 20000,
	ZIPF_OFFERS = 1000000
};

static void offer(struct sketch *sketch, unsigned number)
{
	char key[32];
	int size = snprintf(key, sizeof(key), "refund:acme:R-%u", number);

	sketch_offer(sketch, ONCE_KEY_BIZ_ID, bytes_of(key, (size_t)size));
}

static unsigned number_of(const struct sketch_entry *entry)
{
	char key[SKETCH_KEY_SIZE + 1] = "";
	struct once_bytes kept = sketch_entry_key(entry);

	memcpy(key, kept.data, kept.size);
	return (unsigned)strtoul(key + strlen("refund:acme:R-"), NULL, 10);
}

static struct sketch *create(void)
{
	struct sketch *sketch = sketch_create();

	ck_assert_ptr_nonnull(sketch);
	return sketch;
}

START_TEST(few_keys_are_counted_exactly)
{
	struct sketch *sketch = create();
	struct sketch_list list = { 0 };

	for (unsigned key = 1; key <= SKETCH_COUNTERS; key++)
		for (unsigned i = 0; i < key; i++)
			offer(sketch, key);
	ck_assert(sketch_list_add(&list, sketch));
	sketch_list_rank(&list);
	ck_assert_uint_eq(list.count, SKETCH_COUNTERS);
	ck_assert_uint_eq(list.total,
			  SKETCH_COUNTERS * (SKETCH_COUNTERS + 1) / 2);
	for (size_t i = 0; i < list.count; i++) {
		ck_assert_uint_eq(list.entries[i].error, 0);
		ck_assert_uint_eq(list.entries[i].count, SKETCH_COUNTERS - i);
		ck_assert_uint_eq(number_of(&list.entries[i]),
				  list.entries[i].count);
	}
	sketch_list_fini(&list);
	sketch_destroy(sketch);
}
END_TEST

START_TEST(keys_that_differ_anywhere_are_told_apart)
{
	struct sketch *sketch = create();
	struct sketch_list list = { 0 };
	char key[SKETCH_KEY_SIZE + 9];

	memset(key, 'k', sizeof(key));
	sketch_offer(sketch, ONCE_KEY_MSG_ID, bytes_of(key, sizeof(key)));
	key[sizeof(key) - 1] = 'x'; /* behind what is kept */
	sketch_offer(sketch, ONCE_KEY_MSG_ID, bytes_of(key, sizeof(key)));
	sketch_offer(sketch, ONCE_KEY_MSG_ID, bytes_of(key, 70));
	sketch_offer(sketch, ONCE_KEY_BIZ_ID, bytes_of(key, 70));
	sketch_offer(sketch, ONCE_KEY_BIZ_ID, bytes_of(key, 0));
	sketch_offer(sketch, ONCE_KEY_BIZ_ID, bytes_of(NULL, 0));
	ck_assert(sketch_list_add(&list, sketch));
	ck_assert_uint_eq(list.count, 5);
	sketch_list_fini(&list);
	sketch_destroy(sketch);
}
END_TEST

/* ---- a stream of a million, few of its keys often ---- */

static uint64_t dice = 1;

static double draw(void)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (double)(dice >> 11) / (double)(1ull << 53);
}

/* Key 0 most often, key k with a share of 1 / (k + 1). */
static unsigned draw_zipf(const double *rising)
{
	double at = draw() * rising[ZIPF_KEYS - 1];
	unsigned low = 0;
	unsigned high = ZIPF_KEYS - 1;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (rising[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void offer_zipf(struct sketch *const *sketches, size_t count,
		       uint64_t *truth)
{
	double *rising = calloc(ZIPF_KEYS, sizeof(*rising));
	double sum = 0;

	ck_assert_ptr_nonnull(rising);
	for (int i = 0; i < ZIPF_KEYS; i++)
		rising[i] = sum += 1.0 / (i + 1);
	for (int i = 0; i < ZIPF_OFFERS; i++) {
		unsigned key = draw_zipf(rising);

		truth[key]++;
		offer(sketches[(size_t)i % count], key);
	}
	free(rising);
}

static void check_bounds(const struct sketch_list *list, const uint64_t *truth)
{
	bool *listed = calloc(ZIPF_KEYS, sizeof(*listed));

	ck_assert_ptr_nonnull(listed);
	for (size_t i = 0; i < list->count; i++) {
		const struct sketch_entry *entry = &list->entries[i];
		unsigned key = number_of(entry);

		ck_assert(!listed[key]);
		listed[key] = true;
		ck_assert_uint_ge(entry->count, truth[key]);
		ck_assert_uint_le(entry->count - entry->error, truth[key]);
	}
	for (int i = 0; i < ZIPF_KEYS; i++)
		ck_assert(listed[i] || truth[i] <= list->lowest);
	free(listed);
}

static void check_zipf(size_t count)
{
	struct sketch *sketches[4];
	struct sketch_list list = { 0 };
	uint64_t *truth = calloc(ZIPF_KEYS, sizeof(*truth));

	ck_assert_ptr_nonnull(truth);
	for (size_t i = 0; i < count; i++)
		sketches[i] = create();
	offer_zipf(sketches, count, truth);
	for (size_t i = 0; i < count; i++)
		ck_assert(sketch_list_add(&list, sketches[i]));
	sketch_list_rank(&list);
	ck_assert_uint_eq(list.total, ZIPF_OFFERS);
	ck_assert_uint_le(list.lowest, ZIPF_OFFERS / SKETCH_COUNTERS);
	check_bounds(&list, truth);
	for (size_t i = 0; i < 10; i++)
		ck_assert_uint_eq(number_of(&list.entries[i]), i);
	for (size_t i = 0; i < count; i++)
		sketch_destroy(sketches[i]);
	sketch_list_fini(&list);
	free(truth);
}

START_TEST(the_bounds_hold_and_the_hottest_are_found_among_a_million)
{
	check_zipf(1);
}
END_TEST

START_TEST(the_bounds_hold_when_four_lanes_are_added_up)
{
	check_zipf(4);
}
END_TEST

START_TEST(a_million_keys_that_never_repeat_hide_no_hot_one)
{
	struct sketch *sketch = create();
	struct sketch_list list = { 0 };
	unsigned hot = 0;

	for (unsigned i = 1; i <= 1000000; i++) {
		offer(sketch, i);
		if (i % 50 == 0) {
			offer(sketch, 0);
			hot++;
		}
	}
	ck_assert(sketch_list_add(&list, sketch));
	sketch_list_rank(&list);
	ck_assert_uint_eq(list.count, SKETCH_COUNTERS);
	ck_assert_uint_eq(number_of(&list.entries[0]), 0);
	ck_assert_uint_ge(list.entries[0].count, hot);
	for (size_t i = 1; i < list.count; i++)
		ck_assert_uint_le(list.entries[i].count - list.entries[i].error,
				  1);
	sketch_list_fini(&list);
	sketch_destroy(sketch);
}
END_TEST

/* ---- by route and lane ---- */

static void repeat(struct repeated *repeated, unsigned lane, const char *key)
{
	struct once_item item = { .key_kind = ONCE_KEY_BIZ_ID,
				  .msg_id = bytes_text("m"),
				  .biz_id = bytes_text(key) };

	struct repeated_lane *held = repeated_hold(repeated, lane);

	repeated_count(held, &item);
	repeated_release(held);
}

START_TEST(a_route_shows_what_its_lanes_saw_and_nothing_dangerous)
{
	static const char expected[] =
		"{\"route\":\"refund\",\"total\":4,\"unlisted_most\":0,"
		"\"keys\":[{\"key\":\"a\\\\x1b[2J\",\"key_kind\":\"biz_id\","
		"\"count\":3,\"error\":0},{\"key\":\"b\",\"key_kind\":"
		"\"biz_id\",\"count\":1,\"error\":0}]}";
	struct repeated *repeated = repeated_create(2, 3);
	scoped_text struct text json = { 0 };

	repeat(repeated, 0, "a\x1b[2J");
	repeat(repeated, 2, "b");
	repeat(repeated, 2, "a\x1b[2J");
	repeat(repeated, 1, "a\x1b[2J");
	repeated_describe(repeated, 0, "refund", &json);
	ck_assert_str_eq(json.data, expected);
	text_reset(&json);
	repeated_describe(repeated, 1, "other", &json);
	ck_assert_ptr_nonnull(strstr(json.data, "\"keys\":[]"));
	repeated_destroy(repeated);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sketch");
	TCase *tests = tcase_create("sketch");

	tcase_add_test(tests, few_keys_are_counted_exactly);
	tcase_add_test(tests, keys_that_differ_anywhere_are_told_apart);
	tcase_add_test(
		tests,
		the_bounds_hold_and_the_hottest_are_found_among_a_million);
	tcase_add_test(tests, the_bounds_hold_when_four_lanes_are_added_up);
	tcase_add_test(tests, a_million_keys_that_never_repeat_hide_no_hot_one);
	tcase_add_test(tests,
		       a_route_shows_what_its_lanes_saw_and_nothing_dangerous);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
