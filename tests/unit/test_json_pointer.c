/* One scalar out of a JSON text: exact, strict, and never guessed. */
#include "json_pointer.h"

#include "arena.h"
#include "bytes.h"
#include "json_members.h"
#include "json_scan.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static void start(void)
{
	arena = (struct arena){ 0 };
}

static void stop(void)
{
	arena_fini(&arena);
}

/* Asked for member by member, a text answers the same. */
static void expect_same_of_members(struct once_bytes json, const char *pointer,
				   enum once__key_fault expected_fault,
				   struct once_bytes expected)
{
	const struct once__json_members *members =
		once__json_members_read(json, &arena);
	char *text = arena_copy(&arena, bytes_text(pointer));
	struct once__json_pointer parsed;
	struct once_bytes scalar;

	if (members == NULL || pointer[0] != '/' ||
	    once__json_pointer_parse(text, &parsed, NULL) != ONCE_OK)
		return;
	ck_assert_int_eq(
		once__json_members_find(members, &parsed, &arena, &scalar),
		expected_fault);
	ck_assert(bytes_equal(scalar, expected));
}

/* The text is copied to memory of its exact size, so that a sanitizer sees a
 * read beyond it. */
static enum once__key_fault find_bytes(const void *json, size_t size,
				       const char *pointer, char **ret_text)
{
	char *exact = malloc(size == 0 ? 1 : size);
	struct once_bytes scalar;
	enum once__key_fault fault;

	ck_assert_ptr_nonnull(exact);
	memcpy(exact, json, size);
	fault = once__json_find(bytes_of(exact, size), pointer, &arena,
				&scalar);
	ck_assert((fault == ONCE__KEY_OK) == (scalar.data != NULL));
	expect_same_of_members(bytes_of(exact, size), pointer, fault, scalar);
	*ret_text = scalar.data == NULL ? NULL : arena_copy(&arena, scalar);
	free(exact);
	return fault;
}

static void check_found(const char *json, const char *pointer,
			const char *expected)
{
	char *text;
	enum once__key_fault fault =
		find_bytes(json, strlen(json), pointer, &text);

	ck_assert_msg(fault == ONCE__KEY_OK, "%s in %s %s", pointer, json,
		      once__key_fault_text(fault));
	ck_assert_str_eq(text, expected);
}

static void check_fault_of(const void *json, size_t size, const char *pointer,
			   enum once__key_fault expected)
{
	char *text;
	enum once__key_fault fault = find_bytes(json, size, pointer, &text);

	ck_assert_msg(fault == expected, "%s in %.*s %s, not: %s", pointer,
		      (int)size, (const char *)json,
		      once__key_fault_text(fault),
		      once__key_fault_text(expected));
}

static void check_fault(const char *json, const char *pointer,
			enum once__key_fault expected)
{
	check_fault_of(json, strlen(json), pointer, expected);
}

/* ---- pointers ---- */

START_TEST(a_pointer_finds_what_rfc_6901_says)
{
	static const char json[] =
		"{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,"
		"\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,"
		"\"m~n\":8,\"~1\":9,\"x\":{\"\":{\"\":10}}}";

	check_found(json, "/foo/0", "bar");
	check_found(json, "/foo/1", "baz");
	check_found(json, "/", "0");
	check_found(json, "/a~1b", "1");
	check_found(json, "/c%d", "2");
	check_found(json, "/e^f", "3");
	check_found(json, "/g|h", "4");
	check_found(json, "/i\\j", "5");
	check_found(json, "/k\"l", "6");
	check_found(json, "/ ", "7");
	check_found(json, "/m~0n", "8");
	check_found(json, "/~01", "9");
	check_found(json, "/x//", "10");
}
END_TEST

START_TEST(an_empty_pointer_is_the_whole_text)
{
	check_found("\"id-7\"", "", "id-7");
	check_found(" 42 ", "", "42");
	check_fault("{\"a\":1}", "", ONCE__KEY_NOT_SCALAR);
	check_fault("null", "", ONCE__KEY_IS_NULL);
}
END_TEST

