/*
 * process.c - other programs.
 *
 * The idea: nothing that a test starts may outlive it. The child asks the
 * kernel for a signal at its parent's death, after it has changed its user
 * (that clears the wish) and before exec. It leads a session of its own, so
 * that Ctrl-C reaches it only through us.
 */
#include "process.h"

#include <clock.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <grp.h>
#include <scope.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 5000000
#define EXEC_FAILED 127

static void give_up(const char *what)
{
	perror(what);
	_exit(EXEC_FAILED);
}

static void become(uid_t uid, gid_t gid)
{
	if (uid == 0 || geteuid() != 0)
		return;
	if (setgroups(0, NULL) == -1 || setgid(gid) == -1 || setuid(uid) == -1)
		give_up("could not change the user");
}

static void die_with(pid_t parent, int number)
{
	prctl(PR_SET_PDEATHSIG, number == 0 ? SIGKILL : number);
	if (getppid() != parent)
		_exit(EXEC_FAILED);
}

static void write_to(const char *path, bool append)
{
	int flags = O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC);
	int null = open("/dev/null", O_RDONLY);
	int fd = open(path, flags, 0644);

	if (null == -1 || fd == -1)
		give_up(path);
	if (dup2(null, 0) == -1 || dup2(fd, 1) == -1 || dup2(fd, 2) == -1)
		give_up(path);
	close(null);
	close(fd);
}

static void add_to_environment(const char *const *env)
{
	for (; env != NULL && *env != NULL; env++) {
		const char *equals = strchr(*env, '=');
		char name[128];

		if (equals == NULL || equals - *env >= (int)sizeof(name))
			give_up(*env);
		snprintf(name, sizeof(name), "%.*s", (int)(equals - *env),
			 *env);
		setenv(name, equals + 1, 1);
	}
}

static void unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

static void become_program(const struct process_options *options, pid_t parent)
{
	setsid();
	unblock_signals();
	if (options->output != NULL)
		write_to(options->output, options->append);
	if (options->directory != NULL && chdir(options->directory) == -1)
		give_up(options->directory);
	add_to_environment(options->env);
	become(options->uid, options->gid);
	die_with(parent, options->death_signal);
	/* exec promises not to change its arguments; its type can't say so. */
	execvp(options->argv[0], (char **)(uintptr_t)options->argv);
	give_up(options->argv[0]);
}

enum once_status process_start(struct process *process,
			       const struct process_options *options,
			       struct once_error *err)
{
	pid_t parent = getpid();

	process->status = 0;
	process->pid = fork();
	if (process->pid == 0)
		become_program(options, parent);
	if (process->pid == -1) {
		process->pid = 0;
		return error_set(err, ONCE_TRANSIENT,
				 "could not start \"%s\": fork failed",
				 options->argv[0]);
	}
	return ONCE_OK;
}

bool process_is_running(struct process *process)
{
	if (process->pid == 0)
		return false;
	if (waitpid(process->pid, &process->status, WNOHANG) == 0)
		return true;
	process->pid = 0;
	return false;
}

void process_signal(const struct process *process, int number)
{
	if (process->pid > 0)
		kill(process->pid, number);
}

static bool has_ended(void *arg)
{
	return !process_is_running(arg);
}

bool process_wait(struct process *process, int64_t timeout_ms)
{
	return wait_until(has_ended, process, timeout_ms);
}

void process_kill(struct process *process)
{
	if (process->pid <= 0)
		return;
	kill(process->pid, SIGKILL);
	waitpid(process->pid, &process->status, 0);
	process->pid = 0;
}

bool process_stop(struct process *process, int number, int64_t timeout_ms)
{
	process_signal(process, number);
	if (process_wait(process, timeout_ms))
		return true;
	process_kill(process);
	return false;
}

int process_exit_code(const struct process *process)
{
	if (WIFSIGNALED(process->status))
		return 128 + WTERMSIG(process->status);
	return WEXITSTATUS(process->status);
}

int process_run(const struct process_options *options, int64_t timeout_ms,
		struct once_error *err)
{
	struct process process = { 0 };

	if (process_start(&process, options, err) != ONCE_OK)
		return -1;
	if (!process_wait(&process, timeout_ms)) {
		process_kill(&process);
		error_set(err, ONCE_TRANSIENT,
			  "\"%s\" took longer than %lld ms", options->argv[0],
			  (long long)timeout_ms);
		return -1;
	}
	return process_exit_code(&process);
}

char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (file == NULL)
		return NULL;
	/* No file holds the delimiter 0 byte that getdelim stops at, or the
	 * text is good up to there. */
	if (getdelim(&text, &size, '\0', file) == -1) {
		free(text);
		text = ferror(file) ? NULL : strdup("");
	}
	fclose(file);
	return text;
}

bool wait_until(condition_f *condition, void *arg, int64_t timeout_ms)
{
	const struct timespec pause = { 0, POLL_NS };
	int64_t deadline_ms = clock_ms() + timeout_ms;

	while (!condition(arg)) {
		if (clock_ms() >= deadline_ms)
			return condition(arg);
		nanosleep(&pause, NULL);
	}
	return true;
}
