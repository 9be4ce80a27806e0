/* session.h - a lane's share of libonce: one database session, one instance of
 * each handler, and the memory its batches use again. */
#ifndef ONCE__SESSION_H
#define ONCE__SESSION_H

#include "arena.h"
#include "collect.h"
#include "consume_log.h"
#include "pg.h"
#include "position.h"
#include "route.h"

struct once__batch;

struct once_session {
	char *conninfo;
	char *application_name;
	enum once_durability durability;
	enum once_isolation isolation;
	once_log_f *log;
	void *log_arg;

	const struct once_route **routes;
	size_t route_count;
	void **instances;      /* by route */
	size_t opened;         /* instances that open() has made */
	int64_t *consumer_ids; /* by route; 0: not asked yet */

	struct once__pg *pg; /* NULL: not connected */
	unsigned connections;
	struct once__log claims;
	struct once__positions positions;
	struct once__collection collection;
	struct arena arena;            /* of the last batch */
	struct once__batch *unsettled; /* in the arena; NULL: none */
};

#endif
