/* clock.h - durations from CLOCK_MONOTONIC, those that go on while the machine
 * sleeps from CLOCK_BOOTTIME, dates from CLOCK_REALTIME. */
#ifndef ONCE_CLOCK_H
#define ONCE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns_of(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t clock_ns(void)
{
	return clock_ns_of(CLOCK_MONOTONIC);
}

static inline int64_t clock_ms(void)
{
	return clock_ns() / 1000000;
}

static inline int64_t clock_boot_ms(void)
{
	return clock_ns_of(CLOCK_BOOTTIME) / 1000000;
}

static inline int64_t clock_unix_ms(void)
{
	return clock_ns_of(CLOCK_REALTIME) / 1000000;
}

#endif
