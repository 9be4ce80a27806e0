/*
 * temp_dir.c - throwaway directories.
 *
 * The idea: a test that crashes can't clean up, so somebody else must. The
 * keeper is forked with the reading end of a pipe whose writing end only the
 * owner has (close-on-exec, so servers don't inherit it), and in a session of
 * its own, so that neither Ctrl-C nor the end of a test's process group takes
 * it along.
 */
#define _XOPEN_SOURCE 700 /* for nftw() */
#include "temp_dir.h"

#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Servers that died with the owner may still write for a moment. */
#define REMOVE_TRIES 200
#define REMOVE_PAUSE_NS 50000000

static int remove_entry(const char *path, const struct stat *status, int kind,
			struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static void remove_tree(const char *path)
{
	const struct timespec pause = { 0, REMOVE_PAUSE_NS };

	for (int try = 0; try < REMOVE_TRIES; try++) {
		nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
		if (access(path, F_OK) != 0)
			return;
		nanosleep(&pause, NULL);
	}
}

static void ignore_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
}

/* Whoever waits for the end of our output must not wait for the keeper. */
static void let_go_of_files(int leash)
{
	long count = sysconf(_SC_OPEN_MAX);

	for (int fd = 0; fd < (count > 1024 ? 1024 : (int)count); fd++) {
		if (fd != leash)
			close(fd);
	}
}

static void keep(const char *path, int leash)
{
	char byte;

	setsid();
	ignore_signals();
	let_go_of_files(leash);
	while (read(leash, &byte, 1) == -1 && errno == EINTR)
		;
	if (getenv("ONCE_TEST_KEEP") == NULL)
		remove_tree(path);
	_exit(0);
}

static enum once_status start_keeper(struct temp_dir *dir,
				     struct once_error *err)
{
	int ends[2];

	if (pipe(ends) == -1)
		return error_set(err, ONCE_TRANSIENT, "could not make a pipe");
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	dir->keeper = fork();
	if (dir->keeper == 0) {
		close(ends[1]);
		keep(dir->path, ends[0]);
	}
	close(ends[0]);
	dir->leash = ends[1];
	if (dir->keeper == -1)
		return error_set(err, ONCE_TRANSIENT, "could not fork");
	return ONCE_OK;
}

enum once_status temp_dir_init(struct temp_dir *dir, struct once_error *err)
{
	const char *parent = getenv("TMPDIR");

	dir->leash = -1;
	dir->keeper = -1;
	if (temp_dir_path(dir->path, parent == NULL ? "/tmp" : parent,
			  "once-test-XXXXXX", err) != ONCE_OK)
		return err->status;
	if (mkdtemp(dir->path) == NULL || chmod(dir->path, 0711) == -1) {
		return error_set(err, ONCE_CONFIG,
				 "could not make the directory \"%s\"",
				 dir->path);
	}
	return start_keeper(dir, err);
}

void temp_dir_fini(struct temp_dir *dir)
{
	if (dir->leash != -1)
		close(dir->leash);
	if (dir->keeper > 0)
		waitpid(dir->keeper, NULL, 0);
	dir->leash = -1;
	dir->keeper = -1;
}

enum once_status temp_dir_path(char path[PATH_MAX], const char *directory,
			       const char *name, struct once_error *err)
{
	int size = snprintf(path, PATH_MAX, "%s/%s", directory, name);

	if (size < 0 || size >= PATH_MAX) {
		return error_set(err, ONCE_INVALID,
				 "the path of \"%s\" is too long", name);
	}
	return ONCE_OK;
}
