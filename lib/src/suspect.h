/*
 * suspect.h - messages that are suspected of what looks like the server's
 * fault: their own statement failed with such an SQLSTATE, or their session
 * ended under it.
 *
 * A suspect is set aside, so that others commit, and then tried alone on the
 * new session. It is proven when it fails so again and again: after a few times
 * if others could commit meanwhile, after many if there were none to tell. Then
 * it is an attempt of that message, and the last one leaves it dead. A session
 * forgets its suspects; the attempts are in the database.
 *
 * Threads: the session's.
 */
#ifndef ONCE__SUSPECT_H
#define ONCE__SUSPECT_H

#include "pg.h"
#include "work.h"

struct once__suspect {
	uint64_t place; /* of the message; 0: none */
	unsigned failures;
	unsigned commits; /* the session's, when it was first suspected */
	bool explained;   /* the server has said why, and of which statement */
	struct once__pg_failure failure; /* the last one */
};

struct once__suspects {
	struct once__suspect table[16];
	unsigned next;    /* the place that is taken next */
	unsigned count;   /* failures, ever; 0: nobody needs to look */
	unsigned commits; /* of handled messages, by this session */
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
/* It has failed often enough; what it takes the next time is less. */
bool once__suspect_is_proven(const struct once__suspects *suspects,
			     const struct once__suspect *suspect);
void once__suspect_pay(const struct once__suspects *suspects,
		       struct once__suspect *suspect);

#endif
