/*
 * lane_work.h - what a lane has to do: partitions to open, strands with
 * parcels, and the batch that is made of them; and parked messages that wait.
 *
 *	lane_orders.c   orders become openings, strands and parcels
 *	lane_batch.c    strands become a batch, perhaps while another one runs
 *	lane_work.c     a batch is run; its endings become reports
 *	lane_ending.c   what follows from the ending of a message
 *	lane_waiting.c  parked messages, taken up when their time has come
 *
 * A strand whose last reader has died may hold the message that killed it. What
 * that reader can have had in its batch is taken alone, one message at a time,
 * and written down beforehand.
 *
 * Threads: the lane's.
 */
#ifndef ONCED_LANE_WORK_H
#define ONCED_LANE_WORK_H

#include "lane.h"
#include "parcel.h"
#include "strand.h"

struct lane_batch {
	struct once_item *items;
	struct strand **owners; /* of each item */
	size_t count;
};

struct lane_work {
	const struct lane_options *options;
	struct once_session *session;
	struct strands strands;
	struct order *openings; /* in order of arrival, not answered yet */

	struct lane_batch batch;
	struct lane_batch ahead; /* made ready to be the next; empty: none */
	size_t most;             /* of the next one: see lane_work_run() */
	bool unsettled;          /* the COMMIT of `batch` was never answered */

	int64_t waiting_at_ms; /* when to look for a parked one */
	bool waits_changed; /* a strand waits, or doesn't any more: `waits_for`
			     */
};

enum once_status lane_work_init(struct lane_work *work,
				const struct lane_options *options,
				struct once_session *session,
				struct once_error *err);
void lane_work_fini(struct lane_work *work);

/* Takes the order. */
void lane_work_obey(struct lane_work *work, struct order *order);
void lane_work_forget_orders(struct lane_work *work);
/* Ask the database for the positions of what is to be opened. */
enum once_status lane_work_open(struct lane_work *work, struct once_error *err);
/* After a new session: a strand whose row isn't where the strand says is lost.
 * A database that was failed over has forgotten the last transactions. */
enum once_status lane_work_verify(struct lane_work *work,
				  struct once_error *err);
/* When there is something to do: a monotonic time; INT64_MAX: not by itself. */
int64_t lane_work_due_ms(const struct lane_work *work);

bool lane_batch_init(struct lane_batch *batch, size_t most);
void lane_batch_fini(struct lane_batch *batch);
/* It is one message that is taken alone. */
bool lane_batch_is_careful(const struct lane_batch *batch);

/* What strands wait for that a person should know of: a line for each, as many
 * as have room. */
void lane_work_describe_waits(const struct lane_work *work, char *text,
			      size_t size);

/* Whether transactions of a route take turns: in the log when it begins and
 * ends, and in the numbers. */
void lane_work_tell_turns(const struct lane_work *work);

/* Make a batch of what is ready; returns its size. */
size_t lane_work_collect(struct lane_work *work, int64_t now_ms);
/* once_meanwhile_f: make a full batch ready behind the one that runs. It will
 * be the next one only if it is then what would be taken anyway. */
void lane_work_collect_ahead(void *arg);
/* A strand ends; returns its parcel, which is the caller's. */
struct parcel *lane_work_remove(struct lane_work *work, struct strand *strand);
/* Run it and report. While all of a batch are duplicates, the next one may be
 * larger; libonce keeps the limit for what takes more than a look. After
 * UNKNOWN the work is unsettled until lane_work_settle() has returned OK. */
enum once_status lane_work_run(struct lane_work *work, struct once_error *err);
enum once_status lane_work_settle(struct lane_work *work,
				  struct once_error *err);

/* A partition goes: nobody needs to settle the batch, for whoever opens one of
 * its partitions next will read what became of it. */
void lane_work_forget_unsettled(struct lane_work *work);

/* Take up a parked message, if one is due; report nothing: it is nobody's. */
enum once_status lane_work_run_waiting(struct lane_work *work,
				       struct once_error *err);

/* What endings mean for the numbers, the strands (NULL: a parked message has
 * none) and the log. */
void lane_work_end(struct lane_work *work, const struct once_item *items,
		   struct strand *const *strands, size_t count);

/* Takes the parcel: sends it home. NULL `reason`: none. */
void lane_work_report(struct lane_work *work, enum report_kind kind,
		      const struct address *address, struct parcel *parcel,
		      int64_t next_offset, const char *reason);

/* once_log_f */
void lane_work_log(void *arg, int level, const struct once_message *msg,
		   const struct once_route *route, const char *text);

#endif
