/*
 * Nothing that we start may outlive us. A child asks the kernel for a signal at
 * our death: after it changed its user, which clears that wish, and before
 * exec. It leads a session of its own, so that Ctrl-C reaches it only through
 * us. Other threads may be running when we fork: up to exec only calls that are
 * safe then.
 */
#include "child.h"

#include "clock.h"
#include "error.h"
#include "stop_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	EXEC_FAILED = 127,
	LOOK_EVERY_MS = 10
};

static void give_up(const char *what)
{
	const char *why = strerror(errno);

	if (write(2, what, strlen(what)) > 0 && write(2, ": ", 2) > 0 &&
	    write(2, why, strlen(why)) > 0 && write(2, "\n", 1) > 0)
		_exit(EXEC_FAILED);
	_exit(EXEC_FAILED);
}

static void write_to(const char *path)
{
	int null = open("/dev/null", O_RDONLY);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);

	if (null < 0 || fd < 0 || dup2(null, 0) < 0 || dup2(fd, 1) < 0 ||
	    dup2(fd, 2) < 0)
		give_up(path);
	close(null);
	close(fd);
}

static void become(uid_t uid, gid_t gid)
{
	if (uid == 0 || geteuid() != 0)
		return;
	if (setgroups(0, NULL) != 0 || setgid(gid) != 0 || setuid(uid) != 0)
		give_up("could not change the user");
}

static void unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
}

static void become_program(const struct child_options *options, pid_t parent)
{
	setsid();
	unblock_signals();
	write_to(options->output);
	/* Not every user may be where we are. */
	if (options->uid != 0 && chdir("/") != 0)
		give_up("/");
	become(options->uid, options->gid);
	prctl(PR_SET_PDEATHSIG, options->death_signal);
	if (getppid() != parent)
		_exit(EXEC_FAILED);
	/* exec doesn't change its arguments; its type can't say so. */
	execv(options->argv[0], (char **)(uintptr_t)options->argv);
	give_up(options->argv[0]);
}

enum once_status child_start(struct child *child,
			     const struct child_options *options,
			     struct once_error *err)
{
	pid_t parent = getpid();

	child->status = 0;
	child->pid = fork();
	if (child->pid == 0)
		become_program(options, parent);
	if (child->pid > 0)
		return ONCE_OK;
	child->pid = 0;
	return error_set(err, ONCE_TRANSIENT, "could not start \"%s\": %s",
			 options->argv[0], strerror(errno));
}

bool child_is_running(struct child *child)
{
	if (child->pid == 0)
		return false;
	if (waitpid(child->pid, &child->status, WNOHANG) == 0)
		return true;
	child->pid = 0;
	return false;
}

void child_signal(const struct child *child, int number)
{
	if (child->pid > 0)
		kill(child->pid, number);
}

void child_stop(struct child *child, int number, int64_t timeout_ms)
{
	int64_t end_ms = clock_ms() + timeout_ms;

	child_signal(child, number);
	while (child_is_running(child) && clock_ms() < end_ms)
		stop_signal_sleep(LOOK_EVERY_MS);
	if (child->pid == 0)
		return;
	kill(child->pid, SIGKILL);
	waitpid(child->pid, &child->status, 0);
	child->pid = 0;
}

int child_exit_code(const struct child *child)
{
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}

enum once_status child_run(const struct child_options *options,
			   int64_t timeout_ms, struct once_error *err)
{
	int64_t end_ms = clock_ms() + timeout_ms;
	struct child child;
	enum once_status status = child_start(&child, options, err);

	if (status != ONCE_OK)
		return status;
	while (child_is_running(&child) && clock_ms() < end_ms &&
	       stop_signal_sleep(LOOK_EVERY_MS))
		;
	child_stop(&child, SIGTERM, 1000);
	if (child_exit_code(&child) == 0)
		return ONCE_OK;
	if (stop_signal_is_pending())
		return error_set(err, ONCE_TRANSIENT, "interrupted");
	error_set(err, ONCE_TRANSIENT, "\"%s\" failed", options->argv[0]);
	child_add_last_line(err, options->output);
	return ONCE_TRANSIENT;
}

void child_add_last_line(struct once_error *err, const char *path)
{
	FILE *file = fopen(path, "re");
	size_t size = strlen(err->text);
	char line[300];
	char last[300] = "";

	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL)
		if (line[0] != '\n')
			memcpy(last, line, sizeof(last));
	fclose(file);
	last[strcspn(last, "\n")] = '\0';
	if (last[0] != '\0')
		snprintf(err->text + size, sizeof(err->text) - size, ": %s",
			 last);
}
