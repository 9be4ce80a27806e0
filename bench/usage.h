/* usage.h - what processes use, from Linux's /proc (proc(5)). */
#ifndef BENCH_USAGE_H
#define BENCH_USAGE_H

#include <stdint.h>
#include <sys/types.h>

/* Of the whole machine since it was started, in seconds of one processor. */
struct usage_machine {
	double all_s;
	double idle_s;
	double disk_s; /* idle, while a process waits for the disk */
};

/* The most that was ever resident; 0: it has ended. */
int64_t usage_peak_kib(pid_t pid);
/* Processor time of all its threads up to now, in seconds. 0 for pid 0. */
double usage_processor_s(pid_t pid);
/* And of its children, those that have ended, too. */
double usage_family_s(pid_t pid);
void usage_of_machine(struct usage_machine *ret_machine);

#endif
