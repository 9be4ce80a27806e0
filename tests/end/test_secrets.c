/*
 * test_secrets.c - a password in the wrong place of a conninfo, a URL or a list
 * of brokers is refused at once, and shown by no command, log or page.
 */
#include "onced_fixture.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 20000
};

static const struct onced_options malformed[] = {
	{ .conninfo = "postgresql://u:a@SECRET@127.0.0.1/db" },
	{ .conninfo = "postgresql://u:SECRET/x@127.0.0.1/db" },
	{ .conninfo = "postgresql://u:1/SECRET@127.0.0.1/db" },
	{ .conninfo = "postgresql://u:a@127.0.0.1:SECRET/db" },
	{ .conninfo = "postgresql://u@127.0.0.1/db?sslmode=SECRET" },
	{ .conninfo = "host=127.0.0.1 port=SECRET" },
	{ .conninfo = "host=127.0.0.1 pasword=SECRET" },
	{ .conninfo = "host=127.0.0.1 password=a SECRET" },
	{ .brokers = "u:SECRET@127.0.0.1:9092" },
	{ .brokers = "SECRET@127.0.0.1:9092" },
	{ .prefilter = "  redis:\n    url: Redis://:SECRET@127.0.0.1/0?x=1\n" },
	{ .prefilter = "  redis:\n    url: redis://u:SECRET/x@127.0.0.1/0\n" },
};

static const char *const commands[][4] = {
	{ "check", NULL },
	{ "migrate", NULL },
	{ "status", NULL },
	{ "status", "--json", NULL },
	{ "gc", "--dry-run", NULL },
	{ "parked", "list", NULL },
	{ "keys", NULL },
	{ "top", "--once", NULL },
};

static void check_file(const char *path, const char *what)
{
	char *text = read_file(path);

	ck_assert_msg(text == NULL || strstr(text, "SECRET") == NULL,
		      "%s shows it:\n%s", what, text);
	free(text);
}

static void check_command(struct onced *onced, const char *const *words)
{
	const char *arguments[6] = { NULL };
	size_t count = 0;

	for (; words[count] != NULL; count++)
		arguments[count] = words[count];
	arguments[count++] = "-c";
	arguments[count] = onced->config;
	(void)onced_call(onced, arguments);
	check_file(onced->output, words[0]);
}

START_TEST(a_password_in_a_wrong_place_is_refused_and_never_shown)
{
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		onced_init(&onced, &fixture, &malformed[i]);
		for (size_t j = 0; j < sizeof(commands) / sizeof(commands[0]);
		     j++)
			check_command(&onced, commands[j]);
		onced_start(&onced, NULL);
		ck_assert_int_eq(onced_wait(&onced, WAIT_MS), 78);
		check_file(onced.log, "run");
	}
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("secrets");
	TCase *tests = tcase_create("all");

	tcase_add_test(tests,
		       a_password_in_a_wrong_place_is_refused_and_never_shown);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
