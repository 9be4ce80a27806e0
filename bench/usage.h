/* usage.h - what a process uses, from Linux's /proc. */
#ifndef BENCH_USAGE_H
#define BENCH_USAGE_H

#include <stdint.h>
#include <sys/types.h>

/* Resident memory now; 0: it has ended. */
int64_t usage_memory_kib(pid_t pid);
/* Processor time of all its threads up to now, in seconds. */
double usage_processor_s(pid_t pid);

#endif