START_TEST(an_array_index_is_digits_without_leading_zeros)
{
	check_found("[[7,8],9]", "/0/1", "8");
	check_found("[0,1,2,3,4,5,6,7,8,9,10]", "/10", "10");
	check_fault("[1,2]", "/2", ONCE__KEY_MISSING);
	check_fault("[1,2]", "/-", ONCE__KEY_MISSING);
	check_fault("[1,2]", "/01", ONCE__KEY_MISSING);
	check_fault("[1,2]", "/00", ONCE__KEY_MISSING);
	check_fault("[1,2]", "/+1", ONCE__KEY_MISSING);
	check_fault("[1,2]", "/1 ", ONCE__KEY_MISSING);
	check_fault("[1,2]", "/", ONCE__KEY_MISSING);
	check_fault("[1,2]", "/a", ONCE__KEY_MISSING);
	check_fault("[1,2]", "/18446744073709551616", ONCE__KEY_MISSING);
	check_fault("[]", "/0", ONCE__KEY_MISSING);
	check_found("{\"0\":1,\"01\":2,\"-\":3}", "/01", "2");
	check_found("{\"0\":1,\"01\":2,\"-\":3}", "/-", "3");
}
END_TEST

START_TEST(a_wrong_pointer_is_refused_with_what_to_write)
{
	struct once__json_pointer pointer;
	struct once_error err = { 0 };
	char no_slash[] = "id";
	char bad_escape[] = "/a~2";
	char half_escape[] = "/a~";
	char deep[2 * ONCE__JSON_POINTER_STEPS + 3];

	ck_assert_int_eq(once__json_pointer_parse(no_slash, &pointer, &err),
			 ONCE_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "write \"/id\""));
	ck_assert_int_eq(once__json_pointer_parse(bad_escape, &pointer, &err),
			 ONCE_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "\"~0\""));
	ck_assert_int_eq(once__json_pointer_parse(half_escape, &pointer, &err),
			 ONCE_INVALID);
	for (size_t i = 0; i < sizeof(deep) - 1; i += 2)
		memcpy(deep + i, "/a", 2);
	deep[sizeof(deep) - 1] = '\0';
	ck_assert_int_eq(once__json_pointer_parse(deep, &pointer, &err),
			 ONCE_INVALID);
	check_fault("{}", "id", ONCE__KEY_BAD_POINTER);
	check_fault("{}", "/~", ONCE__KEY_BAD_POINTER);
	check_fault("{}", "/\xff", ONCE__KEY_BAD_POINTER);
}
END_TEST

/* ---- scalars ---- */

START_TEST(a_number_keeps_its_literal_digits)
{
	static const char *const numbers[] = {
		"0",
		"-0",
		"12345678901234567890",
		"1e2",
		"1E+2",
		"1.50",
		"-1.0e-10",
		"0.1",
		"9007199254740993",
		"123456789012345678901234567890.123456789",
		"1e999999",
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char json[128];

		snprintf(json, sizeof(json), "{\"n\":%s}", numbers[i]);
		check_found(json, "/n", numbers[i]);
		snprintf(json, sizeof(json), "[%s , 1]", numbers[i]);
		check_found(json, "/0", numbers[i]);
		check_found(numbers[i], "", numbers[i]);
	}
}
END_TEST

START_TEST(a_number_that_json_does_not_have_is_malformed)
{
	static const char *const numbers[] = {
		"01",   "-01",   "00",    "+1",       "-",
		"1.",   ".5",    "1.e1",  "1e",       "1e+",
		"0x10", "1_000", "NaN",   "Infinity", "-Infinity",
		"1 2",  "--1",   "1e1.5", "1E+-1",    "\xd9\xa1",
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char json[128];

		snprintf(json, sizeof(json), "{\"n\":%s}", numbers[i]);
		check_fault(json, "/n", ONCE__KEY_MALFORMED);
		snprintf(json, sizeof(json), "{\"x\":[%s],\"n\":1}",
			 numbers[i]);
		check_fault(json, "/n", ONCE__KEY_MALFORMED);
	}
}
END_TEST

