/*
 * tenure.h - what a session knows of the tenures that marks are proved by.
 *
 * PostgreSQL's log of changes is lost from its end only: a database that has a
 * transaction has all that was committed before it. So a mark is true if its
 * tenure is in the database and has come past its offset, for the row that it
 * tells of was committed with that step, or before it.
 *
 * What was learned on a session is forgotten with it: the database behind the
 * next one may lack the last transactions. Threads: the session's.
 */
#ifndef ONCE__TENURE_H
#define ONCE__TENURE_H

#include "pg.h"
#include "pg_array.h"

struct once__tenure {
	int64_t id;     /* 0: a free place */
	int64_t before; /* offsets below are proved */
	bool ended;     /* it gets no further */
};

/* All zero at first. */
struct once__tenures {
	struct once__tenure *places;
	size_t size; /* a power of two, or 0 */
	size_t count;
	struct once__pg_array asked;
};

enum once__proof {
	ONCE__PROVED,
	ONCE__NOT_PROVED,
	ONCE__TO_BE_ASKED /* the database may know more */
};

enum once__proof once__tenures_prove(const struct once__tenures *tenures,
				     int64_t id, int64_t offset);
/* Its reader has come so far, in a transaction of this session. */
void once__tenures_learn(struct once__tenures *tenures, int64_t id,
			 int64_t before);

/* Ask for those that are to be asked, in one round trip: begin, add each, ask.
 * false: see once__pg_failure(). */
void once__tenures_begin(struct once__tenures *tenures);
void once__tenures_add(struct once__tenures *tenures, int64_t id);
bool once__tenures_ask(struct once__tenures *tenures, struct once__pg *pg);

/* Write one that proves all that this transaction, and those before it, have
 * seen. */
bool once__tenures_witness(struct once__pg *pg, int64_t *ret_id);

void once__tenures_forget(struct once__tenures *tenures);
void once__tenures_fini(struct once__tenures *tenures);

#endif
