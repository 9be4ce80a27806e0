/* session.h - a lane's share of libonce: one database session, one instance of
 * each handler, and the memory its batches use again. */
#ifndef ONCE__SESSION_H
#define ONCE__SESSION_H

#include "arena.h"
#include "collect.h"
#include "consume_log.h"
#include "current_call.h"
#include "intercept.h"
#include "pg.h"
#include "position.h"
#include "route.h"
#include "suspect.h"

struct once__batch;

struct once_session {
	char *conninfo;
	char *application_name;
	enum once_durability durability;
	enum once_isolation isolation;
	struct once__pg_limits limits;
	const struct once_instance *instance; /* NULL: none */
	int64_t retention_ms;                 /* of its group; 0: not said */
	size_t max_messages;                  /* 0: no limit */
	int64_t max_time_ns;                  /* 0: no limit */
	unsigned lane;
	once_log_f *log;
	void *log_arg;
	once_meanwhile_f *meanwhile; /* NULL: none */
	void *meanwhile_arg;
	once_hurry_f *hurry; /* NULL: never */
	void *hurry_arg;

	const struct once_route **routes;
	size_t route_count;
	void **instances;             /* by route */
	size_t opened;                /* instances that open() has made */
	int64_t *consumer_ids;        /* by route; 0: not asked yet */
	bool *restores;               /* by route: it leaves settings changed */
	bool restores_any;            /* one of them does */
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
	struct once__current_call current_call;
	atomic_llong moved_ms; /* see once_session_moved_ms() */
	size_t fit;            /* see once__batch_fit() */
	struct once__suspects suspects;
	size_t most_at_once; /* after a session was lost, nobody knows why; 0:
				no limit */
	struct once__batch *unsettled; /* in its arena; NULL: none */
	struct once__batch *prepared;  /* in the other one; NULL: none */
	bool in_hand;                  /* once.in_hand may have a row of ours */
};

/* Of its instance; "": it has none, and speaks for nobody. */
const char *once__session_group(const struct once_session *session);
/* Within a transaction: see once_session_brace(). */
bool once__session_brace(struct once_session *session, struct once_item *item);
/* Queue the end of what was written down there, with the attempt that it was
 * for. */
void once__session_let_go(struct once_session *session);
/* Most of what comes is expected to be there before: see once__log_sift(). */
bool once__session_sifts(const struct once_session *session);
/* COMMIT if `done`, else ROLLBACK and the failure as a status. */
enum once_status once__session_finish(struct once_session *session, bool done,
				      struct once_error *err);

#endif
