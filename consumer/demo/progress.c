/* On a terminal each event overwrites the line that changes. */
#include "progress.h"

#include "clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"

enum {
	BAR_WIDTH = 30
};

void progress_init(struct progress *progress)
{
	progress->on_terminal = isatty(STDOUT_FILENO) == 1;
	progress->began_ms = clock_ms();
}

void progress_clear(const struct progress *progress)
{
	if (progress->on_terminal)
		fputs(CLEAR_LINE, stdout);
	fflush(stdout);
}

static double seconds(const struct progress *progress)
{
	return (double)(clock_ms() - progress->began_ms) / 1000;
}

void progress_say(const struct progress *progress, const char *fmt, ...)
{
	va_list args;

	progress_clear(progress);
	printf("%5.1f s  ", seconds(progress));
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

void progress_show(const struct progress *progress, int64_t sent,
		   int64_t handled, int64_t all)
{
	int full = (int)(handled * BAR_WIDTH / all);

	if (!progress->on_terminal)
		return;
	printf(CLEAR_LINE "%5.1f s  [", seconds(progress));
	for (int i = 0; i < BAR_WIDTH; i++)
		putchar(i < full ? '#' : '.');
	printf("] sent %lld, ended %lld", (long long)sent, (long long)handled);
	fflush(stdout);
}
