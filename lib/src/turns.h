/*
 * turns.h - transactions that lock the same rows in different orders deadlock,
 * and go on doing so. Once a route has met a deadlock, its transactions take
 * turns: each begins with the route's advisory lock, whichever process it is
 * of. Within a process they queue before that, for a transaction that waits
 * keeps the server from removing old versions of the rows. After a while one at
 * a time goes without it, to see, and then all; if they deadlock soon, they
 * take turns for twice as long, so that a probe, which costs the server's
 * deadlock_timeout, becomes rare.
 *
 * Only with READ COMMITTED: above it, a transaction that has waited sees the
 * rows as they were before, and fails all the same.
 *
 * Threads: any; the state is shared by all sessions of the route.
 */
#ifndef ONCE__TURNS_H
#define ONCE__TURNS_H

#include "pg.h"

#include <pthread.h>
#include <stdatomic.h>

struct once__turns {
	atomic_llong until_ms; /* monotonic; 0: never */
	atomic_uint level;     /* how often it has come back */
	atomic_flag probing;   /* somebody goes without it */
	atomic_uint loose; /* transactions that began when none were taken */
	pthread_mutex_t mutex;
	pthread_cond_t ended;
	unsigned drawn;   /* mutex: numbers, in this process */
	unsigned serving; /* mutex: whose turn it is */
};

void once__turns_init(struct once__turns *turns);
void once__turns_fini(struct once__turns *turns);

/* A transaction of the route was in a deadlock. */
void once__turns_meet(struct once__turns *turns, int64_t now_ms);
bool once__turns_are_taken(const struct once__turns *turns, int64_t now_ms);
/* They are taken, but not by this one: it is the probe, until its end. */
bool once__turns_begin_probe(struct once__turns *turns, int64_t now_ms);
void once__turns_end_probe(struct once__turns *turns);
/* They are, or were until just now. */
bool once__turns_are_on(const struct once__turns *turns, int64_t now_ms);
/* Before a transaction: be the one of this process. Those that go without a
 * turn are to end first, for they would deadlock with it; but not for ever. */
void once__turns_begin(struct once__turns *turns);
void once__turns_end(struct once__turns *turns);
/* In a transaction: wait for the turn, however long that takes. */
void once__turns_take(struct once__pg *pg, int64_t consumer_id);

#endif
