/* bench_clock.h - how long a message took until COMMIT was answered: what
 * bench_clock.so, loaded into onced, writes into a file. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>

/* When a message was sent: 8 bytes, an int64_t of CLOCK_MONOTONIC. */
#define BENCH_CLOCK_HEADER "sent-ns"
/* The file's name, in onced's environment. */
#define BENCH_CLOCK_FILE "ONCE_BENCH_CLOCK_FILE"

/* Where one may begin to count. */
enum since {
	SINCE_BROKER, /* wrote it down: its clock shows milliseconds, so this is
			 up to one too many */
	SINCE_SENT,
	SINCE_HANDLED, /* its handler was called */
	SINCE_COUNT
};

struct moment {
	int64_t began_ns; /* when it was sent */
	int64_t took_ns[SINCE_COUNT];
};

/* The calling thread handles a message that was sent then, and has this time of
 * the broker. Not there (NULL) where bench_clock.so isn't loaded. */
void bench_clock_note(int64_t sent_ns, int64_t broker_ms)
	__attribute__((weak, visibility("default")));

#endif