START_TEST(a_string_is_its_decoded_text)
{
	check_found("{\"s\":\"\"}", "/s", "");
	check_found("{\"s\":\"plain\"}", "/s", "plain");
	check_found("{\"s\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "/s",
		    "\"\\/\b\f\n\r\t");
	check_found("{\"s\":\"\\u0041\\u00e9\\u20AC\"}", "/s",
		    "A\xc3\xa9\xe2\x82\xac");
	check_found("{\"s\":\"\\ud83d\\ude00\"}", "/s", "\xf0\x9f\x98\x80");
	check_found("{\"s\":\"\\uDBFF\\uDFFF\"}", "/s", "\xf4\x8f\xbf\xbf");
	check_found("{\"s\":\"\xf0\x9f\x98\x80\\n\"}", "/s",
		    "\xf0\x9f\x98\x80\n");
	check_found("{\"s\":\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"}", "/s",
		    "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf");
	check_found("{\"s\":\"\x7f\"}", "/s", "\x7f");
}
END_TEST

START_TEST(true_and_false_are_words)
{
	check_found("{\"t\":true,\"f\":false}", "/t", "true");
	check_found("{\"t\":true,\"f\":false}", "/f", "false");
	check_fault("{\"t\":True}", "/t", ONCE__KEY_MALFORMED);
	check_fault("{\"t\":truex}", "/t", ONCE__KEY_MALFORMED);
	check_fault("{\"t\":tru", "/t", ONCE__KEY_MALFORMED);
}
END_TEST

START_TEST(what_is_no_scalar_is_told_apart)
{
	check_fault("{\"a\":1}", "/b", ONCE__KEY_MISSING);
	check_fault("{}", "/b", ONCE__KEY_MISSING);
	check_fault("{\"b\":null}", "/b", ONCE__KEY_IS_NULL);
	check_fault("{\"b\":{}}", "/b", ONCE__KEY_NOT_SCALAR);
	check_fault("{\"b\":[1]}", "/b", ONCE__KEY_NOT_SCALAR);
	check_fault("{\"b\":1}", "/b/c", ONCE__KEY_NO_MEMBERS);
	check_fault("{\"b\":\"c\"}", "/b/c", ONCE__KEY_NO_MEMBERS);
	check_fault("{\"b\":null}", "/b/c", ONCE__KEY_IS_NULL);
	check_fault("{\"b\":[]}", "/b/c", ONCE__KEY_MISSING);
	check_fault("7", "/b", ONCE__KEY_NO_MEMBERS);
}
END_TEST

START_TEST(a_tombstone_has_no_members)
{
	struct once_bytes scalar;

	ck_assert_int_eq(
		once__json_find(bytes_of(NULL, 0), "/id", &arena, &scalar),
		ONCE__KEY_NO_VALUE);
	ck_assert_ptr_null(scalar.data);
}
END_TEST

START_TEST(a_string_without_escapes_is_not_copied)
{
	static const char json[] = "{\"id\":\"abc\"}";
	struct once_bytes scalar;

	ck_assert_int_eq(
		once__json_find(bytes_text(json), "/id", &arena, &scalar),
		ONCE__KEY_OK);
	ck_assert_ptr_eq(scalar.data, json + 7);
}
END_TEST

/* ---- names ---- */

START_TEST(names_are_compared_after_decoding)
{
	check_found("{\"\\u0069d\":1}", "/id", "1");
	check_found("{\"\\ud83d\\ude00\":1}", "/\xf0\x9f\x98\x80", "1");
	check_found("{\"a\\/b\":1}", "/a~1b", "1");
	check_fault("{\"\\u0049d\":1}", "/id", ONCE__KEY_MISSING);
	check_fault("{\"id\\n\":1}", "/id", ONCE__KEY_MISSING);
	check_fault("{\"\\u0069\":1}", "/id", ONCE__KEY_MISSING);
	check_fault("{\"ID\":1,\"i\":2,\"idx\":3}", "/id", ONCE__KEY_MISSING);
}
END_TEST

