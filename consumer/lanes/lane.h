/*
 * lane.h - a worker thread: one database session, one instance of each handler,
 * and the partitions it was given.
 *
 * A lane obeys orders from its mailbox and answers with reports; it shares
 * nothing else. What has queued since its last transaction is its next batch.
 */
#ifndef ONCED_LANE_H
#define ONCED_LANE_H

#include "config.h"
#include "mailbox.h"

#include <once/once.h>
#include <stdbool.h>

struct lane;
struct numbers;

struct lane_options {
	unsigned index;
	const struct config *cfg;
	const struct once_instance *instance;   /* outlives the lane */
	struct once_prefilter *prefilter;       /* likewise; NULL: none */
	const struct once_route *const *routes; /* as cfg->routes */
	struct numbers *numbers;
	struct mailbox *reports; /* outlives the lane */
	bool unchecked; /* the database couldn't be asked at the start, and is
			   to be checked before it is worked with */
};

/* What others may know of a lane. */
struct lane_view {
	bool database_reached;
	int64_t busy_ms;  /* in the present batch; 0: idle */
	int64_t still_ms; /* of that, since something last happened in it: a
			     call began, the database answered */
	struct once_current_call call; /* of a handler; began_ms 0: none */
	char trouble[512];             /* "" or why it waits */
	bool outdated;    /* by the schema: it won't work again by itself */
	char waits[1024]; /* a line for each partition that waits for what only
			     a person can give; "": none does */
};

/* Threads: main. Start the thread; returns when the handlers are open. CONFIG:
 * one refused. The database needn't be there. */
enum once_status lane_start(const struct lane_options *options,
			    struct lane **ret_lane, struct once_error *err);
/* Threads: main. After the source has dropped all partitions: ask the thread to
 * end behind its present batch. `last`: no other lane runs any more, and it
 * signs the instance off. */
void lane_ask_to_stop(struct lane *lane, bool last);
bool lane_has_ended(const struct lane *lane);
/* Threads: main. Wait for its end, asked or not, and free the lane. */
void lane_destroy(struct lane *lane);

/* Threads: source. */
struct mailbox *lane_orders(struct lane *lane);

/* Threads: any. */
void lane_get_view(struct lane *lane, struct lane_view *ret_view);

#endif
