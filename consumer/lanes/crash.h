/*
 * crash.h - the last line of a process: which handler crashed, and on which
 * message. A person who finds a dead process looks there first.
 */
#ifndef ONCED_CRASH_H
#define ONCED_CRASH_H

#include "config.h"

#include <once/once.h>

/* Threads: main, before there are others. `cfg` lives until the end. SIGSEGV,
 * SIGBUS, SIGFPE, SIGILL and SIGABRT write a line and a backtrace to stderr,
 * and then do what they would have done; exit() called by a handler writes a
 * line.
 */
void crash_init(const struct config *cfg);

/* Threads: the lane's. Calls of this session are made on this thread, until it
 * is given NULL. */
void crash_watch(const struct once_session *session);

#endif
