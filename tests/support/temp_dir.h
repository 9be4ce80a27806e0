/*
 * temp_dir.h - a throwaway directory that is gone when its owner is, however
 * that one ends: a small process of its own holds the other end of a pipe,
 * and removes the directory when the pipe closes. With ONCE_TEST_KEEP set,
 * directories stay, for looking into them.
 */
#ifndef TEST_TEMP_DIR_H
#define TEST_TEMP_DIR_H

#include <limits.h>
#include <once/types.h>
#include <sys/types.h>

struct temp_dir {
	char path[PATH_MAX]; /* others may pass through it, not list it */
	int leash;           /* closed: the directory goes */
	pid_t keeper;
};

enum once_status temp_dir_init(struct temp_dir *dir,
			       struct once_error *err) ONCE_MUST_CHECK;
/* Returns when it is removed. Only the process that made it may. */
void temp_dir_fini(struct temp_dir *dir);

/* "`directory`/`name`" into `path`; INVALID: it is too long. */
enum once_status temp_dir_path(char path[PATH_MAX], const char *directory,
			       const char *name,
			       struct once_error *err) ONCE_MUST_CHECK;

#endif
