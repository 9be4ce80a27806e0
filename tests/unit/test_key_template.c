/* Keys: two messages share one only if the template's fields agree. */
#include "key_template.h"

#include "arena.h"
#include "bytes.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER(name, text) \
	{ \
		(name), \
		{ \
			(text), sizeof(text) - 1 \
		} \
	}
#define HEADERS(...) \
	.headers = (const struct once_header[]){ __VA_ARGS__ }, \
	.header_count = sizeof((const struct once_header[]){ __VA_ARGS__ }) / \
			sizeof(struct once_header)
#define TEXT(text) \
	{ \
		(text), sizeof(text) - 1 \
	}

static struct arena arena;

static void start(void)
{
	arena = (struct arena){ 0 };
}

static void stop(void)
{
	arena_fini(&arena);
}

static struct once__template *parse(const char *text)
{
	struct once__template *template;
	struct once_error err = { 0 };

	ck_assert_msg(once__template_parse(text, &template, &err) == ONCE_OK,
		      "%s: %s", text, err.text);
	return template;
}

static void check_refused(const char *text, const char *part_of_why)
{
	struct once__template *template;
	struct once_error err = { 0 };

	ck_assert_msg(once__template_parse(text, &template, &err) ==
			      ONCE_INVALID,
		      "%s isn't refused", text);
	ck_assert_ptr_null(template);
	ck_assert_msg(strstr(err.text, part_of_why) != NULL,
		      "%s: \"%s\" doesn't say \"%s\"", text, err.text,
		      part_of_why);
}

static enum once__key_fault format(const struct once__template *template,
				   const struct once_record *record,
				   struct once_bytes *ret_key,
				   const char **ret_field)
{
	struct once__reading reading = { record, &arena, false, NULL };

	return once__template_format(template, &reading, ret_key, ret_field);
}

static void check_key(const char *text, struct once_record record,
		      const char *expected)
{
	struct once__template *template = parse(text);
	struct once_bytes key;
	const char *field;
	enum once__key_fault fault = format(template, &record, &key, &field);

	ck_assert_msg(fault == ONCE__KEY_OK, "%s: %s %s", text, field,
		      once__key_fault_text(fault));
	ck_assert_str_eq(arena_copy(&arena, key), expected);
	once__template_destroy(template);
}

static void check_bad(const char *text, struct once_record record,
		      enum once__key_fault expected, const char *where)
{
	struct once__template *template = parse(text);
	struct once_bytes key;
	const char *field;
	enum once__key_fault fault = format(template, &record, &key, &field);

	ck_assert_msg(fault == expected, "%s: %s %s", text, field,
		      once__key_fault_text(fault));
	ck_assert_str_eq(field, where);
	ck_assert_ptr_null(key.data);
	once__template_destroy(template);
}

static bool varies(const char *text)
{
	struct once__template *template = parse(text);
	bool answer = once__template_varies(template);

	once__template_destroy(template);
	return answer;
}

/* ---- what a template yields ---- */

START_TEST(each_field_yields_what_the_message_says)
{
	const struct once_record record = {
		.topic = "refunds",
		.partition = 3,
		.offset = 9007199254740993,
		.time_ms = 1700000000123,
		.key = TEXT("K-1"),
		.value = TEXT("{\"refund\":{\"no\":12345678901234567890}}"),
		HEADERS(HEADER("tenant", "acme"), HEADER("a:b", "colon")),
	};

	check_key("{header:tenant}", record, "acme");
	check_key("{header:a:b}", record, "colon");
	check_key("{key}", record, "K-1");
	check_key("{json:/refund/no}", record, "12345678901234567890");
	check_key("{topic}", record, "refunds");
	check_key("{partition}", record, "3");
	check_key("{offset}", record, "9007199254740993");
	check_key("{timestamp}", record, "1700000000123");
	check_key("refund:{header:tenant}:{json:/refund/no}!", record,
		  "refund:acme:12345678901234567890!");
	check_key("coordinates", record, "refunds:3:9007199254740993");
}
END_TEST

START_TEST(an_offset_of_a_later_log_says_of_which)
{
	const struct once_record record = {
		.topic = "refunds",
		.partition = 3,
		.offset = 7,
		.log_generation = 2,
	};

	check_key("{offset}", record, "7@2");
	check_key("coordinates", record, "refunds:3:7@2");
	check_key("{offset}@{partition}", record, "7\\@2@3");
}
END_TEST

