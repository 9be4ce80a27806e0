/* Bytes from outside, on a terminal. */
#include "bytes.h"
#include "readable.h"
#include "suite.h"

#include <check.h>

static void expect(const char *bytes, size_t most, const char *shown)
{
	scoped_text struct text text = { 0 };

	text_adds(&text, "");
	readable_add(&text, bytes_text(bytes), most);
	ck_assert_str_eq(text.data, shown);
}

START_TEST(nothing_that_steers_a_terminal_gets_through)
{
	expect("refund:acme:R-1", 64, "refund:acme:R-1");
	expect("a\x1b[2Jb\r\n\t\x7f", 64, "a\\x1b[2Jb\\x0d\\x0a\\x09\\x7f");
	expect("\xc2\x9b"
	       "31m",
	       64, "\\x9b31m");               /* CSI in one */
	expect("\xff\xc3", 64, "\\xff\\xc3"); /* no UTF-8 */
	expect("a\xe2\x80\xae"
	       "b",
	       64, "a\\u202eb"); /* right to left */
	expect("\xe2\x80\x8b", 64, "\\u200b");
	expect("Zürich 東京", 64, "Zürich 東京");
	expect("", 64, "");
}
END_TEST

START_TEST(what_is_cut_ends_with_an_ellipsis_and_whole_characters)
{
	expect("abcdef", 6, "abcdef");
	expect("abcdefg", 6, "abcde…");
	expect("äöüäöüä", 6, "äöüäö…");
	expect("abc\x1b\x1b", 6, "abc…"); /* no half of \x1b */
	expect("abc\x1b", 7, "abc\\x1b");
	expect("abcd\x1b", 7, "abcd…");
}
END_TEST

START_TEST(width_is_counted_in_columns)
{
	ck_assert_uint_eq(readable_width(bytes_text("abc")), 3);
	ck_assert_uint_eq(readable_width(bytes_text("äöü…")), 4);
	ck_assert_uint_eq(readable_width(bytes_text("東京")), 4);
	ck_assert_uint_eq(readable_width(bytes_text("e\xcc\x81")), 1);
	ck_assert_uint_eq(readable_fit(bytes_text("東京"), 3), 3);
	ck_assert_uint_eq(readable_fit(bytes_text("abc"), 2), 2);
	ck_assert_uint_eq(readable_fit(bytes_text("abc"), 9), 3);
}
END_TEST

START_TEST(what_hides_or_turns_the_line_is_not_plain)
{
	ck_assert(readable_is_plain(bytes_text("one\n\ttwo, 東京")));
	ck_assert(!readable_is_plain(bytes_text("\x1b[2J")));
	ck_assert(!readable_is_plain(bytes_text("\u202Eback")));
	ck_assert(!readable_is_plain(bytes_text("\xff")));
}
END_TEST

START_TEST(a_line_is_cut_to_its_columns_and_ended)
{
	scoped_text struct text text = { 0 };

	text_adds(&text, "before\n");
	text_adds(&text, "12345");
	readable_end_line(&text, 7, 5);
	ck_assert_str_eq(text.data, "before\n12345\n");
	text_reset(&text);
	text_adds(&text, "東京123");
	readable_end_line(&text, 0, 5);
	ck_assert_str_eq(text.data, "東京…\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("readable");
	TCase *tests = tcase_create("readable");

	tcase_add_test(tests, nothing_that_steers_a_terminal_gets_through);
	tcase_add_test(tests, what_hides_or_turns_the_line_is_not_plain);
	tcase_add_test(tests, a_line_is_cut_to_its_columns_and_ended);
	tcase_add_test(tests,
		       what_is_cut_ends_with_an_ellipsis_and_whole_characters);
	tcase_add_test(tests, width_is_counted_in_columns);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
