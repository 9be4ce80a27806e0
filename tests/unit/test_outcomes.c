/* test_outcomes.c - the one table of how a message ends, and the page of it. */
#include "outcome.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *name;
	enum once_ending ending;
	enum once_cause cause;
	const char *who;
	const char *when;
	const char *committed;
	const char *counted;
};

static const struct row rows[] = {
#define X(name, ending, cause, who, when, committed, counted) \
	{ #name, \
	  ONCE_##ending##_ENDING, \
	  ONCE_CAUSE_##cause, \
	  who, \
	  when, \
	  committed, \
	  counted },
	ONCE__OUTCOME_TABLE(X)
#undef X
};

enum {
	COUNT_ROWS = sizeof(rows) / sizeof(rows[0])
};

static char *read_file(const char *name)
{
	char path[512];
	char *text = calloc(1, 1 << 20);
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", getenv("ONCE_TEST_SOURCE"), name);
	file = fopen(path, "r");
	ck_assert_msg(file != NULL && text != NULL, "could not read %s", path);
	ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, file), 0);
	fclose(file);
	return text;
}

static void print_table(FILE *out)
{
	fprintf(out, "| ending | cause | when | committed | counted | decided "
		     "in |\n| --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < COUNT_ROWS; i++)
		fprintf(out, "| %s | %s | %s | %s | %s | `%s()` |\n",
			once_ending_word(rows[i].ending),
			once_cause_word(rows[i].cause), rows[i].when,
			rows[i].committed, rows[i].counted, rows[i].who);
}

START_TEST(the_page_of_reliability_has_the_table_as_the_code_has_it)
{
	char *page = read_file("docs/reliability.md");
	char *table = NULL;
	size_t size;
	FILE *out = open_memstream(&table, &size);

	ck_assert_ptr_nonnull(out);
	print_table(out);
	fclose(out);
	ck_assert_msg(strstr(page, table) != NULL,
		      "put this into docs/reliability.md:\n%s", table);
	free(table);
	free(page);
}
END_TEST

/* Who decides is a function that names its row; nobody else does. */
START_TEST(each_row_is_named_by_the_function_that_decides_it)
{
	static const char *const files[] = { "lib/src/batch.c",
					     "lib/src/batch_brake.c",
					     "lib/src/batch_handle.c",
					     "lib/src/batch_make.c",
					     "lib/src/batch_try.c",
					     "lib/src/call.c" };
	char name[64];
	char who[64];
	int deciders = 0;
	int namers = 0;

	snprintf(name, sizeof(name), "ONCE__OUTCOME_%s", rows[_i].name);
	snprintf(who, sizeof(who), "%s(", rows[_i].who);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *source = read_file(files[i]);

		deciders += strstr(source, who) != NULL;
		namers += strstr(source, name) != NULL;
		free(source);
	}
	ck_assert_msg(deciders == 1, "no function %s)", who);
	ck_assert_msg(namers == 1, "%s is named in %d files", name, namers);
}
END_TEST

START_TEST(each_cause_has_a_row)
{
	bool found = false;

	for (size_t i = 0; i < COUNT_ROWS; i++)
		found = found || rows[i].cause == (enum once_cause)_i;
	ck_assert_msg(found, "%s", once_cause_word((enum once_cause)_i));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("outcomes");
	TCase *tests = tcase_create("all");
	int causes = 0;

#define X(name, word) causes++;
	ONCE_CAUSE_TABLE(X)
#undef X
	tcase_add_test(
		tests,
		the_page_of_reliability_has_the_table_as_the_code_has_it);
	tcase_add_loop_test(tests,
			    each_row_is_named_by_the_function_that_decides_it,
			    0, COUNT_ROWS);
	tcase_add_loop_test(tests, each_cause_has_a_row, 0, causes);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
