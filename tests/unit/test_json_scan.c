/* Strings go by a block at a time: what is seen must be what one sees who looks
 * at one byte after the other. */
#include "json_scan.h"

#include "bytes.h"

#include <check.h>
#include <stdlib.h>
#include <suite.h>

enum {
	BLOCK = 16,
	LONGEST = 5 * BLOCK,
	TEXTS = 200 /* for each size */
};

/* ---- one byte after the other ---- */

static bool is_hex(unsigned char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
	       (byte >= 'A' && byte <= 'F');
}

/* 0: there is none. */
static size_t escape_size(const unsigned char *at, size_t left)
{
	if (left < 2 || at[1] == '\0' || strchr("\"\\/bfnrtu", at[1]) == NULL)
		return 0;
	if (at[1] != 'u')
		return 2;
	for (size_t i = 2; i < 6; i++)
		if (i >= left || !is_hex(at[i]))
			return 0;
	return 6;
}

struct seen {
	bool good;
	size_t size; /* between the quotes */
	bool escaped;
	bool ascii;
};

static struct seen read_slowly(const unsigned char *text, size_t size)
{
	struct seen seen = { .ascii = true };
	size_t at = 1;

	if (size == 0 || text[0] != '"')
		return seen;
	while (at < size && text[at] >= 0x20 && text[at] != '"') {
		size_t step = 1;

		if (text[at] == '\\') {
			seen.escaped = true;
			step = escape_size(text + at, size - at);
		}
		if (step == 0)
			return seen;
		seen.ascii = seen.ascii && text[at] < 0x80;
		at += step;
	}
	seen.good = at < size && text[at] == '"';
	seen.size = at - 1;
	return seen;
}

/* ---- both ways ---- */

/* Its end is the end of its memory, so that a sanitizer sees a read beyond. */
static void compare(const unsigned char *text, size_t size)
{
	struct seen expected = read_slowly(text, size);
	struct once__json_scan scan = { text, text + size };
	struct once__json_string string;

	ck_assert_int_eq(once__json_scan_string(&scan, &string), expected.good);
	if (!expected.good)
		return;
	ck_assert_ptr_eq(scan.at, text + expected.size + 2);
	ck_assert_ptr_eq(string.raw.data, text + 1);
	ck_assert_uint_eq(string.raw.size, expected.size);
	ck_assert_int_eq(string.escaped, expected.escaped);
	ck_assert(expected.ascii || !string.ascii);
}

static uint64_t dice = 1;

/* xorshift64 */
static unsigned roll(unsigned sides)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (unsigned)(dice >> 33) % sides;
}

/* Mostly plain, or no text would come to its second block. */
static unsigned char any_byte(unsigned plainness)
{
	static const unsigned char special[] =
		"\"\\\\\\nu/0Aag\x1f\x20\x21\x23\x5b\x5d\x7f\x80\xa2\xdc\xff\n";

	if (roll(plainness) > 0)
		return (unsigned char)('a' + roll(26));
	return special[roll(sizeof(special))]; /* its NUL, too */
}

static void fill(unsigned char *text, size_t size)
{
	unsigned plainness = 1 + roll(40);

	for (size_t i = 0; i < size; i++)
		text[i] = any_byte(plainness);
	if (size > 0)
		text[0] = '"';
	if (size > 1 && roll(2) == 0)
		text[size - 1] = '"';
}

START_TEST(any_string_is_seen_as_byte_by_byte_wherever_it_stands)
{
	for (size_t size = 0; size < LONGEST; size++) {
		for (size_t i = 0; i < TEXTS; i++) {
			size_t before = i % BLOCK;
			unsigned char *memory = malloc(before + size + 1);
			unsigned char *text = memory + before + 1;

			ck_assert_ptr_nonnull(memory);
			fill(text, size);
			compare(text, size);
			free(memory);
		}
	}
}
END_TEST

/* Every byte, at every place of a string that is longer than two blocks. */
START_TEST(each_byte_counts_at_each_place)
{
	unsigned char text[2 * BLOCK + 9];

	for (size_t place = 1; place < sizeof(text); place++) {
		for (int byte = 0; byte < 256; byte++) {
			memset(text, 'a', sizeof(text));
			text[0] = '"';
			text[sizeof(text) - 1] = '"';
			text[place] = (unsigned char)byte;
			compare(text, sizeof(text));
		}
	}
}
END_TEST

/* Who finds it so needn't look for bad UTF-8. */
START_TEST(a_text_of_ascii_is_known_as_such)
{
	static const unsigned char text[] = "\"sixteen and more bytes\" : 1";
	struct once__json_scan scan = { text, text + sizeof(text) - 1 };
	struct once__json_string string;

	ck_assert(once__json_scan_string(&scan, &string));
	ck_assert(string.ascii);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_scan");
	TCase *tcase = tcase_create("json_scan");

	tcase_add_test(tcase,
		       any_string_is_seen_as_byte_by_byte_wherever_it_stands);
	tcase_add_test(tcase, each_byte_counts_at_each_place);
	tcase_add_test(tcase, a_text_of_ascii_is_known_as_such);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
