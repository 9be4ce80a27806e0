/*
 * progress.h - how the demo tells its story: a line for each event, and between
 * them, on a terminal, one line that changes.
 */
#ifndef ONCED_PROGRESS_H
#define ONCED_PROGRESS_H

#include <once/types.h>
#include <stdbool.h>

struct progress {
	bool on_terminal;
	int64_t began_ms;
};

void progress_init(struct progress *progress);

/* An event, with the seconds since the start. */
void progress_say(const struct progress *progress, const char *fmt, ...)
	ONCE_PRINTF(2, 3);

/* How it stands; on a terminal only. */
void progress_show(const struct progress *progress, int64_t sent,
		   int64_t handled, int64_t all);
/* Take the changing line away. */
void progress_clear(const struct progress *progress);

#endif
