/*
 * test_config_limits.c - a configuration may be as large as its limit, wrong
 * from end to end, or name files that never end: it is read in the time of its
 * size, and what is said of it stays readable.
 */
#include "config.h"
#include "suite.h"
#include "text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MIB = 1024 * 1024,
	SECONDS = 60, /* minutes to hours if it were the square of the size */
	LINES_MAX = 60
};

#define KAFKA "kafka:\n  brokers: a:1\n  group: g\n"
#define ROUTE "handlers:\n  - name: r\n    topics: [t]\n    plugin: refund.so\n"
#define GOOD KAFKA "retention: forever\n" ROUTE

static char folder[] = "/tmp/once-limits-XXXXXX";

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
}

static void enter_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	write_file("refund.so", "", 0);
}

static void leave_folder(void)
{
	unlink("onced.yaml");
	unlink("refund.so");
	unlink("secret");
	unlink("pipe");
	ck_assert_int_eq(chdir("/"), 0);
	rmdir(folder);
}

/* What is said of it; "" if it is taken. The caller's to free. */
static char *load(const void *data, size_t size)
{
	struct config *cfg;
	char *faults = NULL;
	size_t faults_size;
	FILE *out = open_memstream(&faults, &faults_size);

	ck_assert_ptr_nonnull(out);
	write_file("onced.yaml", data, size);
	cfg = config_load("onced.yaml", NULL, NULL, out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_msg(cfg != NULL || faults_size > 0, "refused in silence");
	config_destroy(cfg);
	return faults;
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

/* ---- size ---- */

/* `head`, then `item` with the numbers from 0 on for its "~", up to 1 MiB, then
 * `tail`. */
static const struct large {
	const char *head;
	const char *item;
	const char *tail;
	const char *words; /* part of what is said; NULL: it is taken */
} larges[] = {
	{ GOOD "x: \"", "a\n~", "", "isn't YAML" },
	{ GOOD "x: '", "\n", "", "isn't YAML" },
	{ GOOD, "k~: 1\n", "", "and " },
	{ GOOD, "\"k~\":\n", "", "and " },
	{ GOOD, "? k~\n", "", "and " },
	{ GOOD, "k~: {a: 1}\n", "", "and " },
	{ GOOD "log:\n", "  level~: 1\n", "", "did you mean" },
	{ GOOD, "lanes: 1 # ~\n", "", "stands on line" },
	{ KAFKA "  properties:\n", "    - a.b~=1\n", "", "no property" },
	{ KAFKA "  properties:\n", "    - sasl.username=~\n", "", "twice" },
	{ KAFKA "  properties:\n", "    - ~\n", "", "name=value" },
	{ KAFKA "retention: forever\nhandlers:\n  - name: r\n"
		"    plugin: refund.so\n    topics:\n",
	  "    - t~\n", "", NULL },
	{ KAFKA "retention: forever\nhandlers:\n  - name: r\n"
		"    plugin: refund.so\n    topics:\n",
	  "    - t # ~\n", "", "twice" },
	{ GOOD "    settings:\n", "    - s~=1\n", "", NULL },
	{ GOOD, "  - name: r~\n    topics: [t~]\n    plugin: refund.so\n", "",
	  NULL },
	{ GOOD, "  - name: r\n    topics: [t]\n    plugin: refund.so\n", "",
	  "has this name" },
	{ GOOD, "  - a\n", "", "a route is a map" },
	{ GOOD, "  - x~: 1\n", "", "is missing" },
	{ GOOD "x: ", "[", "", "nested deeper" },
	{ GOOD "x: ", "{a: ", "", "nested deeper" },
	{ GOOD "x: [", "a,", "]\n", "is no option" },
	{ GOOD "x: [", "*a,", "]\n", "alias" },
	{ GOOD "x: ", "&a ", "\n", "isn't YAML" },
	{ GOOD, "# ~\n", "", NULL },
	{ GOOD, "\t\n", "", "" },
	{ GOOD "database:\n  conninfo: \"", "${A:-b}", "\"\n", "references" },
	{ GOOD "database:\n  conninfo: \"", "a=b ", "\"\n", "too long" },
	{ GOOD "    settings:\n", "    - s~=${A:-b}\n", "", NULL },
	{ "", "~: 1\n", "", "and " },
	{ "", "- 1\n", "", "isn't a map" },
	{ "", "\"a", "", "isn't YAML" },
	{ "", "a", "", "isn't a map" },
};

/* Its "~" are the number. */
static void add_item(struct text *text, const char *item, size_t number)
{
	for (; *item != '\0'; item++) {
		if (*item == '~')
			text_addf(text, "%zu", number);
		else
			text_add(text, item, 1);
	}
}

START_TEST(a_file_of_1_mib_is_read_in_the_time_of_its_size)
{
	const struct large *large = &larges[_i];
	struct text yaml = { 0 };
	size_t tail = strlen(large->tail);
	char *faults;

	text_adds(&yaml, large->head);
	for (size_t i = 0; yaml.size < MIB - 200; i++)
		add_item(&yaml, large->item, i);
	text_add(&yaml, large->tail, tail);
	faults = load(yaml.data, yaml.size);
	ck_assert_msg(count_lines(faults) < LINES_MAX, "%s", faults);
	if (large->words == NULL)
		ck_assert_str_eq(faults, "");
	else
		ck_assert_msg(strstr(faults, large->words) != NULL, "%s",
			      faults);
	free(faults);
	text_fini(&yaml);
}
END_TEST

START_TEST(fifty_faults_are_shown_and_the_rest_is_counted)
{
	struct text yaml = { 0 };
	char *faults;

	text_adds(&yaml, GOOD);
	for (int i = 0; i < 20000; i++)
		text_addf(&yaml, "k%d: 1\n", i);
	faults = load(yaml.data, yaml.size);
	ck_assert_uint_eq(count_lines(faults), 51);
	ck_assert_ptr_nonnull(strstr(faults, "onced.yaml:9:1: \"k0\""));
	ck_assert_ptr_nonnull(strstr(faults, "onced.yaml: and 19950 more\n"));
	free(faults);
	text_fini(&yaml);
}
END_TEST

/* ---- files that values name ---- */

static void check_refused(const char *yaml, const char *words)
{
	char *faults = load(yaml, strlen(yaml));

	ck_assert_msg(strstr(faults, words) != NULL, "no \"%s\" in: %s", words,
		      faults);
	free(faults);
}

static const char *const not_regular[] = {
	"pipe", ".", "/dev/null", "/dev/zero", "/dev/tty", "/dev/random",
};

START_TEST(a_value_comes_from_a_regular_file_and_is_never_waited_for)
{
	char yaml[512];

	ck_assert_int_eq(mkfifo("pipe", 0600), 0);
	snprintf(yaml, sizeof(yaml), GOOD "lanes: ${file:%s}\n",
		 not_regular[_i]);
	/* No test has a terminal for sure. */
	check_refused(yaml, strcmp(not_regular[_i], "/dev/tty") == 0
				    ? "could not read"
				    : "not a regular file");
}
END_TEST

START_TEST(the_files_of_a_value_and_of_all_values_are_bounded_together)
{
	static char data[64 * 1024];
	struct text yaml = { 0 };
	char *faults;

	memset(data, 'x', sizeof(data));
	write_file("secret", data, sizeof(data));
	text_adds(&yaml, GOOD "    settings:\n");
	for (int i = 0; i < 16; i++)
		text_addf(&yaml, "    - s%d=${file:secret}\n", i);
	faults = load(yaml.data, yaml.size);
	ck_assert_str_eq(faults, "");
	free(faults);
	text_adds(&yaml, "    - more=${file:secret}\n");
	check_refused(yaml.data, "longer than 1 MiB");
	check_refused(GOOD "    settings: [\"a=${file:secret}${A:-b}\"]\n",
		      "longer than 64 KiB");
	text_fini(&yaml);
}
END_TEST

/* ---- byte order marks ---- */

START_TEST(a_byte_order_mark_of_utf_8_is_not_a_part_of_the_text)
{
	struct text yaml = { 0 };
	char *faults;

	text_adds(&yaml, "\xEF\xBB\xBF" GOOD);
	faults = load(yaml.data, yaml.size);
	ck_assert_str_eq(faults, "");
	free(faults);
	write_file("secret",
		   "\xEF\xBB\xBF"
		   "7\r\n",
		   6);
	text_adds(&yaml, "lanes: ${file:secret}\n");
	faults = load(yaml.data, yaml.size);
	ck_assert_str_eq(faults, "");
	free(faults);
	check_refused("\xEF\xBB\xBF"
		      "bad: 1\n" GOOD,
		      ":1:1: \"bad\"");
	text_fini(&yaml);
}
END_TEST

START_TEST(utf_16_is_refused_by_its_name)
{
	static const struct {
		const char *data;
		size_t size;
	} starts[] = { { "\xFF\xFEk\0a\0", 6 },
		       { "\xFE\xFF\0k\0a", 6 },
		       { "k\0a\0", 4 },
		       { "\0k\0a", 4 } };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		char *faults = load(starts[i].data, starts[i].size);

		ck_assert_ptr_nonnull(strstr(faults, ":1:1: this is UTF-16"));
		free(faults);
	}
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *suite = suite_create("config limits");
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_set_timeout(tests, SECONDS);
	tcase_add_loop_test(tests,
			    a_file_of_1_mib_is_read_in_the_time_of_its_size, 0,
			    COUNT(larges));
	tcase_add_test(tests, fifty_faults_are_shown_and_the_rest_is_counted);
	tcase_add_loop_test(
		tests,
		a_value_comes_from_a_regular_file_and_is_never_waited_for, 0,
		COUNT(not_regular));
	tcase_add_test(
		tests,
		the_files_of_a_value_and_of_all_values_are_bounded_together);
	tcase_add_test(tests,
		       a_byte_order_mark_of_utf_8_is_not_a_part_of_the_text);
	tcase_add_test(tests, utf_16_is_refused_by_its_name);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
