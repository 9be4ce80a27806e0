/* neighbours.h - where this program lies, and the example handlers with it, in
 * the build tree as well as installed. */
#ifndef ONCED_NEIGHBOURS_H
#define ONCED_NEIGHBOURS_H

#include <once/types.h>

enum {
	NEIGHBOUR_PATH_SIZE = 4096
};

enum once_status neighbours_find_program(
	char path[NEIGHBOUR_PATH_SIZE], struct once_error *err) ONCE_MUST_CHECK;
/* CONFIG: it isn't at any of the places. */
enum once_status neighbours_find_handler(
	const char *name, char path[NEIGHBOUR_PATH_SIZE],
	struct once_error *err) ONCE_MUST_CHECK;

#endif