START_TEST(braces_and_bars_can_be_written)
{
	const struct once_record record = {
		.key = TEXT("k"),
		.value = TEXT("{\"a|b}{\":1,\"\\\\\":2}"),
		HEADERS(HEADER("x}", "y")),
	};

	check_key("{{{key}}}", record, "{k}");
	check_key("{{key}}{key}", record, "{key}k");
	check_key("}}{key}{{", record, "}k{");
	check_key("{json:/a\\|b\\}\\{}", record, "1");
	check_key("{json:/\\\\}", record, "2");
	check_key("{header:x\\}}", record, "y");
	check_key("a|b\\{key}", record, "a|b\\k");
}
END_TEST

START_TEST(the_last_header_of_a_name_wins)
{
	const struct once_record record = {
		HEADERS(HEADER("id", "1"), HEADER("ID", "3"), HEADER("id", "2"),
			HEADER("idx", "4")),
	};
	const struct once_record nulled = {
		HEADERS(HEADER("id", "1"), { "id", { NULL, 0 } }),
	};

	check_key("{header:id}", record, "2");
	check_bad("{header:id}", nulled, ONCE__KEY_IS_NULL, "header:id");
}
END_TEST

START_TEST(the_default_msg_id_asks_the_usual_headers)
{
	const struct once_record both = {
		HEADERS(HEADER("id", "c"), HEADER("ce_id", "b"),
			HEADER("message-id", "a")),
	};
	const struct once_record cloud_event = {
		HEADERS(HEADER("id", "c"), HEADER("ce_id", "b")),
	};
	const struct once_record plain = { HEADERS(HEADER("id", "c")) };
	const struct once_record none = { .key = TEXT("k") };

	ck_assert(varies(once__default_msg_id));
	check_key(once__default_msg_id, both, "a");
	check_key(once__default_msg_id, cloud_event, "b");
	check_key(once__default_msg_id, plain, "c");
	check_bad(once__default_msg_id, none, ONCE__KEY_MISSING,
		  "header:message-id|header:ce_id|header:id");
}
END_TEST

/* ---- fallbacks ---- */

START_TEST(a_fallback_is_taken_only_when_nothing_is_there)
{
	const struct once_record no_header = { .value = TEXT("{\"id\":7}") };
	const struct once_record no_member = {
		.value = TEXT("{\"a\":{}}"),
		.key = TEXT("k"),
	};
	const struct once_record tombstone = { .key = TEXT("k") };
	const struct once_record no_key = {
		.time_ms = -1,
		.value = TEXT("{\"id\":7}"),
	};

	check_key("{header:id|json:/id}", no_header, "7");
	check_key("{json:/id|json:/a/id|key}", no_member, "k");
	check_key("{json:/id|key}", tombstone, "k");
	check_key("{key|timestamp|json:/id}", no_key, "7");
	check_bad("{header:id|json:/id}", no_member, ONCE__KEY_MISSING,
		  "header:id|json:/id");
	check_bad("{header:id|json:/id}", tombstone, ONCE__KEY_NO_VALUE,
		  "header:id|json:/id");
}
END_TEST

