/*
 * intercept.h - a session's side of a prefilter: which log's marks it reads,
 * its line to Redis, and what it can prove.
 *
 * A row of the log is marked under one key: that of the operation, or of the
 * message where the route knows no operations. A hit under it tells all that
 * the database would say, so a prefilter never changes what a message comes to.
 *
 *	prefilter.c        what a program's sessions share
 *	intercept.c        a session's side: keys, finding, putting
 *	intercept_warm.c   the newest rows of the log, as marks
 *	batch_intercept.c  a batch's: ask, prove, and after COMMIT mark
 *
 * Threads: the session's.
 */
#ifndef ONCE__INTERCEPT_H
#define ONCE__INTERCEPT_H

#include "mark.h"
#include "prefilter.h"
#include "redis.h"
#include "tenure.h"

struct once__seeds {
	uint64_t msg_id;
	uint64_t biz_id;
	char *prefix; /* of its names in Redis */
};

struct once__intercept {
	struct once_prefilter *prefilter; /* NULL: there is none */
	struct once__redis *redis;        /* NULL: not asked */
	struct once__tenures tenures;
	/* of the log, once connected */
	uint64_t secret;
	struct once__seeds *seeds; /* by route */
	size_t route_count;
};

/* What a row of the log, or a message, is looked up by. */
struct once__row_key {
	struct once__digest digest;
	uint64_t other; /* of its msg_id beside a biz_id; 0: it is the key */
};

bool once__intercept_init(struct once__intercept *intercept,
			  struct once_prefilter *prefilter, size_t route_count);
void once__intercept_fini(struct once__intercept *intercept);

/* A new connection: nothing learned before counts. Within a transaction. */
bool once__intercept_connect(struct once__intercept *intercept,
			     struct once__pg *pg,
			     const struct once_route *const *routes,
			     size_t route_count);

/* The newest rows of the log, as marks of the local prefilter, if nobody was
 * faster. In a transaction of its own; what fails only leaves us blind. */
void once__intercept_warm(struct once__intercept *intercept,
			  struct once__pg *pg, const int64_t *consumer_ids,
			  size_t route_count);

void once__intercept_key(const struct once__intercept *intercept, size_t route,
			 const struct once__keys *keys,
			 struct once__row_key *ret_key);

/* What a mark found under `key` says of a message with that key. */
enum once_key_kind once__mark_kind(const struct once__mark *mark,
				   const struct once__row_key *key);

/* The name of a digest's mark in Redis. data NULL: no memory. */
struct once_bytes once__intercept_name(const struct once__intercept *intercept,
				       size_t route,
				       const struct once__digest *digest,
				       struct arena *arena);

#endif
