/* What everything stands on: bytes, text, arena, backoff. */
#include "arena.h"
#include "backoff.h"
#include "bytes.h"
#include "error.h"
#include "suite.h"
#include "text.h"

#include <check.h>
#include <stdalign.h>

START_TEST(utf8_is_what_rfc_3629_says)
{
	static const struct {
		const char *bytes;
		size_t size;
		bool good;
	} cases[] = {
		{ "", 0, true },
		{ "plain", 5, true },
		{ "\xC3\xA9", 2, true },          /* é */
		{ "\xE2\x82\xAC", 3, true },      /* € */
		{ "\xF0\x9F\x98\x80", 4, true },  /* U+1F600 */
		{ "\xF4\x8F\xBF\xBF", 4, true },  /* U+10FFFF */
		{ "\xF4\x90\x80\x80", 4, false }, /* beyond it */
		{ "\xC0\x80", 2, false },         /* overlong NUL */
		{ "\xE0\x80\xAF", 3, false },     /* overlong slash */
		{ "\xED\xA0\x80", 3, false },     /* a surrogate */
		{ "\x80", 1, false },             /* a tail alone */
		{ "\xE2\x82", 2, false },         /* cut */
		{ "a\xFF", 2, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(bytes_are_utf8(bytes_of(cases[i].bytes,
						      cases[i].size)) ==
				      cases[i].good,
			      "case %zu", i);
}
END_TEST

START_TEST(no_value_differs_from_an_empty_one)
{
	ck_assert(!bytes_equal(bytes_of(NULL, 0), bytes_of("", 0)));
	ck_assert(bytes_equal(bytes_of(NULL, 0), bytes_of(NULL, 0)));
	ck_assert_int_lt(bytes_compare(bytes_of(NULL, 0), bytes_of("", 0)), 0);
	ck_assert_int_lt(bytes_compare(bytes_text("a"), bytes_text("ab")), 0);
	ck_assert_int_gt(bytes_compare(bytes_text("\xC3"), bytes_text("z")), 0);
}
END_TEST

START_TEST(a_backoff_grows_and_stays_within_its_bounds)
{
	for (unsigned attempt = 1; attempt < 40; attempt++) {
		int64_t whole = attempt > 9 ? 60000 : 200LL << (attempt - 1);
		int64_t ms = backoff_ms(attempt, 200, 60000);

		whole = whole > 60000 ? 60000 : whole;
		ck_assert_int_ge(ms, whole / 10);
		ck_assert_int_le(ms, whole);
	}
	ck_assert_int_ge(backoff_ms(1, 1, 1), 1);
}
END_TEST

START_TEST(an_arena_gives_aligned_pieces_of_any_size)
{
	struct arena arena = { 0 };

	for (size_t round = 0; round < 3; round++) {
		for (size_t size = 0; size < 2000000; size = size * 3 + 1) {
			unsigned char *piece = arena_take(&arena, size);

			ck_assert_ptr_nonnull(piece);
			ck_assert_uint_eq(
				(uintptr_t)piece % alignof(max_align_t), 0);
			memset(piece, 0xA5, size);
		}
		arena_reset(&arena);
	}
	ck_assert_ptr_null(arena_take(&arena, SIZE_MAX - 8));
	arena_fini(&arena);
}
END_TEST

START_TEST(json_text_has_no_raw_control_or_broken_bytes)
{
	scoped_text struct text text = { 0 };

	text_add_json(&text, bytes_of("a\"b\\c\nd\x01\xC3\xA9", 10));
	ck_assert_str_eq(text.data, "\"a\\\"b\\\\c\\nd\\u0001\xC3\xA9\"");
	text_reset(&text);
	text_add_json(&text, bytes_text("x\xFFy"));
	ck_assert_str_eq(text.data, "\"x\\ufffdy\"");
}
END_TEST

START_TEST(an_error_is_prefixed_without_overflow)
{
	struct once_error err;

	ck_assert_int_eq(error_set(&err, ONCE_CONFIG, "%0600d", 1),
			 ONCE_CONFIG);
	error_prefix(&err, "route \"%s\"", "refund");
	ck_assert_int_eq(strncmp(err.text, "route \"refund\": 000", 19), 0);
	ck_assert_uint_lt(strlen(err.text), sizeof(err.text));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base");
	TCase *tests = tcase_create("base");

	tcase_add_test(tests, utf8_is_what_rfc_3629_says);
	tcase_add_test(tests, no_value_differs_from_an_empty_one);
	tcase_add_test(tests, a_backoff_grows_and_stays_within_its_bounds);
	tcase_add_test(tests, an_arena_gives_aligned_pieces_of_any_size);
	tcase_add_test(tests, json_text_has_no_raw_control_or_broken_bytes);
	tcase_add_test(tests, an_error_is_prefixed_without_overflow);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
