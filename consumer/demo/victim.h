/*
 * victim.h - the consumer of the demo: `onced run` as anybody would run it, a
 * process of its own, to be killed.
 *
 * Threads: main.
 */
#ifndef ONCED_VICTIM_H
#define ONCED_VICTIM_H

#include "database.h"
#include "neighbours.h"
#include "sandbox.h"

struct victim {
	struct child child;
	char program[NEIGHBOUR_PATH_SIZE];
	char config[SCRATCH_PATH_SIZE + 32];
	char log[SCRATCH_PATH_SIZE + 32];
};

/* Write its configuration into the sandbox. CONFIG: its handler isn't there. */
enum once_status victim_prepare(struct victim *victim,
				const struct sandbox *sandbox,
				struct once_error *err) ONCE_MUST_CHECK;
enum once_status victim_start(struct victim *victim,
			      struct once_error *err) ONCE_MUST_CHECK;

/*
 * SIGKILL it if that cuts a transaction: freeze it, let the database come to
 * rest, look. What is open then has written something and not asked for its
 * COMMIT. Their ids go into demo.cut. `ret_cut` 0: nothing was open, and it
 * lives on.
 */
enum once_status victim_try_to_kill(struct victim *victim,
				    struct database *database, int64_t *ret_cut,
				    struct once_error *err) ONCE_MUST_CHECK;

/* SIGTERM, and its exit code: 0 if it stopped in order. */
int victim_stop(struct victim *victim);

#endif
