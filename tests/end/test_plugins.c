/*
 * test_plugins.c - whatever is named as a plugin: a sentence and an exit code,
 * never a crash, and before the group is joined.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 30000
};

struct plugins {
	struct onced_fixture fixture;
	struct onced onced;
};

static void init(struct plugins *plugins, const char *plugin)
{
	struct onced_options options = { .plugin = plugin };

	onced_fixture_init(&plugins->fixture, 1);
	onced_init(&plugins->onced, &plugins->fixture, &options);
}

static void check_refused(struct plugins *plugins, const char *sentence)
{
	ck_assert_int_eq(onced_command(&plugins->onced, "check", NULL), 78);
	onced_check_output(&plugins->onced, sentence);
	onced_check_output(&plugins->onced, "handler \"effect\"");
}

/* `run` refuses, too, and has joined nothing. */
static void check_not_run(struct plugins *plugins)
{
	onced_start(&plugins->onced, NULL);
	ck_assert_int_eq(onced_wait(&plugins->onced, WAIT_MS), 78);
	ck_assert(!onced_has_logged(&plugins->onced, "assigned"));
}

static void fini(struct plugins *plugins)
{
	onced_fixture_fini(&plugins->fixture);
}

/* clang-format off */
static const struct {
	const char *plugin;
	const char *sentence;
} refused[] = {
	{ "no_symbol",     "defines no once_handler" },
	{ "next_abi",      "ABI" },
	{ "smaller",       "handle" },
	{ "refusing",      "refused to open: there is no setting \"moon\"" },
};
/* clang-format on */

enum {
	COUNT_REFUSED = sizeof(refused) / sizeof(refused[0])
};

/* C81 */
START_TEST(a_plugin_that_is_no_handler_is_refused_with_a_sentence)
{
	struct plugins plugins;

	init(&plugins, refused[_i].plugin);
	check_refused(&plugins, refused[_i].sentence);
	check_not_run(&plugins);
	fini(&plugins);
}
END_TEST

/* Its own default would be in effect, and nobody would know. */
START_TEST(a_setting_that_the_handler_does_not_have_is_refused)
{
	struct onced_options options = { .settings = "dealy_ms=5" };
	struct plugins plugins;

	init(&plugins, NULL);
	onced_init(&plugins.onced, &plugins.fixture, &options);
	check_refused(&plugins, "it has no setting \"dealy_ms\"; did you mean "
				"\"delay_ms\"?");
	check_not_run(&plugins);
	ck_assert(onced_has_logged(&plugins.onced, "no setting"));
	options.settings = "moon=full";
	onced_init(&plugins.onced, &plugins.fixture, &options);
	check_refused(&plugins, "it has no setting \"moon\"; it asks for "
				"\"directory\", \"delay_ms\"");
	fini(&plugins);
}
END_TEST

/* C82 */
START_TEST(a_plugin_that_kills_its_process_is_survived_by_check)
{
	struct plugins plugins;

	init(&plugins, "aborting");
	check_refused(&plugins, "killed its process");
	onced_check_output(&plugins.onced, "database  good");
	fini(&plugins);
}
END_TEST

static void write_file(struct plugins *plugins, const char *data, size_t size)
{
	char path[PATH_MAX];
	FILE *file;
	struct onced_options options = { .plugin = path };
	struct once_error err;

	ck_assert(temp_dir_path(path, plugins->fixture.dir.path, "made.so",
				&err) == ONCE_OK);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, size, file), size);
	fclose(file);
	onced_init(&plugins->onced, &plugins->fixture, &options);
}

/* C81 */
START_TEST(a_text_file_is_refused_as_a_plugin)
{
	static const char text[] = "handle every message once\n";
	struct plugins plugins;

	init(&plugins, NULL);
	write_file(&plugins, text, sizeof(text) - 1);
	check_refused(&plugins, "could not load plugin");
	check_not_run(&plugins);
	fini(&plugins);
}
END_TEST

/* C81: the head of an ELF file for a machine that this one isn't. */
START_TEST(a_plugin_for_another_architecture_is_refused)
{
	union {
		Elf64_Ehdr head;
		char bytes[4096];
	} file = { 0 };
	struct plugins plugins;

	memcpy(file.head.e_ident, ELFMAG, SELFMAG);
	file.head.e_ident[EI_CLASS] = ELFCLASS64;
	file.head.e_ident[EI_DATA] = ELFDATA2LSB;
	file.head.e_ident[EI_VERSION] = EV_CURRENT;
	file.head.e_type = ET_DYN;
	file.head.e_machine = EM_S390;
	file.head.e_version = EV_CURRENT;
	file.head.e_ehsize = sizeof(file.head);
	init(&plugins, NULL);
	write_file(&plugins, file.bytes, sizeof(file.bytes));
	check_refused(&plugins, "could not load plugin");
	check_not_run(&plugins);
	fini(&plugins);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plugins");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_loop_test(
		tests, a_plugin_that_is_no_handler_is_refused_with_a_sentence,
		0, COUNT_REFUSED);
	tcase_add_test(tests,
		       a_setting_that_the_handler_does_not_have_is_refused);
	tcase_add_test(tests,
		       a_plugin_that_kills_its_process_is_survived_by_check);
	tcase_add_test(tests, a_text_file_is_refused_as_a_plugin);
	tcase_add_test(tests, a_plugin_for_another_architecture_is_refused);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