START_TEST(a_fallback_never_stands_in_for_what_is_there_and_bad)
{
	static const struct {
		struct once_bytes value;
		enum once__key_fault fault;
	} cases[] = {
		{ TEXT("{\"id\":null}"), ONCE__KEY_IS_NULL },
		{ TEXT("{\"id\":\"\"}"), ONCE__KEY_EMPTY },
		{ TEXT("{\"id\":{}}"), ONCE__KEY_NOT_SCALAR },
		{ TEXT("{\"id\":[1]}"), ONCE__KEY_NOT_SCALAR },
		{ TEXT("{\"id\":1,\"id\":1}"), ONCE__KEY_REPEATED },
		{ TEXT("{\"id\":\"\\u0000\"}"), ONCE__KEY_NUL },
		{ TEXT("{\"id\":\"\xff\"}"), ONCE__KEY_NOT_UTF8 },
		{ TEXT("{\"id\":\"\\ud800\"}"), ONCE__KEY_NOT_UTF8 },
		{ TEXT("{\"x\":1"), ONCE__KEY_MALFORMED },
		{ TEXT(""), ONCE__KEY_MALFORMED },
		{ TEXT("7"), ONCE__KEY_NO_MEMBERS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct once_record record = {
			.value = cases[i].value,
			.key = TEXT("k"),
		};

		check_bad("{json:/id|key}", record, cases[i].fault, "json:/id");
		check_bad("{header:id|json:/id|key}", record, cases[i].fault,
			  "json:/id");
		check_bad("x{key}:{json:/id}", record, cases[i].fault,
			  "json:/id");
	}
}
END_TEST

START_TEST(alternatives_name_one_identity_wherever_it_stands)
{
	const struct once_record in_header = { HEADERS(HEADER("id", "x")) };
	const struct once_record in_value = { .value = TEXT("{\"id\":\"x\"}") };

	check_key("o:{header:id|json:/id}", in_header, "o:x");
	check_key("o:{header:id|json:/id}", in_value, "o:x");
}
END_TEST

/* ---- bad keys ---- */

START_TEST(a_field_without_usable_text_is_a_bad_key)
{
	const struct once_record empty = {
		.key = TEXT(""),
		HEADERS(HEADER("e", "")),
	};
	const struct once_record ugly = {
		.key = TEXT("a\0b"),
		HEADERS(HEADER("u", "\xc3\x28"), HEADER("n", "\0")),
		.time_ms = -1,
	};

	check_bad("{key}", empty, ONCE__KEY_EMPTY, "key");
	check_bad("a{header:e}b", empty, ONCE__KEY_EMPTY, "header:e");
	check_bad("{header:e|key}", empty, ONCE__KEY_EMPTY, "header:e");
	check_bad("{key}", ugly, ONCE__KEY_NUL, "key");
	check_bad("{header:u}", ugly, ONCE__KEY_NOT_UTF8, "header:u");
	check_bad("{header:n}", ugly, ONCE__KEY_NUL, "header:n");
	check_bad("{timestamp}", ugly, ONCE__KEY_MISSING, "timestamp");
	check_bad("{header:x}", ugly, ONCE__KEY_MISSING, "header:x");
}
END_TEST

START_TEST(a_json_field_of_a_tombstone_is_a_bad_key)
{
	const struct once_record tombstone = { .key = TEXT("k") };

	check_bad("{json:/id}", tombstone, ONCE__KEY_NO_VALUE, "json:/id");
	check_bad("{key}:{json:/id}", tombstone, ONCE__KEY_NO_VALUE,
		  "json:/id");
}
END_TEST

/* ---- joining ---- */

START_TEST(a_field_alone_is_not_escaped)
{
	const struct once_record record = { .key = TEXT("a:b\\c") };

	check_key("{key}", record, "a:b\\c");
	check_key("refund:{key}", record, "refund:a:b\\c");
	check_key("{key}:x", record, "a:b\\c:x");
}
END_TEST

START_TEST(what_ends_a_field_is_escaped_in_it)
{
	const struct once_record one = {
		.key = TEXT("a"),
		HEADERS(HEADER("x", "b:c")),
	};
	const struct once_record other = {
		.key = TEXT("a:b"),
		HEADERS(HEADER("x", "c")),
	};
	const struct once_record slash = {
		.key = TEXT("a\\"),
		HEADERS(HEADER("x", "\\")),
	};

	check_key("{key}:{header:x}", one, "a:b:c");
	check_key("{key}:{header:x}", other, "a\\:b:c");
	check_key("{key}:{header:x}", slash, "a\\\\:\\");
	check_key("{key}/{header:x}", other, "a:b/c");
}
END_TEST

enum {
	WORDS_MAX = 128
};

struct words {
	char texts[WORDS_MAX][8];
	size_t count;
};

/* All texts of up to `longest` letters, each letter one of the list. */
static void fill_words(struct words *words, const char *const *letters,
		       size_t longest)
{
	size_t from = 0;

	words->count = 1;
	words->texts[0][0] = '\0';
	for (size_t size = 1; size <= longest; size++) {
		size_t to = words->count;

		for (size_t i = from; i < to; i++) {
			for (size_t j = 0; letters[j] != NULL; j++) {
				char *word = words->texts[words->count];

				ck_assert_uint_lt(words->count++, WORDS_MAX);
				memcpy(word, words->texts[i], 8);
				strncat(word, letters[j], 7 - strlen(word));
			}
		}
		from = to;
	}
}

static int compare_keys(const void *a, const void *b)
{
	return bytes_compare(*(const struct once_bytes *)a,
			     *(const struct once_bytes *)b);
}

/* Every pair (or triple) of words makes a key of its own. */
static void check_injective(const char *text, const struct words *words,
			    size_t fields)
{
	struct once__template *template = parse(text);
	size_t each = words->count - 1; /* the first is empty */
	size_t count = each * each * (fields == 3 ? each : 1);
	struct once_bytes *keys = calloc(count, sizeof(*keys));

	ck_assert_ptr_nonnull(keys);
	for (size_t i = 0; i < count; i++) {
		const char *a = words->texts[1 + i % each];
		const char *b = words->texts[1 + i / each % each];
		const char *c = words->texts[1 + i / each / each];
		const struct once_record record = {
			.key = bytes_text(a),
			.topic = c,
			.headers = &(struct once_header){ "x", bytes_text(b) },
			.header_count = 1,
		};
		const char *field;

		ck_assert_int_eq(format(template, &record, &keys[i], &field),
				 ONCE__KEY_OK);
		ck_assert(bytes_are_utf8(keys[i]));
	}
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 1; i < count; i++)
		ck_assert_msg(!bytes_equal(keys[i - 1], keys[i]),
			      "%s makes %.*s of two lists", text,
			      (int)keys[i].size, (const char *)keys[i].data);
	free(keys);
	arena_reset(&arena);
	once__template_destroy(template);
}

