/* Whatever belongs to a run names a path in its TMPDIR. */
#include "alone.h"

#include <check.h>
#include <dirent.h>
#include <scope.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	GONE_MS = 10000
};

void alone_init(struct alone *alone)
{
	struct once_error err;

	memset(alone, 0, sizeof(*alone));
	ck_assert(temp_dir_init(&alone->dir, &err) == ONCE_OK);
	ck_assert(temp_dir_path(alone->tmp, alone->dir.path, "tmp", &err) ==
		  ONCE_OK);
	ck_assert(temp_dir_path(alone->output, alone->dir.path, "output",
				&err) == ONCE_OK);
	/* Its PostgreSQL may run as somebody else. */
	ck_assert_int_eq(mkdir(alone->tmp, 0711), 0);
}

void alone_fini(struct alone *alone)
{
	process_kill(&alone->process);
	temp_dir_fini(&alone->dir);
}

void alone_start(struct alone *alone, const char *const *argv, const char *env)
{
	char tmp[PATH_MAX + 8];
	const char *variables[] = { tmp, env, NULL };
	const struct process_options options = { .argv = argv,
						 .env = variables,
						 .output = alone->output,
						 .directory = alone->dir.path };
	struct once_error err;

	snprintf(tmp, sizeof(tmp), "TMPDIR=%s", alone->tmp);
	ck_assert_ptr_nonnull(argv[0]);
	ck_assert(process_start(&alone->process, &options, &err) == ONCE_OK);
}

static void show_output(const struct alone *alone)
{
	scoped_free char *output = read_file(alone->output);

	fprintf(stderr, "---- its output:\n%s\n", output == NULL ? "" : output);
}

int alone_wait(struct alone *alone, int64_t timeout_ms)
{
	if (process_wait(&alone->process, timeout_ms))
		return process_exit_code(&alone->process);
	show_output(alone);
	ck_abort_msg("it hasn't ended");
	return -1;
}

struct expectation {
	struct alone *alone;
	const char *text;
};

static bool has_written(const struct alone *alone, const char *text)
{
	scoped_free char *output = read_file(alone->output);

	return output != NULL && strstr(output, text) != NULL;
}

static bool has_written_or_ended(void *arg)
{
	const struct expectation *expectation = arg;

	return has_written(expectation->alone, expectation->text) ||
	       !process_is_running(&expectation->alone->process);
}

void alone_wait_for_output(struct alone *alone, const char *text,
			   int64_t timeout_ms)
{
	struct expectation expectation = { alone, text };

	ck_assert(wait_until(has_written_or_ended, &expectation, timeout_ms));
	alone_check_output(alone, text);
}

void alone_check_output(const struct alone *alone, const char *text)
{
	if (has_written(alone, text))
		return;
	show_output(alone);
	ck_abort_msg("it hasn't written \"%s\"", text);
}

/* ---- what is left ---- */

static int count_files(const char *path)
{
	DIR *dir = opendir(path);
	int count = -2; /* . and .. */

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

static bool process_names(const char *pid, const char *path)
{
	char name[300];
	char line[4096];
	size_t size;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%s/cmdline", pid);
	file = fopen(name, "re");
	if (file == NULL)
		return false;
	size = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	for (size_t i = 0; i < size; i++)
		line[i] = line[i] == '\0' ? ' ' : line[i];
	line[size] = '\0';
	return strstr(line, path) != NULL;
}

static int count_processes(const char *path)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL)
		count += process_names(entry->d_name, path);
	closedir(dir);
	return count;
}

static bool nothing_is_left(void *arg)
{
	const struct alone *alone = arg;

	return count_files(alone->tmp) == 0 && count_processes(alone->tmp) == 0;
}

void alone_check_nothing_is_left(struct alone *alone)
{
	ck_assert(wait_until(nothing_is_left, alone, GONE_MS));
}
