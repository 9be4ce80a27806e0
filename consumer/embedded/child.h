/*
 * child.h - other programs: the private PostgreSQL, the consumer that the demo
 * kills.
 *
 * Threads: main, which must outlive them: the kernel signals a child when the
 * thread that started it ends.
 */
#ifndef ONCED_CHILD_H
#define ONCED_CHILD_H

#include <once/types.h>
#include <stdbool.h>
#include <sys/types.h>

struct child_options {
	const char *const *argv; /* NULL-terminated; argv[0] is a path */
	const char *output;      /* both streams are appended to this file */
	uid_t uid;               /* to become, if we are root; 0: stay */
	gid_t gid;
	int death_signal; /* what it gets when we are gone */
};

/* All zero: none. */
struct child {
	pid_t pid; /* 0: none, or ended and waited for */
	int status;
};

enum once_status child_start(struct child *child,
			     const struct child_options *options,
			     struct once_error *err) ONCE_MUST_CHECK;
bool child_is_running(struct child *child);
void child_signal(const struct child *child, int number);
/* Signal it and wait; SIGKILL when it takes longer than `timeout_ms`. */
void child_stop(struct child *child, int number, int64_t timeout_ms);
/* Of an ended one; 128 + the number of the signal that ended it. */
int child_exit_code(const struct child *child);

/* Start and wait for its end, with exit code 0. TRANSIENT: it failed, took too
 * long, or we were told to stop; `err` has the last line that it wrote. */
enum once_status child_run(const struct child_options *options,
			   int64_t timeout_ms,
			   struct once_error *err) ONCE_MUST_CHECK;

/* The last line of `path` into `err`, behind ": ". */
void child_add_last_line(struct once_error *err, const char *path);

#endif
