/* Told from /proc/self/exe, so that an installation can be moved. */
#include "neighbours.h"

#include "error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* From the program's directory. */
static const char *const places[] = {
	"/../handlers",             /* of a build tree */
	"/../" ONCED_HANDLER_FOLDER /* installed */
};

enum {
	COUNT_PLACES = sizeof(places) / sizeof(places[0])
};

enum once_status neighbours_find_program(char path[NEIGHBOUR_PATH_SIZE],
					 struct once_error *err)
{
	ssize_t size =
		readlink("/proc/self/exe", path, NEIGHBOUR_PATH_SIZE - 1);

	if (size <= 0)
		return error_set(err, ONCE_TRANSIENT,
				 "could not read \"/proc/self/exe\": %s",
				 strerror(errno));
	path[size] = '\0';
	return ONCE_OK;
}

enum once_status neighbours_find_handler(const char *name,
					 char path[NEIGHBOUR_PATH_SIZE],
					 struct once_error *err)
{
	char program[NEIGHBOUR_PATH_SIZE];
	enum once_status status = neighbours_find_program(program, err);

	if (status != ONCE_OK)
		return status;
	*strrchr(program, '/') = '\0';
	for (size_t i = 0; i < COUNT_PLACES; i++) {
		int size = snprintf(path, NEIGHBOUR_PATH_SIZE, "%s%s/%s.so",
				    program, places[i], name);

		if (size < NEIGHBOUR_PATH_SIZE && access(path, R_OK) == 0)
			return ONCE_OK;
	}
	return error_set(err, ONCE_CONFIG,
			 "could not find the example handler %s.so beside "
			 "\"%s\"; build or install it",
			 name, program);
}
