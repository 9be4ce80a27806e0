/* Bytes from outside, on a terminal. */
#include "bytes.h"
#include "readable.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>

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

struct range {
	unsigned first;
	unsigned last;
};

/* Unicode 15.1: categories Cf, Zl and Zp, what is to be ignored by default
 * (variation selectors, fillers), and noncharacters. */
static const struct range invisible[] = {
	{ 0x7F, 0x9F },       { 0xAD, 0xAD },       { 0x34F, 0x34F },
	{ 0x600, 0x605 },     { 0x61C, 0x61C },     { 0x6DD, 0x6DD },
	{ 0x70F, 0x70F },     { 0x890, 0x891 },     { 0x8E2, 0x8E2 },
	{ 0x115F, 0x1160 },   { 0x17B4, 0x17B5 },   { 0x180B, 0x180F },
	{ 0x200B, 0x200F },   { 0x2028, 0x202E },   { 0x2060, 0x206F },
	{ 0x3164, 0x3164 },   { 0xFDD0, 0xFDEF },   { 0xFE00, 0xFE0F },
	{ 0xFEFF, 0xFEFF },   { 0xFFA0, 0xFFA0 },   { 0xFFF0, 0xFFFB },
	{ 0xFFFE, 0xFFFF },   { 0x110BD, 0x110BD }, { 0x110CD, 0x110CD },
	{ 0x13430, 0x1343F }, { 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A },
	{ 0x1FFFE, 0x1FFFF }, { 0xE0000, 0xE0FFF }, { 0x10FFFE, 0x10FFFF },
};

static const char *encode(unsigned code, char utf8[5])
{
	if (code < 0x80)
		snprintf(utf8, 5, "%c", (int)code);
	else if (code < 0x800)
		snprintf(utf8, 5, "%c%c", (int)(0xC0 | code >> 6),
			 (int)(0x80 | (code & 0x3F)));
	else if (code < 0x10000)
		snprintf(utf8, 5, "%c%c%c", (int)(0xE0 | code >> 12),
			 (int)(0x80 | (code >> 6 & 0x3F)),
			 (int)(0x80 | (code & 0x3F)));
	else
		snprintf(utf8, 5, "%c%c%c%c", (int)(0xF0 | code >> 18),
			 (int)(0x80 | (code >> 12 & 0x3F)),
			 (int)(0x80 | (code >> 6 & 0x3F)),
			 (int)(0x80 | (code & 0x3F)));
	return utf8;
}

START_TEST(nothing_invisible_gets_through)
{
	char utf8[5];

	for (size_t i = 0; i < sizeof(invisible) / sizeof(*invisible); i++)
		for (unsigned code = invisible[i].first;
		     code <= invisible[i].last; code++) {
			scoped_text struct text text = { 0 };

			readable_add(&text, bytes_text(encode(code, utf8)), 64);
			ck_assert_msg(text.data[0] == '\\', "U+%04X", code);
			ck_assert_msg(!readable_is_plain(bytes_text(utf8)),
				      "U+%04X", code);
		}
	expect(encode(0xE0041, utf8), 64, "\\U000e0041");
	expect("नमस्ते, שלום, مرحبا, é, 👍", 64, "नमस्ते, שלום, مرحبا, é, 👍");
}
END_TEST

START_TEST(json_means_the_same_and_steers_no_terminal)
{
	scoped_text struct text text = { 0 };

	readable_add_json(&text, bytes_text("{\"東京\":\"a\xc2\x9b"
					    "b\u202Ec\x7f\",\"n\":"
					    "[1,\"\\n\U000E0041\"]}"));
	ck_assert_str_eq(text.data,
			 "{\"東京\":\"a\\u009bb\\u202ec\\u007f\",\"n\":[1,"
			 "\"\\n\\udb40\\udc41\"]}");
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
	tcase_add_test(tests, nothing_invisible_gets_through);
	tcase_add_test(tests, json_means_the_same_and_steers_no_terminal);
	tcase_add_test(tests, what_hides_or_turns_the_line_is_not_plain);
	tcase_add_test(tests, a_line_is_cut_to_its_columns_and_ended);
	tcase_add_test(tests,
		       what_is_cut_ends_with_an_ellipsis_and_whole_characters);
	tcase_add_test(tests, width_is_counted_in_columns);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
