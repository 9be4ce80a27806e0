/* Debian keeps the servers out of PATH, in a directory for each version. */
#include "postgres_programs.h"

#include "error.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEBIAN "/usr/lib/postgresql/"

static bool has_programs(const char *directory)
{
	char initdb[PROGRAM_PATH_SIZE];
	char postgres[PROGRAM_PATH_SIZE];

	snprintf(initdb, sizeof(initdb), "%s/initdb", directory);
	snprintf(postgres, sizeof(postgres), "%s/postgres", directory);
	return access(initdb, X_OK) == 0 && access(postgres, X_OK) == 0;
}

static double version_of(const char *path)
{
	return strtod(path + strlen(DEBIAN), NULL); /* 9.6 or 15 */
}

static bool find_newest(char directory[PROGRAM_PATH_SIZE])
{
	const char *newest = NULL;
	glob_t found;

	if (glob(DEBIAN "*/bin", 0, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (has_programs(found.gl_pathv[i]) &&
		    (newest == NULL ||
		     version_of(found.gl_pathv[i]) > version_of(newest)))
			newest = found.gl_pathv[i];
	if (newest != NULL)
		snprintf(directory, PROGRAM_PATH_SIZE, "%s", newest);
	globfree(&found);
	return newest != NULL;
}

static bool find_in_path(char directory[PROGRAM_PATH_SIZE])
{
	const char *at = getenv("PATH");

	while (at != NULL && *at != '\0') {
		size_t size = strcspn(at, ":");

		snprintf(directory, PROGRAM_PATH_SIZE, "%.*s", (int)size, at);
		if (directory[0] == '/' && has_programs(directory))
			return true;
		at += size + (at[size] == ':');
	}
	return false;
}

enum once_status postgres_programs_find(char directory[PROGRAM_PATH_SIZE],
					struct once_error *err)
{
	const char *given = getenv("ONCED_PG_BINDIR");

	if (given != NULL && given[0] != '\0') {
		snprintf(directory, PROGRAM_PATH_SIZE, "%s", given);
		if (has_programs(directory))
			return ONCE_OK;
		return error_set(err, ONCE_CONFIG,
				 "could not find PostgreSQL's server programs "
				 "initdb and postgres in \"%s\"; correct "
				 "ONCED_PG_BINDIR",
				 given);
	}
	if (find_newest(directory) || find_in_path(directory))
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "could not find PostgreSQL's server programs; apt-get "
			 "install postgresql, or set ONCED_PG_BINDIR to the "
			 "directory of initdb and postgres");
}
