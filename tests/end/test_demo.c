/*
 * test_demo.c - `onced demo` says RIGHT only of what is right, and leaves
 * nothing behind, however it ends.
 */
#include "alone.h"
#include "suite.h"

#include <error.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	WHOLE_MS = 150000,
	EVENT_MS = 60000,
	STOP_MS = 20000,
	SECONDS = 300
};

#define KILLED "consumer killed in mid batch"

static void start_demo(struct alone *alone, const char *env)
{
	const char *argv[] = { getenv("ONCE_TEST_ONCED"), "demo", NULL };

	alone_start(alone, argv, env);
}

START_TEST(each_refund_takes_effect_once_in_spite_of_everything)
{
	struct alone alone;

	alone_init(&alone);
	start_demo(&alone, NULL);
	ck_assert_int_eq(alone_wait(&alone, WHOLE_MS), 0);
	alone_check_output(&alone, "applied once                       "
				   "           10,000\n");
	alone_check_output(&alone, "applied twice                      "
				   "                0\n");
	alone_check_output(&alone, "lost                               "
				   "                0\n");
	alone_check_output(&alone, "RIGHT");
	alone_check_nothing_is_left(&alone);
	alone_fini(&alone);
}
END_TEST

static void copy(const char *from, const char *directory, const char *to)
{
	const char *argv[] = { "cp", from, to, NULL };
	const struct process_options options = { .argv = argv,
						 .directory = directory };
	struct once_error err;

	ck_assert_int_eq(process_run(&options, STOP_MS, &err), 0);
}

static void make_directory(const struct alone *alone, const char *name)
{
	char path[PATH_MAX];
	struct once_error err;

	ck_assert(temp_dir_path(path, alone->dir.path, name, &err) == ONCE_OK);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

/* The handler is looked for beside the program. */
START_TEST(a_handler_that_forgets_its_work_is_found_out)
{
	char forgetful[PATH_MAX];
	const char *argv[] = { "bin/onced", "demo", NULL };
	struct alone alone;
	struct once_error err;

	alone_init(&alone);
	make_directory(&alone, "bin");
	make_directory(&alone, "handlers");
	ck_assert(temp_dir_path(forgetful, getenv("ONCE_TEST_HANDLERS"),
				"forgetful.so", &err) == ONCE_OK);
	copy(getenv("ONCE_TEST_ONCED"), alone.dir.path, "bin/onced");
	copy(forgetful, alone.dir.path, "handlers/refund.so");
	alone_start(&alone, argv, NULL);
	ck_assert_int_eq(alone_wait(&alone, WHOLE_MS), 1);
	alone_check_output(&alone, "onced: applied once: 0, and not 10000");
	alone_check_output(&alone, "onced: lost: 10000, and not 0");
	alone_check_output(&alone, "WRONG: see above");
	alone_check_nothing_is_left(&alone);
	alone_fini(&alone);
}
END_TEST

START_TEST(an_interrupted_demo_leaves_nothing_behind)
{
	struct alone alone;

	alone_init(&alone);
	start_demo(&alone, NULL);
	alone_wait_for_output(&alone, KILLED, EVENT_MS);
	process_signal(&alone.process, SIGINT);
	ck_assert_int_eq(alone_wait(&alone, STOP_MS), 1);
	alone_check_output(&alone, "onced: interrupted");
	alone_check_nothing_is_left(&alone);
	alone_fini(&alone);
}
END_TEST

START_TEST(a_demo_that_is_killed_leaves_nothing_behind)
{
	struct alone alone;

	alone_init(&alone);
	start_demo(&alone, NULL);
	alone_wait_for_output(&alone, KILLED, EVENT_MS);
	process_kill(&alone.process);
	alone_check_nothing_is_left(&alone);
	alone_fini(&alone);
}
END_TEST

START_TEST(without_postgresql_it_says_what_to_install)
{
	struct alone alone;

	alone_init(&alone);
	start_demo(&alone, "ONCED_PG_BINDIR=/nowhere");
	ck_assert_int_eq(alone_wait(&alone, STOP_MS), 78);
	alone_check_output(&alone, "could not find PostgreSQL's server "
				   "programs");
	alone_check_nothing_is_left(&alone);
	alone_fini(&alone);
}
END_TEST

static void add(Suite *suite, TCase *tests)
{
	tcase_set_timeout(tests, SECONDS);
	suite_add_tcase(suite, tests);
}

int main(void)
{
	Suite *suite = suite_create("demo");
	TCase *whole = tcase_create("whole");
	TCase *cut = tcase_create("cut");

	add(suite, whole);
	add(suite, cut);
	tcase_add_test(whole,
		       each_refund_takes_effect_once_in_spite_of_everything);
	tcase_add_test(whole, a_handler_that_forgets_its_work_is_found_out);
	tcase_add_test(cut, an_interrupted_demo_leaves_nothing_behind);
	tcase_add_test(cut, a_demo_that_is_killed_leaves_nothing_behind);
	tcase_add_test(cut, without_postgresql_it_says_what_to_install);
	return suite_run(suite);
}
