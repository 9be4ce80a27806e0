/* usage.c - what processes use. */
#include "usage.h"

#include <dirent.h>
#include <process.h>
#include <scope.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the fields of /proc/PID/stat. Times in ticks of the clock. */
struct times {
	int parent;
	unsigned long user;
	unsigned long system;
	long children_user; /* that have ended and were waited for */
	long children_system;
};

static char *read_page(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return read_file(path);
}

int64_t usage_peak_kib(pid_t pid)
{
	scoped_free char *page = read_page(pid, "status");
	const char *line = page == NULL ? NULL : strstr(page, "\nVmHWM:");
	long long kib = 0;

	if (line == NULL || sscanf(line, "\nVmHWM: %lld", &kib) != 1)
		return 0;
	return kib;
}

/* Fields are counted from behind the name in parentheses, which may have
 * anything in it. All zero for a process that isn't there. */
static struct times read_times(pid_t pid)
{
	scoped_free char *page = read_page(pid, "stat");
	const char *rest = page == NULL ? NULL : strrchr(page, ')');
	struct times times = { 0 };

	if (rest != NULL)
		sscanf(rest,
		       ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu "
		       "%ld %ld",
		       &times.parent, &times.user, &times.system,
		       &times.children_user, &times.children_system);
	return times;
}

static double to_seconds(double ticks)
{
	return ticks / (double)sysconf(_SC_CLK_TCK);
}

static double own_s(const struct times *times)
{
	return to_seconds((double)times->user + (double)times->system);
}

double usage_processor_s(pid_t pid)
{
	struct times times = read_times(pid);

	return own_s(&times);
}

static double children_s(pid_t pid)
{
	DIR *directory = opendir("/proc");
	double sum = 0;

	if (directory == NULL)
		return 0;
	for (struct dirent *entry = readdir(directory); entry != NULL;
	     entry = readdir(directory)) {
		long number = strtol(entry->d_name, NULL, 10);
		struct times times;

		if (number <= 0)
			continue;
		times = read_times((pid_t)number);
		if (times.parent == pid)
			sum += own_s(&times);
	}
	closedir(directory);
	return sum;
}

double usage_family_s(pid_t pid)
{
	struct times times;

	if (pid == 0)
		return 0;
	times = read_times(pid);
	return own_s(&times) + children_s(pid) +
	       to_seconds((double)times.children_user +
			  (double)times.children_system);
}

void usage_of_machine(struct usage_machine *ret_machine)
{
	scoped_free char *page = read_file("/proc/stat");
	unsigned long long ticks[8] = { 0 };
	double all = 0;

	if (page != NULL)
		sscanf(page, "cpu %llu %llu %llu %llu %llu %llu %llu %llu",
		       &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
		       &ticks[5], &ticks[6], &ticks[7]);
	for (size_t i = 0; i < sizeof(ticks) / sizeof(*ticks); i++)
		all += (double)ticks[i];
	ret_machine->all_s = to_seconds(all);
	ret_machine->idle_s = to_seconds((double)ticks[3]);
	ret_machine->disk_s = to_seconds((double)ticks[4]);
}
