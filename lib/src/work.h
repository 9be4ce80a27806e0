/*
 * work.h - one message of a batch on its way: what is known for the whole run,
 * and what one try (one transaction) finds out.
 */
#ifndef ONCE__WORK_H
#define ONCE__WORK_H

#include "intercept.h"
#include "message.h"

#define ONCE__NO_STRAND SIZE_MAX

struct once__suspect;

/* A mark found under a work's key. */
struct once__hit {
	struct once__mark mark;
	enum once_stage stage;
};

struct once__work {
	/* for the run */
	struct once_item *item;
	const struct once_route *route;
	int64_t consumer_id;
	size_t strand; /* ONCE__NO_STRAND */
	struct once_message msg;
	struct once__reading reading; /* the message's */
	enum once_ending decided;     /* PENDING: nothing, try it */
	bool met_lock;                /* and was tried again for it */
	struct once__suspect
		*suspect; /* it is tried alone; NULL: it isn't one */
	struct once__row_key row_key; /* where there is a prefilter */
	const struct once__hit *hit;  /* NULL: none */

	/* for one try */
	struct once__work *first; /* the one in the batch that it repeats */
	bool repeated;            /* by another in the batch */
	bool known;               /* the hit is proved */
	bool claimed;
	bool lost;                /* to a row in the log */
	bool shares;              /* it has rows in a collected statement */
	struct once__keys stored; /* that row's */
	int64_t stored_age_ms;
	struct once_bytes stored_result;
	struct once_bytes result; /* what the handler set */
	enum once_key_kind key_kind;
	enum once_ending planned; /* true when the COMMIT is */
};

#endif
