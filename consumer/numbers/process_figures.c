/*
 * What the system says of this process, under the names that Prometheus' own
 * clients use. It is read when the page is asked for; where /proc doesn't
 * answer, the figure stays as it was.
 */
#include "numbers_impl.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

/* proc(5): the fields of /proc/self/stat behind the name in brackets, which may
 * hold anything. */
enum {
	STAT_THREADS = 17,
	STAT_START = 19, /* in ticks, since the machine was started */
	STAT_VIRTUAL = 20,
	STAT_RESIDENT = 21, /* in pages */
	STAT_COUNT
};

static void set(struct numbers *numbers, enum metric metric, double value)
{
	metric_set(numbers_cell(numbers, metric, NULL, NULL, NULL), value);
}

/* false: it can't be read, or has another form. */
static bool read_stat(double *fields)
{
	char line[1024];
	FILE *file = fopen("/proc/self/stat", "re");
	size_t size;
	char *at;

	if (file == NULL)
		return false;
	size = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[size] = '\0';
	at = strrchr(line, ')');
	if (at == NULL || strlen(at) < 4)
		return false;
	at += 4; /* ") S " */
	for (int i = 1; i < STAT_COUNT; i++) {
		char *end;

		fields[i] = strtod(at, &end);
		if (end == at)
			return false;
		at = end;
	}
	return true;
}

/* When the machine was started, in seconds since 1970; 0: not known. */
static double read_boot_time(void)
{
	char line[512];
	double seconds = 0;
	FILE *file = fopen("/proc/stat", "re");

	if (file == NULL)
		return 0;
	while (seconds == 0 && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "btime ", 6) == 0)
			seconds = strtod(line + 6, NULL);
	fclose(file);
	return seconds;
}

static void set_from_stat(struct numbers *numbers)
{
	double fields[STAT_COUNT];
	double booted = read_boot_time();

	if (!read_stat(fields))
		return;
	set(numbers, METRIC_PROCESS_THREADS, fields[STAT_THREADS]);
	set(numbers, METRIC_PROCESS_VIRTUAL, fields[STAT_VIRTUAL]);
	set(numbers, METRIC_PROCESS_RESIDENT,
	    fields[STAT_RESIDENT] * (double)sysconf(_SC_PAGESIZE));
	if (booted > 0)
		set(numbers, METRIC_PROCESS_START,
		    booted + fields[STAT_START] / (double)sysconf(_SC_CLK_TCK));
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void set_cpu(struct numbers *numbers)
{
	struct metric_cell *cell =
		numbers_cell(numbers, METRIC_PROCESS_CPU, NULL, NULL, NULL);
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		metric_add(cell, seconds_of(usage.ru_utime) +
					 seconds_of(usage.ru_stime) -
					 metric_get(cell));
}

/* The one that counts them isn't counted. */
static void set_open_files(struct numbers *numbers)
{
	DIR *directory = opendir("/proc/self/fd");
	double count = 0;

	if (directory == NULL)
		return;
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	set(numbers, METRIC_PROCESS_OPEN_FDS, count - 3); /* ".", "..", ours */
}

static void set_most_files(struct numbers *numbers)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		set(numbers, METRIC_PROCESS_MAX_FDS, (double)limit.rlim_cur);
}

void numbers_process_set(struct numbers *numbers)
{
	set_from_stat(numbers);
	set_cpu(numbers);
	set_open_files(numbers);
	set_most_files(numbers);
}
