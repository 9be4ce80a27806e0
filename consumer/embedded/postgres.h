/*
 * postgres.h - a private PostgreSQL: for trying things, in a directory that is
 * thrown away. It is reached through a socket in that directory, by our own
 * user and root only.
 *
 * Threads: main.
 */
#ifndef ONCED_POSTGRES_H
#define ONCED_POSTGRES_H

#include "child.h"
#include "scratch.h"

/* All zero: none. */
struct postgres {
	struct child server;
	char data[SCRATCH_PATH_SIZE + 16];
	char log[SCRATCH_PATH_SIZE + 16];
	char conninfo[SCRATCH_PATH_SIZE + 80];
};

/* In `directory`; returns when it takes connections. CONFIG: its programs
 * aren't installed. TRANSIENT: it failed, or we were told to stop. */
enum once_status postgres_start(struct postgres *postgres,
				const char *directory,
				struct once_error *err) ONCE_MUST_CHECK;
void postgres_stop(struct postgres *postgres);

#endif
