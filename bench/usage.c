/* usage.c - what a process uses: two numbers out of proc(5). */
#include "usage.h"

#include <process.h>
#include <scope.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *read_page(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return read_file(path);
}

int64_t usage_memory_kib(pid_t pid)
{
	scoped_free char *page = read_page(pid, "status");
	const char *line = page == NULL ? NULL : strstr(page, "\nVmRSS:");
	long long kib = 0;

	if (line == NULL || sscanf(line, "\nVmRSS: %lld", &kib) != 1)
		return 0;
	return kib;
}

/* Fields 14 and 15, counted from behind the name in parentheses, which may
 * have anything in it. */
double usage_processor_s(pid_t pid)
{
	scoped_free char *page = read_page(pid, "stat");
	const char *rest = page == NULL ? NULL : strrchr(page, ')');
	unsigned long user = 0;
	unsigned long system = 0;

	if (rest == NULL ||
	    sscanf(rest,
		   ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		   &user, &system) != 2)
		return 0;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}
