/*
 * server_keeper.c - a shared server for one run of ctest.
 *
 * The idea: ctest can be killed, and then runs no clean-up. So each server is
 * the child of a keeper, which watches ctest through a pidfd and takes the
 * server down when ctest is gone; and should the keeper be killed, the kernel
 * signals the server (process.c) and the directory's own keeper removes it
 * (temp_dir.c). The lock on a file beside the state file is held for as long as
 * the keeper lives: who can take it knows that nobody is there.
 */
#include "server_keeper.h"

#include "any_server.h"

#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <poll.h>
#include <scope.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_MS 60000
#define LOG_TAIL 400

struct keeper {
	enum server_kind kind;
	pid_t owner;
	int lock;
	int report; /* pipe: the struct once_error of the start goes through */
	char state[PATH_MAX];
};

static bool can_lock(void *arg)
{
	const int *fd = arg;

	return flock(*fd, LOCK_EX | LOCK_NB) == 0;
}

static int open_lock(const char *state)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s.lock", state);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

static enum once_status write_state(const struct keeper *keeper,
				    const struct any_server *server,
				    struct once_error *err)
{
	char path[PATH_MAX + 8];
	FILE *file;

	snprintf(path, sizeof(path), "%s.new", keeper->state);
	file = fopen(path, "we");
	if (file == NULL) {
		return error_set(err, ONCE_CONFIG, "could not write \"%s\"",
				 path);
	}
	fprintf(file, "address=%s\nlog=%s\nserver=%d\nkeeper=%d\n",
		server->address, server->log, (int)server->process->pid,
		(int)getpid());
	fclose(file);
	if (rename(path, keeper->state) == -1) {
		return error_set(err, ONCE_CONFIG, "could not write \"%s\"",
				 keeper->state);
	}
	return ONCE_OK;
}

/* The log goes with its directory: what it ends with is worth keeping. */
static void add_end_of_log(const char *log, struct once_error *err)
{
	scoped_free char *text = read_file(log);
	size_t size = text == NULL ? 0 : strlen(text);
	size_t used = strlen(err->text);

	if (size == 0)
		return;
	snprintf(err->text + used, sizeof(err->text) - used, "\n%s",
		 text + (size > LOG_TAIL ? size - LOG_TAIL : 0));
}

static void report(struct keeper *keeper, const struct once_error *err)
{
	/* If nobody reads, the owner is gone, and that is noticed later. */
	if (write(keeper->report, err, sizeof(*err)) == -1)
		keeper->owner = 1;
	close(keeper->report);
}

static int open_signals(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	return signalfd(-1, &mask, SFD_CLOEXEC);
}

/* A kernel without pidfds gives -1, which poll() passes over: only a signal
 * ends the wait there. */
static void wait_for_end(pid_t owner, int signals)
{
	struct pollfd fds[] = { { signals, POLLIN, 0 },
				{ pidfd_open(owner, 0), POLLIN, 0 } };

	if (fds[1].fd == -1 && errno == ESRCH)
		return;
	while (poll(fds, 2, -1) == -1 && errno == EINTR)
		;
}

static enum once_status bring_up(struct keeper *keeper,
				 struct any_server *server,
				 struct once_error *err)
{
	if (any_server_create(server, keeper->kind, err) != ONCE_OK) {
		add_end_of_log(server->log, err);
		return err->status;
	}
	return write_state(keeper, server, err);
}

static void keep_server(struct keeper *keeper)
{
	struct any_server server = { 0 };
	struct once_error err = { 0 };
	int signals = open_signals();

	if (bring_up(keeper, &server, &err) == ONCE_OK) {
		report(keeper, &err);
		wait_for_end(keeper->owner, signals);
		any_server_destroy(&server);
	} else {
		any_server_destroy(&server);
		report(keeper, &err);
	}
	unlink(keeper->state);
}

/* ctest waits for the end of what its tests print: give its pipe back. */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (null > 2)
		close(null);
	signal(SIGPIPE, SIG_IGN);
}

static void fork_keeper(struct keeper *keeper, int *ret_reading_end)
{
	int ends[2];

	*ret_reading_end = -1;
	if (pipe(ends) == -1)
		return;
	keeper->report = ends[1];
	if (fork() == 0) {
		close(ends[0]);
		fcntl(ends[1], F_SETFD, FD_CLOEXEC);
		leave_terminal();
		keep_server(keeper);
		_exit(0);
	}
	close(ends[1]);
	*ret_reading_end = ends[0];
}

static enum once_status start_and_hear(struct keeper *keeper,
				       struct once_error *err)
{
	int fd;
	ssize_t size;

	fork_keeper(keeper, &fd);
	do {
		size = read(fd, err, sizeof(*err));
	} while (size == -1 && errno == EINTR);
	close(fd);
	if (size != (ssize_t)sizeof(*err))
		return error_set(err, ONCE_BUG, "the server's keeper died");
	return err->status;
}

enum once_status server_keeper_start(enum server_kind kind,
				     const char *directory, pid_t owner,
				     struct once_error *err)
{
	struct keeper keeper = { .kind = kind, .owner = owner };
	enum once_status status;

	mkdir(directory, 0755);
	if (servers_state_path(keeper.state, directory, kind, err) != ONCE_OK)
		return err->status;
	keeper.lock = open_lock(keeper.state);
	if (!wait_until(can_lock, &keeper.lock, LOCK_MS)) {
		close(keeper.lock);
		return error_set(err, ONCE_TRANSIENT,
				 "another run has its servers in \"%s\"",
				 directory);
	}
	status = start_and_hear(&keeper, err);
	close(keeper.lock); /* the keeper has it, too */
	return status;
}

enum once_status server_keeper_stop(enum server_kind kind,
				    const char *directory,
				    struct once_error *err)
{
	scoped_free char *pid = NULL;
	char state[PATH_MAX];
	bool is_gone;
	int lock;

	if (servers_state_path(state, directory, kind, err) != ONCE_OK)
		return err->status;
	lock = open_lock(state);
	if (lock == -1)
		return ONCE_OK;
	pid = servers_read_state(state, "keeper");
	if (!can_lock(&lock) && pid != NULL)
		kill((pid_t)strtol(pid, NULL, 10), SIGTERM);
	is_gone = wait_until(can_lock, &lock, LOCK_MS);
	close(lock);
	if (is_gone)
		return ONCE_OK;
	return error_set(err, ONCE_TRANSIENT, "%s could not be stopped",
			 server_names[kind].name);
}