START_TEST(different_lists_of_texts_never_share_a_key)
{
	static const char *const ascii[] = { "a", ":", "\\", "b", NULL };
	static const char *const colons[] = { ":", "\\", NULL };
	static const char *const accents[] = { "\xc3\xa9", "\xc3\xa8", "\\",
					       "a", NULL };
	static const char *const two[] = {
		"{key}:{header:x}",     "{key}::{header:x}",
		"{key}a{header:x}",     "{key}ab{header:x}",
		"{key}:\\{header:x}",   "a{key}:a{header:x}a",
		":{key}:{header:x}:",   "\\{key}:{header:x}\\",
		"{key}a:a{header:x}:",  "{key}\xc3\xa9{header:x}",
		"{key}b\\:{header:x}b",
	};
	static const char *const three[] = {
		"{key}:{header:x}:{topic}",
		"{key}:{header:x}a{topic}",
		"{key}a{header:x}:{topic}",
		"{key}::{header:x}:\\{topic}\\",
		"{topic}\xc3\xa9{key}:{header:x}",
	};
	struct words *words = calloc(1, sizeof(*words));

	ck_assert_ptr_nonnull(words);
	fill_words(words, ascii, 3);
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
		check_injective(two[i], words, 2);
	fill_words(words, colons, 5);
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
		check_injective(two[i], words, 2);
	fill_words(words, accents, 3);
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
		check_injective(two[i], words, 2);
	fill_words(words, ascii, 2);
	for (size_t i = 0; i < sizeof(three) / sizeof(three[0]); i++)
		check_injective(three[i], words, 3);
	fill_words(words, colons, 3);
	for (size_t i = 0; i < sizeof(three) / sizeof(three[0]); i++)
		check_injective(three[i], words, 3);
	free(words);
}
END_TEST

/* ---- long keys ---- */

static struct once_bytes key_of(struct once_bytes text)
{
	struct once__template *template = parse("{key}");
	const struct once_record record = { .key = text };
	struct once_bytes key;
	const char *field;

	ck_assert_int_eq(format(template, &record, &key, &field), ONCE__KEY_OK);
	once__template_destroy(template);
	return key;
}

START_TEST(a_key_of_256_bytes_is_whole_and_one_of_257_is_abbreviated)
{
	/* printf 'a%.0s' $(seq 257) | sha256sum */
	static const char hash[] = "e8d95cc2b4bc198c54b40bd214df958a"
				   "fb65f5e73d2c2eafe0593cf5c635c1f0";
	char text[257];
	struct once_bytes key;

	memset(text, 'a', sizeof(text));
	ck_assert(
		bytes_equal(key_of(bytes_of(text, 255)), bytes_of(text, 255)));
	ck_assert(
		bytes_equal(key_of(bytes_of(text, 256)), bytes_of(text, 256)));
	key = key_of(bytes_of(text, 257));
	ck_assert_uint_eq(key.size, 256);
	ck_assert_mem_eq(key.data, text, 191);
	ck_assert_int_eq(((const char *)key.data)[191], '#');
	ck_assert_mem_eq((const char *)key.data + 192, hash, 64);
}
END_TEST

