/*
 * stop_signal.h - was this process told to stop? The signal is only looked at:
 * it stays pending, so that every wait behind this one ends early, too, and
 * whoever takes signals afterwards finds it.
 *
 * Threads: main. SIGINT, SIGTERM and SIGHUP are blocked.
 */
#ifndef ONCED_STOP_SIGNAL_H
#define ONCED_STOP_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

bool stop_signal_is_pending(void);

/* Sleep so long; false: we were told to stop. */
bool stop_signal_sleep(int64_t ms);

#endif