START_TEST(a_member_on_the_path_that_is_there_twice_is_never_chosen)
{
	check_fault("{\"id\":1,\"id\":1}", "/id", ONCE__KEY_REPEATED);
	check_fault("{\"id\":1,\"x\":[{}],\"id\":2}", "/id",
		    ONCE__KEY_REPEATED);
	check_fault("{\"id\":1,\"\\u0069d\":2}", "/id", ONCE__KEY_REPEATED);
	check_fault("{\"i\\u0064\":1,\"id\":null}", "/id", ONCE__KEY_REPEATED);
	check_fault("{\"id\":null,\"id\":2}", "/id", ONCE__KEY_REPEATED);
	check_fault("{\"a\":{\"id\":1},\"a\":{}}", "/a/id", ONCE__KEY_REPEATED);
	check_fault("{\"a\":{},\"a\":{\"id\":1}}", "/a/id", ONCE__KEY_REPEATED);
	check_fault("{\"a\":{\"id\":1,\"id\":2},\"b\":0}", "/a/id",
		    ONCE__KEY_REPEATED);
	check_fault("[{\"id\":1,\"id\":2}]", "/0/id", ONCE__KEY_REPEATED);
	check_fault("{\"\":1,\"\":2}", "/", ONCE__KEY_REPEATED);
}
END_TEST

START_TEST(a_member_off_the_path_may_be_there_twice)
{
	check_found("{\"x\":1,\"id\":7,\"x\":2}", "/id", "7");
	check_found("{\"x\":{\"id\":1,\"id\":2},\"id\":7}", "/id", "7");
	check_found("{\"id\":7,\"x\":[{\"id\":1,\"id\":2}]}", "/id", "7");
	check_found("[{\"id\":1,\"id\":2},{\"id\":7}]", "/1/id", "7");
	check_found("{\"a\":{\"id\":7},\"b\":{\"id\":8},\"id\":9}", "/a/id",
		    "7");
}
END_TEST

START_TEST(a_name_that_another_parser_could_take_for_ours_is_a_fault)
{
	check_fault("{\"id\\u0000\":1,\"id\":2}", "/id", ONCE__KEY_NUL);
	check_fault("{\"id\\ud800\":1,\"id\":2}", "/id", ONCE__KEY_NOT_UTF8);
	check_fault("{\"id\xff\":1,\"id\":2}", "/id", ONCE__KEY_NOT_UTF8);
	check_found("{\"x\":{\"id\\ud800\":1},\"id\":2}", "/id", "2");
}
END_TEST

/* Of more members no table is made. */
START_TEST(an_object_may_have_any_number_of_members)
{
	static const size_t counts[] = { 1, 255, 256, 257, 2000 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		char json[32 * 1024] = "{\"a\":0";
		size_t size = strlen(json);

		for (size_t n = 1; n < counts[i]; n++)
			size += (size_t)snprintf(json + size,
						 sizeof(json) - size,
						 ",\"%zu\":%zu", n, n);
		snprintf(json + size, sizeof(json) - size, "}");
		check_found(json, "/a", "0");
		if (counts[i] > 1)
			check_found(json, "/1", "1");
		check_fault(json, "/b", ONCE__KEY_MISSING);
	}
}
END_TEST

/* ---- strictness ---- */

