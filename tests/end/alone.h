/*
 * alone.h - onced with nothing set up: commands that bring their own servers,
 * in a TMPDIR of the test's own, where nothing may be left behind.
 */
#ifndef TEST_ALONE_H
#define TEST_ALONE_H

#include "process.h"
#include "temp_dir.h"

struct alone {
	struct temp_dir dir;   /* the test's */
	char tmp[PATH_MAX];    /* TMPDIR of the program */
	char output[PATH_MAX]; /* both of its streams */
	struct process process;
};

void alone_init(struct alone *alone);
void alone_fini(struct alone *alone);

/* `argv` as in exec. `env`: one more variable, "NAME=value"; NULL: none. */
void alone_start(struct alone *alone, const char *const *argv, const char *env);
/* Its exit code, once it has ended by itself. */
int alone_wait(struct alone *alone, int64_t timeout_ms);
void alone_wait_for_output(struct alone *alone, const char *text,
			   int64_t timeout_ms);
void alone_check_output(const struct alone *alone, const char *text);

/* No file in its TMPDIR, and no process that was started with a path there.
 * Waits a moment for what is just dying. */
void alone_check_nothing_is_left(struct alone *alone);

#endif
