/*
 * suspect.h - messages that are suspected of what looks like the server's
 * fault: their own statement failed with such an SQLSTATE, or their session
 * ended under it.
 *
 * A suspect is set aside, so that others commit, and then tried alone on the
 * new session. It is proven when it fails so again and again: after three times
 * if others of its route commit meanwhile, in whatever session; after five if
 * there are none; after ten if others fail, too, or if the server didn't say
 * whose statement it was. Then it is an attempt of that message, and the last
 * one leaves it dead. What writes the attempt is a transaction of its own: a
 * server that takes no writes counts none. A session forgets its suspects; the
 * attempts are in the database.
 *
 * Threads: the session's.
 */
#ifndef ONCE__SUSPECT_H
#define ONCE__SUSPECT_H

#include "pg.h"
#include "work.h"

struct once__route_shared;

struct once__suspect {
	uint64_t place; /* of the message; 0: none */
	unsigned failures;
	struct once__route_shared *shared; /* its route's */
	unsigned commits;    /* as they were when it was first suspected, */
	unsigned suspicions; /* or has paid for it the last time */
	unsigned own;        /* of the suspicions since then */
	bool explained; /* the server has said why, and of which statement */
	struct once__pg_failure failure; /* the last one */
};

struct once__suspects {
	struct once__suspect table[16];
	unsigned next;  /* the place that is taken next */
	unsigned count; /* failures, ever; 0: nobody needs to look */
};

/* NULL: it isn't suspected. */
struct once__suspect *once__suspects_find(struct once__suspects *suspects,
					  const struct once__work *work);
struct once__suspect *once__suspects_add(struct once__suspects *suspects,
					 const struct once__work *work,
					 const struct once__pg_failure *failure,
					 bool explained);
/* Worth setting it aside: a session may end for many reasons. */
bool once__suspect_is_strong(const struct once__suspect *suspect);
/* It has failed often enough. */
bool once__suspect_is_proven(const struct once__suspect *suspect);
/* That is an attempt; to the next one it takes less. */
void once__suspect_pay(struct once__suspect *suspect);

#endif