START_TEST(malformed_text_is_refused_wherever_it_stands)
{
	static const char *const broken[] = {
		"",
		" ",
		"\"",
		"{",
		"}",
		"[",
		"]",
		"{]",
		"[}",
		"{,}",
		"[,]",
		"[1,]",
		"[1 2]",
		"{\"a\"}",
		"{\"a\":}",
		"{a:1}",
		"{'a':1}",
		"{1:2}",
		"{\"a\":1,}",
		"{\"a\":1 \"b\":2}",
		"{\"a\" 1}",
		"{\"a\":1}}",
		"nul",
		"nullx",
		"//",
		"/**/1",
		"\"\\x\"",
		"\"\\u12g4\"",
		"\"\\u123\"",
		"\"\\U0041\"",
		"\"a\nb\"",
		"\"a\tb\"",
		"\"\x1f\"",
		"\"12345678\n\"",
		"[1]]",
		"\xef\xbb\xbf{}",
		"\"a\" \"b\"",
		"{} {}",
		"\v1",
		"\f1",
		"\xc2\xa0"
		"1",
		"{\"a\":1,\"b\"}",
		"{\"a\":\"b\"",
		"[\"a",
		"[[]",
		"{\"a\":[}",
		"\\u0031",
		"undefined",
		"[1,,2]",
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		char json[128];

		check_fault(broken[i], "", ONCE__KEY_MALFORMED);
		snprintf(json, sizeof(json), "{\"id\":1,\"x\":%s}", broken[i]);
		check_fault(json, "/id", ONCE__KEY_MALFORMED);
		snprintf(json, sizeof(json), "{\"x\":%s,\"id\":1}", broken[i]);
		check_fault(json, "/id", ONCE__KEY_MALFORMED);
		snprintf(json, sizeof(json), "[0,[%s],1]", broken[i]);
		if (broken[i][0] != '\0' && broken[i][0] != ' ')
			check_fault(json, "/0", ONCE__KEY_MALFORMED);
	}
}
END_TEST

START_TEST(what_is_behind_the_text_is_malformed)
{
	check_fault("{\"id\":1}{\"id\":2}", "/id", ONCE__KEY_MALFORMED);
	check_fault("{\"id\":1},", "/id", ONCE__KEY_MALFORMED);
	check_fault("1 2", "", ONCE__KEY_MALFORMED);
	check_fault_of("{\"id\":1}\0", 9, "/id", ONCE__KEY_MALFORMED);
	check_found("{\"id\":1}\r\n", "/id", "1");
}
END_TEST

START_TEST(space_may_stand_between_all_tokens)
{
	check_found(" \t\r\n{ \"a\" : [ 1 , { \"id\" : \"x\" } ] , \"b\" : { } "
		    ", \"c\" : [ ] } \n",
		    "/a/1/id", "x");
	check_found("{\n\t\"b\" : [ [ ] , { } , 1 ] ,\r\n\t\"id\"\t:\t7\n}",
		    "/id", "7");
	check_fault("{\"id\":1\v}", "/id", ONCE__KEY_MALFORMED);
	check_fault("{\"id\":- 1}", "/id", ONCE__KEY_MALFORMED);
}
END_TEST

START_TEST(a_text_cut_anywhere_is_malformed)
{
	static const char json[] =
		"{\"a\":{\"id\":\"x\\u00e9\\ud83d\\ude00\",\"n\":-1.5e+3},"
		"\"b\":[true,false,null,\"\xc3\xa9\",{\"c\":[]}],\"d\":{}}";

	check_found(json, "/a/id", "x\xc3\xa9\xf0\x9f\x98\x80");
	for (size_t size = 0; size < sizeof(json) - 1; size++) {
		check_fault_of(json, size, "/a/id", ONCE__KEY_MALFORMED);
		check_fault_of(json, size, "/missing", ONCE__KEY_MALFORMED);
		check_fault_of(json, size, "/b/3", ONCE__KEY_MALFORMED);
	}
}
END_TEST

START_TEST(malformed_text_hides_that_a_member_is_missing)
{
	check_fault("{\"a\":1,", "/id", ONCE__KEY_MALFORMED);
	check_fault("[1,2", "/9", ONCE__KEY_MALFORMED);
	check_fault("{\"id\":null,x}", "/id", ONCE__KEY_MALFORMED);
}
END_TEST

