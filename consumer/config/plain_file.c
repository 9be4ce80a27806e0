/*
 * To open a pipe waits for somebody who writes; so it is opened without
 * waiting, looked at, and only then made what it usually is.
 *
 * Who may write a plugin, or the file that names it, decides what runs here. A
 * group whose number is that of the owner is the owner's own, as many systems
 * set up their users; a folder with the sticky bit keeps others' files; and
 * where nothing can be written, nobody can.
 */
#include "plain_file.h"

#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return "directory";
	if (S_ISFIFO(mode))
		return "pipe";
	if (S_ISSOCK(mode))
		return "socket";
	return "device";
}

static bool is_open_already(const char *path)
{
	static const char *const prefixes[] = { "/dev/stdin", "/dev/fd/",
						"/proc/self/fd/" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static enum once_status check_kind(const char *path, int fd,
				   struct once_error *err)
{
	struct stat found;

	if (fstat(fd, &found) != 0)
		return error_set(err, ONCE_CONFIG, "%s", strerror(errno));
	if (S_ISREG(found.st_mode) ||
	    (is_open_already(path) && S_ISFIFO(found.st_mode)))
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG, "is a %s, not a file",
			 kind_of(found.st_mode));
}

FILE *plain_file_open(const char *path, struct once_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	FILE *file = NULL;
	struct stat found;

	if (fd < 0 && errno == ENXIO && stat(path, &found) == 0)
		error_set(err, ONCE_CONFIG, "is a %s, not a file",
			  kind_of(found.st_mode));
	else if (fd < 0)
		error_set(err, ONCE_CONFIG, "%s", strerror(errno));
	else if (check_kind(path, fd, err) == ONCE_OK &&
		 (fcntl(fd, F_SETFL, O_RDONLY) != 0 ||
		  (file = fdopen(fd, "r")) == NULL))
		error_set(err, ONCE_CONFIG, "%s", strerror(errno));
	if (file == NULL && fd >= 0)
		close(fd);
	return file;
}

/* ---- who may write it ---- */

static bool can_be_written(const char *path, const struct stat *found)
{
	struct statvfs disk;

	if (S_ISDIR(found->st_mode) && (found->st_mode & S_ISVTX) != 0)
		return false;
	return statvfs(path, &disk) != 0 || (disk.f_flag & ST_RDONLY) == 0;
}

/* Where the file is: "." for a bare name. */
static void find_folder(const char *path, char *folder, size_t size)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		snprintf(folder, size, ".");
	else
		snprintf(folder, size, "%.*s",
			 slash == path ? 1 : (int)(slash - path), path);
}

static enum once_status judge(const char *path, const struct stat *found,
			      struct once_error *err)
{
	const char *what = S_ISDIR(found->st_mode) ? "folder" : "file";

	if ((found->st_mode & S_IWOTH) != 0 && can_be_written(path, found))
		return error_set(err, ONCE_CONFIG,
				 "anybody may write the %s \"%s\", and so "
				 "decide what onced runs; take that right away "
				 "with chmod o-w",
				 what, path);
	if (geteuid() == 0 && found->st_uid != 0)
		return error_set(err, ONCE_INVALID,
				 "the %s \"%s\" belongs to user %lu, who so "
				 "decides what onced runs as root",
				 what, path, (unsigned long)found->st_uid);
	if ((found->st_mode & S_IWGRP) != 0 && found->st_gid != found->st_uid &&
	    can_be_written(path, found))
		return error_set(
			err, ONCE_INVALID,
			"all of group %lu may write the %s \"%s\", and "
			"so decide what onced runs",
			(unsigned long)found->st_gid, what, path);
	return ONCE_OK;
}

static enum once_status check_place(const char *path, struct once_error *err)
{
	struct stat found;

	return stat(path, &found) != 0 ? ONCE_OK : judge(path, &found, err);
}

enum once_status plain_file_check_writers(const char *path, bool folder,
					  struct once_error *err)
{
	char place[PATH_MAX];
	char target[PATH_MAX];
	enum once_status status;

	if (!folder)
		return check_place(path, err);
	find_folder(path, place, sizeof(place));
	status = check_place(place, err);
	/* A link can be good, and lead to where anybody may write. */
	if (status != ONCE_OK || realpath(path, target) == NULL)
		return status;
	find_folder(target, place, sizeof(place));
	return check_place(place, err);
}
