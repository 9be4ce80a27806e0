/*
 * runtime.h - builds, owns, drains and tears down: lanes, source, admin.
 *
 * Threads: main.
 */
#ifndef ONCED_RUNTIME_H
#define ONCED_RUNTIME_H

#include "config.h"

/* Consume until told to stop; returns the exit code. SIGTERM and SIGINT must be
 * blocked in all threads: they are taken here. */
int runtime_run(const struct config *cfg);

#endif