/* `count` arrays or objects around a 1. */
static char *nest(size_t count, const char *open, const char *close)
{
	size_t size = count * (strlen(open) + strlen(close)) + 2;
	char *json = arena_take_zeroed(&arena, size, 1);
	char *at = json;

	ck_assert_ptr_nonnull(json);
	for (size_t i = 0; i < count; i++, at += strlen(open))
		memcpy(at, open, strlen(open));
	*at++ = '1';
	for (size_t i = 0; i < count; i++, at += strlen(close))
		memcpy(at, close, strlen(close));
	return json;
}

START_TEST(nesting_is_bounded)
{
	check_fault(nest(512, "[", "]"), "/x", ONCE__KEY_MISSING);
	check_fault(nest(513, "[", "]"), "/x", ONCE__KEY_TOO_DEEP);
	check_fault(nest(512, "{\"a\":", "}"), "/x", ONCE__KEY_MISSING);
	check_fault(nest(513, "{\"a\":", "}"), "/x", ONCE__KEY_TOO_DEEP);
	check_fault(nest(512, "{\"a\":", "}"), "/a/a/a", ONCE__KEY_NOT_SCALAR);
	check_fault(nest(513, "{\"a\":", "}"), "/a/a/a", ONCE__KEY_TOO_DEEP);
	check_fault(nest(256, "[{\"a\":", "}]"), "/0/b", ONCE__KEY_MISSING);
	check_fault(nest(1000000, "[", ""), "/0/0", ONCE__KEY_TOO_DEEP);
	check_fault(nest(1000000, "[", "]"), "", ONCE__KEY_TOO_DEEP);
	check_found(nest(20, "[", "]"),
		    "/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0", "1");
}
END_TEST

START_TEST(brackets_must_match_at_every_level)
{
	check_fault("{\"x\":[[[{\"a\":[1}]]]],\"id\":1}", "/id",
		    ONCE__KEY_MALFORMED);
	check_fault("{\"x\":[[[{\"a\":{\"b\":1]}]]],\"id\":1}", "/id",
		    ONCE__KEY_MALFORMED);
	check_found("{\"x\":[[[{\"a\":[{\"b\":[[],{}]}]}]]],\"id\":1}", "/id",
		    "1");
}
END_TEST

/* ---- text that can't be a key ---- */

START_TEST(nul_in_the_wanted_text_is_a_fault)
{
	check_fault("{\"id\":\"a\\u0000b\"}", "/id", ONCE__KEY_NUL);
	check_fault_of("{\"id\":\"a\0b\"}", 12, "/id", ONCE__KEY_MALFORMED);
	check_fault_of("{\"x\":\"a\0b\",\"id\":1}", 19, "/id",
		       ONCE__KEY_MALFORMED);
	check_found("{\"x\":\"a\\u0000b\",\"id\":1}", "/id", "1");
}
END_TEST

START_TEST(a_lone_surrogate_in_the_wanted_text_is_a_fault)
{
	check_fault("[\"\\ud800\"]", "/0", ONCE__KEY_NOT_UTF8);
	check_fault("[\"\\udc00\"]", "/0", ONCE__KEY_NOT_UTF8);
	check_fault("[\"\\ud800x\"]", "/0", ONCE__KEY_NOT_UTF8);
	check_fault("[\"\\ud800\\n12345\"]", "/0", ONCE__KEY_NOT_UTF8);
	check_fault("[\"\\ud800\\u0041\"]", "/0", ONCE__KEY_NOT_UTF8);
	check_fault("[\"\\ud800\\ud800\"]", "/0", ONCE__KEY_NOT_UTF8);
	check_fault("[\"\\udc00\\ud800\"]", "/0", ONCE__KEY_NOT_UTF8);
	check_found("[\"\\ud800\",1]", "/1", "1");
}
END_TEST

