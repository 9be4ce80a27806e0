/* Without ONCE_FAULT_POINTS this file is empty, and a release has no way to
 * kill itself. */
#include "fault.h"

#ifdef ONCE_FAULT_POINTS

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void fault_point(const char *name)
{
	static atomic_long visits;
	const char *wanted = getenv("ONCE_FAULT");
	size_t size = strlen(name);
	long nth;

	if (wanted == NULL || strncmp(wanted, name, size) != 0 ||
	    (wanted[size] != ':' && wanted[size] != '\0'))
		return;
	nth = wanted[size] == ':' ? strtol(wanted + size + 1, NULL, 10) : 1;
	if (atomic_fetch_add(&visits, 1) + 1 == nth)
		raise(strstr(wanted, ":stop") == NULL ? SIGKILL : SIGSTOP);
}

#else

typedef int fault_is_compiled_out;

#endif