START_TEST(long_keys_differ_where_only_their_ends_do)
{
	char one[1000];
	char other[1000];

	memset(one, 'a', sizeof(one));
	memset(other, 'a', sizeof(other));
	other[999] = 'b';
	ck_assert(!bytes_equal(key_of(bytes_of(one, 1000)),
			       key_of(bytes_of(other, 1000))));
	ck_assert(!bytes_equal(key_of(bytes_of(one, 999)),
			       key_of(bytes_of(one, 1000))));
	ck_assert(bytes_equal(key_of(bytes_of(one, 1000)),
			      key_of(bytes_of(one, 1000))));
}
END_TEST

START_TEST(an_abbreviation_ends_with_a_whole_character)
{
	static const char *const characters[] = { "\xc3\xa9", "\xe2\x82\xac",
						  "\xf0\x9f\x98\x80" };

	for (size_t i = 0; i < 3; i++) {
		size_t size = strlen(characters[i]);

		for (size_t shift = 0; shift < size; shift++) {
			char text[300];
			size_t used = shift;
			struct once_bytes key;

			memset(text, 'a', sizeof(text));
			for (; used + size <= sizeof(text); used += size)
				memcpy(text + used, characters[i], size);
			key = key_of(bytes_of(text, used));
			ck_assert(bytes_are_utf8(key));
			ck_assert_uint_le(key.size, 256);
			ck_assert_uint_ge(key.size, 256 - size + 1);
			ck_assert_uint_eq((key.size - 65 - shift) % size, 0);
		}
	}
}
END_TEST

START_TEST(nobody_can_send_a_key_that_equals_an_abbreviation)
{
	char text[300];
	struct once_bytes victim;
	struct once_bytes forged;

	memset(text, 'a', sizeof(text));
	memcpy(text + 190, "\xf0\x9f\x98\x80", 4);
	victim = key_of(bytes_of(text, sizeof(text)));
	forged = key_of(victim);
	ck_assert(!bytes_equal(victim, forged));
	ck_assert_uint_le(forged.size, 256);
	memset(text, 'a', sizeof(text));
	victim = key_of(bytes_of(text, sizeof(text)));
	ck_assert(!bytes_equal(victim, key_of(victim)));
}
END_TEST

START_TEST(escapes_count_for_the_length_of_a_key)
{
	char colons[128];
	struct once__template *template = parse("{key}:{header:x}");
	struct once_record record = {
		.key = bytes_of(colons, sizeof(colons)),
		HEADERS(HEADER("x", "y")),
	};
	struct once_bytes key;
	const char *field;

	memset(colons, ':', sizeof(colons));
	ck_assert_int_eq(format(template, &record, &key, &field), ONCE__KEY_OK);
	ck_assert_uint_eq(key.size, 256);
	ck_assert_int_eq(((const char *)key.data)[191], '#');
	once__template_destroy(template);
}
END_TEST

/* ---- what is refused, and how ---- */

START_TEST(a_wrong_template_is_refused_with_what_to_write)
{
	check_refused("", "empty");
	check_refused("refund", "has no field");
	check_refused("coordinate", "coordinates");
	check_refused("{{key}}", "has no field");
	check_refused("{keys}", "did you mean \"key\"?");
	check_refused("{ofset}", "did you mean \"offset\"?");
	check_refused("{Header:id}", "did you mean \"header\"?");
	check_refused("{jsn:/id}", "did you mean \"json\"?");
	check_refused("{value}", "there are header:NAME, key");
	check_refused("{coordinates}", "without braces");
	check_refused("{}", "no name");
	check_refused("{key|}", "no name");
	check_refused("{header}", "write {header:NAME}");
	check_refused("{header:}", "write {header:NAME}");
	check_refused("{json}", "write {json:/POINTER}");
	check_refused("{json:id}", "write \"/id\"");
	check_refused("{json:/a~b}", "\"~0\"");
	check_refused("{key:x}", "write {key}");
	check_refused("{offset:}", "write {offset}");
	check_refused("{key", "isn't closed");
	check_refused("{key|header:x\\}", "isn't closed");
	check_refused("{key\\", "write \"\\\\\"");
	check_refused("{header:a\\b}", "write \"\\\\\"");
	check_refused("{key:{header:x}", "\"{\" inside a field");
	check_refused("key}", "write \"}}\"");
	check_refused("{key}{header:x}", "two fields touch");
	check_refused("{key}\\{header:x}", "can't begin with");
	check_refused("{topic|key}", "never asked");
	check_refused("{key}\xff", "UTF-8");
	check_refused("{an-awfully-long-field-name-that-nobody-has}",
		      "there is no field");
}
END_TEST