START_TEST(bad_utf8_in_the_wanted_text_is_a_fault)
{
	static const char *const bad[] = {
		"\xff",
		"\x80",
		"\xc3",
		"\xc0\xaf",
		"\xed\xa0\x80",
		"\xe2\x82",
		"\xf5\x80\x80\x80",
		"12345678\xc3",
		"\xe0\x80\x80",
		"\xf4\x90\x80\x80",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char json[64];

		snprintf(json, sizeof(json), "{\"id\":\"%s\"}", bad[i]);
		check_fault(json, "/id", ONCE__KEY_NOT_UTF8);
		snprintf(json, sizeof(json), "{\"id\":\"\\n%s\"}", bad[i]);
		check_fault(json, "/id", ONCE__KEY_NOT_UTF8);
		snprintf(json, sizeof(json), "{\"x\":\"%s\",\"id\":1}", bad[i]);
		check_found(json, "/id", "1");
	}
}
END_TEST

/* Strings go by eight bytes at a time; each place in the eight counts. */
START_TEST(special_bytes_are_seen_at_every_place_of_a_string)
{
	char json[64];

	for (int before = 0; before < 20; before++) {
		for (int behind = 0; behind < 12; behind++) {
			snprintf(json, sizeof(json),
				 "{\"x\":\"%.*s\x1f%.*s\",\"id\":1}", before,
				 "aaaaaaaaaaaaaaaaaaaa", behind,
				 "bbbbbbbbbbbb");
			check_fault(json, "/id", ONCE__KEY_MALFORMED);
			snprintf(json, sizeof(json),
				 "{\"x\":\"%.*s\\\"%.*s\",\"id\":1}", before,
				 "aaaaaaaaaaaaaaaaaaaa", behind,
				 "bbbbbbbbbbbb");
			check_found(json, "/id", "1");
			snprintf(json, sizeof(json), "[\"%.*s\xff%.*s\"]",
				 before, "aaaaaaaaaaaaaaaaaaaa", behind,
				 "bbbbbbbbbbbb");
			check_fault(json, "/0", ONCE__KEY_NOT_UTF8);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_pointer");
	TCase *tcase = tcase_create("json_pointer");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, start, stop);
	tcase_add_test(tcase, a_pointer_finds_what_rfc_6901_says);
	tcase_add_test(tcase, an_empty_pointer_is_the_whole_text);
	tcase_add_test(tcase, an_array_index_is_digits_without_leading_zeros);
	tcase_add_test(tcase, a_wrong_pointer_is_refused_with_what_to_write);
	tcase_add_test(tcase, a_number_keeps_its_literal_digits);
	tcase_add_test(tcase, a_number_that_json_does_not_have_is_malformed);
	tcase_add_test(tcase, a_string_is_its_decoded_text);
	tcase_add_test(tcase, true_and_false_are_words);
	tcase_add_test(tcase, what_is_no_scalar_is_told_apart);
	tcase_add_test(tcase, a_tombstone_has_no_members);
	tcase_add_test(tcase, a_string_without_escapes_is_not_copied);
	tcase_add_test(tcase, names_are_compared_after_decoding);
	tcase_add_test(
		tcase,
		a_member_on_the_path_that_is_there_twice_is_never_chosen);
	tcase_add_test(tcase, a_member_off_the_path_may_be_there_twice);
	tcase_add_test(
		tcase,
		a_name_that_another_parser_could_take_for_ours_is_a_fault);
	tcase_add_test(tcase, an_object_may_have_any_number_of_members);
	tcase_add_test(tcase, malformed_text_is_refused_wherever_it_stands);
	tcase_add_test(tcase, what_is_behind_the_text_is_malformed);
	tcase_add_test(tcase, space_may_stand_between_all_tokens);
	tcase_add_test(tcase, a_text_cut_anywhere_is_malformed);
	tcase_add_test(tcase, malformed_text_hides_that_a_member_is_missing);
	tcase_add_test(tcase, nesting_is_bounded);
	tcase_add_test(tcase, brackets_must_match_at_every_level);
	tcase_add_test(tcase, nul_in_the_wanted_text_is_a_fault);
	tcase_add_test(tcase, a_lone_surrogate_in_the_wanted_text_is_a_fault);
	tcase_add_test(tcase, bad_utf8_in_the_wanted_text_is_a_fault);
	tcase_add_test(tcase,
		       special_bytes_are_seen_at_every_place_of_a_string);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
