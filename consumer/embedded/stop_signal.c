/* Naps are short: a stop is noticed behind each. */
#include "stop_signal.h"

#include <signal.h>
#include <time.h>

bool stop_signal_is_pending(void)
{
	sigset_t pending;

	sigemptyset(&pending);
	sigpending(&pending);
	return sigismember(&pending, SIGINT) == 1 ||
	       sigismember(&pending, SIGTERM) == 1 ||
	       sigismember(&pending, SIGHUP) == 1;
}

bool stop_signal_sleep(int64_t ms)
{
	struct timespec nap = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&nap, NULL);
	return !stop_signal_is_pending();
}
