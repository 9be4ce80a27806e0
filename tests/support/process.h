/*
 * process.h - other programs: start, signal, wait with a deadline, read what
 * they wrote. A program started here dies with the thread that started it.
 */
#ifndef TEST_PROCESS_H
#define TEST_PROCESS_H

#include <once/types.h>
#include <stdbool.h>
#include <sys/types.h>

struct process_options {
	const char *const *argv; /* NULL-terminated; argv[0] searched in PATH */
	const char *const *env;  /* "NAME=value" on top of ours; may be NULL */
	const char *output;      /* file both streams go to; NULL: ours */
	bool append;             /* to that file */
	const char *directory;   /* to start in; NULL: ours */
	uid_t uid;               /* to become, if we are root; 0: stay */
	gid_t gid;
	int death_signal; /* what it gets when we die; 0: SIGKILL */
};

/* All zero: no process. */
struct process {
	pid_t pid; /* 0: none, or ended and waited for */
	int status;
};

enum once_status process_start(struct process *process,
			       const struct process_options *options,
			       struct once_error *err) ONCE_MUST_CHECK;
bool process_is_running(struct process *process);
void process_signal(const struct process *process, int number);
/* True: it has ended, and process_exit_code() says how. */
bool process_wait(struct process *process, int64_t timeout_ms) ONCE_MUST_CHECK;
/* SIGKILL, and wait for its end. Nothing happens if it has ended. */
void process_kill(struct process *process);
/* `number`, then SIGKILL when it hasn't ended in time. False: it had to be. */
bool process_stop(struct process *process, int number, int64_t timeout_ms);
/* Of an ended one; 128 + the number of the signal that ended it. */
int process_exit_code(const struct process *process);

/* Start and wait; -1: it couldn't be started or took too long (and was killed),
 * `err` says which. */
int process_run(const struct process_options *options, int64_t timeout_ms,
		struct once_error *err) ONCE_MUST_CHECK;

/* The whole file, NUL-terminated; NULL: it can't be read. The caller's. */
char *read_file(const char *path) ONCE_MUST_CHECK;

typedef bool condition_f(void *arg);

/* Ask every few milliseconds. False: it didn't come true in time. */
bool wait_until(condition_f *condition, void *arg,
		int64_t timeout_ms) ONCE_MUST_CHECK;

#endif
