/* bench_clock.h - from the sender's clock to the answer of COMMIT: what
 * bench_clock.so, loaded into onced, writes into a file. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>

/* When a message was sent: 8 bytes, an int64_t of CLOCK_MONOTONIC. */
#define BENCH_CLOCK_HEADER "sent-ns"
/* The file's name, in onced's environment. */
#define BENCH_CLOCK_FILE "ONCE_BENCH_CLOCK_FILE"

struct moment {
	int64_t began_ns;
	int64_t took_ns;
};

/* The calling thread handles a message that was sent then. Not there (NULL)
 * where bench_clock.so isn't loaded. */
void bench_clock_note(int64_t sent_ns)
	__attribute__((weak, visibility("default")));

#endif
