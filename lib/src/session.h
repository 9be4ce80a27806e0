/* session.h - a lane's share of libonce: one database session, one instance of
 * each handler, and the memory its batches use again. */
#ifndef ONCE__SESSION_H
#define ONCE__SESSION_H

#include "arena.h"
#include "collect.h"
#include "consume_log.h"
#include "intercept.h"
#include "pg.h"
#include "position.h"
#include "route.h"
#include "suspect.h"

#include <stdatomic.h>

struct once__batch;

/* The call that is going on, for any thread to see. Each field is true for
 * itself: a reader may see two calls mixed at the moment one follows another,
 * which is the moment when nobody is late. */
struct once__watch {
	atomic_llong began_ms; /* 0: none */
	atomic_size_t route;
	_Atomic(const char *) topic;
	atomic_int partition;
	atomic_llong offset;
};

struct once_session {
	char *conninfo;
	char *application_name;
	enum once_durability durability;
	enum once_isolation isolation;
	const struct once_instance *instance; /* NULL: none */
	size_t max_messages;                  /* 0: no limit */
	unsigned lane;
	once_log_f *log;
	void *log_arg;
	once_meanwhile_f *meanwhile; /* NULL: none */
	void *meanwhile_arg;

	const struct once_route **routes;
	size_t route_count;
	void **instances;      /* by route */
	size_t opened;         /* instances that open() has made */
	int64_t *consumer_ids; /* by route; 0: not asked yet */
	struct once__streak *streaks; /* by route, of one try */
	char *turns;                  /* the same: see batch_turns.c */

	struct once__pg *pg; /* NULL: not connected */
	unsigned connections;
	struct once__log claims;
	struct once__positions positions;
	struct once__intercept intercept;
	struct once__collection collection;
	struct arena arenas[2]; /* of the batch that runs, and the one ahead */
	unsigned arena;         /* the one that was taken last */
	struct arena waiting;   /* of the last parked message taken up */
	struct once__watch watch;
	struct once__suspects suspects;
	size_t most_at_once; /* after a session was lost, nobody knows why; 0:
				no limit */
	struct once__batch *unsettled; /* in its arena; NULL: none */
	struct once__batch *prepared;  /* in the other one; NULL: none */
};

/* Within a transaction: see once_session_brace(). */
bool once__session_brace(struct once_session *session, struct once_item *item);
/* Most of what comes is expected to be there before: see once__log_sift(). */
bool once__session_sifts(const struct once_session *session);
/* COMMIT if `done`, else ROLLBACK and the failure as a status. */
enum once_status once__session_finish(struct once_session *session, bool done,
				      struct once_error *err);

#endif