START_TEST(a_refusal_names_the_column_in_characters)
{
	check_refused("refund:{keys}", "column 9: there is no field");
	check_refused("\xc3\xa9\xc3\xa9}", "column 3: \"}\" closes nothing");
	check_refused("a{key", "column 2: \"{\" isn't closed");
	check_refused("{key|headr:x}", "column 6: there is no field");
	check_refused("{key}{topic}", "column 6: two fields touch");
	check_refused("{key}\\}}{topic}", "column 6: text between");
}
END_TEST

START_TEST(a_template_varies_only_with_what_tells_messages_apart)
{
	ck_assert(varies("{key}"));
	ck_assert(varies("{header:id}"));
	ck_assert(varies("{json:/id}"));
	ck_assert(varies("{topic}:{key}"));
	ck_assert(varies("coordinates"));
	ck_assert(varies("{offset}/{topic}/{partition}"));
	ck_assert(varies("{topic}:{partition}:{header:id|offset}"));
	ck_assert(!varies("{topic}"));
	ck_assert(!varies("{topic}:{partition}"));
	ck_assert(!varies("{offset}"));
	ck_assert(!varies("{partition}:{offset}"));
	ck_assert(!varies("{topic}:{offset}"));
	ck_assert(!varies("{timestamp}"));
	ck_assert(!varies("{header:id|topic}"));
	ck_assert(!varies("{header:id|offset}"));
	ck_assert(!varies("{header:id|timestamp}:{topic}"));
}
END_TEST

START_TEST(every_fault_has_a_sentence)
{
	for (int fault = ONCE__KEY_OK; fault <= ONCE__KEY_NO_MEMORY; fault++)
		ck_assert_uint_gt(strlen(once__key_fault_text(
					  (enum once__key_fault)fault)),
				  4);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("key_template");
	TCase *tcase = tcase_create("key_template");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, start, stop);
	tcase_add_test(tcase, each_field_yields_what_the_message_says);
	tcase_add_test(tcase, an_offset_of_a_later_log_says_of_which);
	tcase_add_test(tcase, braces_and_bars_can_be_written);
	tcase_add_test(tcase, the_last_header_of_a_name_wins);
	tcase_add_test(tcase, the_default_msg_id_asks_the_usual_headers);
	tcase_add_test(tcase, a_fallback_is_taken_only_when_nothing_is_there);
	tcase_add_test(tcase,
		       a_fallback_never_stands_in_for_what_is_there_and_bad);
	tcase_add_test(tcase,
		       alternatives_name_one_identity_wherever_it_stands);
	tcase_add_test(tcase, a_field_without_usable_text_is_a_bad_key);
	tcase_add_test(tcase, a_json_field_of_a_tombstone_is_a_bad_key);
	tcase_add_test(tcase, a_field_alone_is_not_escaped);
	tcase_add_test(tcase, what_ends_a_field_is_escaped_in_it);
	tcase_add_test(tcase, different_lists_of_texts_never_share_a_key);
	tcase_add_test(
		tcase,
		a_key_of_256_bytes_is_whole_and_one_of_257_is_abbreviated);
	tcase_add_test(tcase, long_keys_differ_where_only_their_ends_do);
	tcase_add_test(tcase, an_abbreviation_ends_with_a_whole_character);
	tcase_add_test(tcase,
		       nobody_can_send_a_key_that_equals_an_abbreviation);
	tcase_add_test(tcase, escapes_count_for_the_length_of_a_key);
	tcase_add_test(tcase, a_wrong_template_is_refused_with_what_to_write);
	tcase_add_test(tcase, a_refusal_names_the_column_in_characters);
	tcase_add_test(tcase,
		       a_template_varies_only_with_what_tells_messages_apart);
	tcase_add_test(tcase, every_fault_has_a_sentence);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
