/*
 * cutter.h - a TCP proxy before PostgreSQL that cuts the connection at a
 * COMMIT, as a network does at the worst moment. A process of its own, and one
 * for each connection.
 */
#ifndef TEST_CUTTER_H
#define TEST_CUTTER_H

#include "pg_fixture.h"

#include <stdatomic.h>
#include <sys/types.h>

enum cut {
	CUT_NOTHING,
	CUT_BEFORE_COMMIT, /* the server never sees it */
	CUT_AFTER_COMMIT,  /* it is carried out, and the answer lost */
	CUT_EVERYTHING     /* nobody gets through */
};

struct cutter {
	pid_t pid;
	int listener;
	atomic_int *cut;  /* shared with the processes; reset by the cut */
	atomic_int *skip; /* so many that would be cut go through first */
	enum cut then;    /* what a cut resets it to. Set before the start */
	const char *only; /* only a transaction that was sent this text; NULL:
			   * any. Set before the start */
	char conninfo[640];
};

/* Takes `only` from the struct, and sets the rest. */
void cutter_start(struct cutter *cutter, struct pg_fixture *pg);
void cutter_stop(struct cutter *cutter);

#endif
