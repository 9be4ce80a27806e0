/*
 * sandbox.h - all that onced needs, with nothing set up: the embedded broker
 * and the private PostgreSQL, with schema once in it.
 *
 * Threads: main; open before other threads start.
 */
#ifndef ONCED_SANDBOX_H
#define ONCED_SANDBOX_H

#include "broker.h"
#include "postgres.h"
#include "scratch.h"

/* All zero: none. */
struct sandbox {
	struct scratch scratch;
	struct postgres postgres;
	struct broker *broker;
};

enum once_status sandbox_open(struct sandbox *sandbox,
			      struct once_error *err) ONCE_MUST_CHECK;
/* Also after a failure. Nothing is left. */
void sandbox_close(struct sandbox *sandbox);

#endif
