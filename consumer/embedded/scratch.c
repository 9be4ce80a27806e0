/*
 * Who is killed can't clean up, so somebody else must. The keeper is forked
 * with the reading end of a pipe whose writing end only the owner has
 * (close-on-exec, so that no server inherits it), and in a session of its own,
 * so that no signal to a terminal's processes takes it along.
 */
#define _XOPEN_SOURCE 700 /* for nftw() */
#include "scratch.h"

#include "error.h"

#include <errno.h>
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

#define NAME "/onced-XXXXXX"

/* Servers that die with the owner may still write for a moment. */
enum {
	REMOVE_TRIES = 200,
	REMOVE_PAUSE_NS = 50000000
};

static int remove_entry(const char *path, const struct stat *status, int kind,
			struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path) == 0 || errno == ENOENT ? 0 : -1;
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

/* Whoever waits for the end of our output must not wait for the keeper. */
static void let_go_of_files(int leash)
{
	for (int fd = 0; fd < 1024; fd++)
		if (fd != leash)
			close(fd);
}

static void keep(const char *path, int leash)
{
	char byte;

	setsid(); /* the signals that stop us are blocked already */
	let_go_of_files(leash);
	while (read(leash, &byte, 1) < 0 && errno == EINTR)
		;
	remove_tree(path);
	_exit(0);
}

static enum once_status start_keeper(struct scratch *scratch,
				     struct once_error *err)
{
	int ends[2];

	if (pipe(ends) != 0)
		return error_set(err, ONCE_TRANSIENT,
				 "could not make a pipe: %s", strerror(errno));
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	scratch->keeper = fork();
	if (scratch->keeper == 0) {
		close(ends[1]);
		keep(scratch->path, ends[0]);
	}
	close(ends[0]);
	scratch->leash = ends[1];
	if (scratch->keeper > 0)
		return ONCE_OK;
	scratch->keeper = 0;
	close(ends[1]);
	remove_tree(scratch->path);
	return error_set(err, ONCE_TRANSIENT, "could not fork: %s",
			 strerror(errno));
}

static const char *choose_parent(void)
{
	const char *parent = getenv("TMPDIR");

	if (parent == NULL || parent[0] != '/' ||
	    strlen(parent) + sizeof(NAME) > SCRATCH_PATH_SIZE)
		return "/tmp";
	return parent;
}

enum once_status scratch_open(struct scratch *scratch, struct once_error *err)
{
	snprintf(scratch->path, sizeof(scratch->path), "%s" NAME,
		 choose_parent());
	if (mkdtemp(scratch->path) == NULL || chmod(scratch->path, 0711) != 0)
		return error_set(err, ONCE_CONFIG,
				 "could not make the directory \"%s\": %s",
				 scratch->path, strerror(errno));
	return start_keeper(scratch, err);
}

void scratch_close(struct scratch *scratch)
{
	if (scratch->keeper == 0)
		return;
	close(scratch->leash);
	waitpid(scratch->keeper, NULL, 0);
	scratch->keeper = 0;
}
