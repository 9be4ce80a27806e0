/*
 * parcel.h - what goes between the source and a lane.
 *
 *	source → lane   order:  open this partition, handle this parcel, drop it
 *	lane → source   report: it is open, so far is handled, it is dropped
 *
 * Both name the partition by the source's own pointer, which a lane never looks
 * into, and by the epoch of its assignment: what comes back from an older epoch
 * changes nothing.
 *
 * Ownership: whoever holds an order or report owns it, and the parcel in it.
 *The records of a parcel borrow from the library's buffers; a lane never frees
 * them, it sends the parcel home.
 */
#ifndef ONCED_PARCEL_H
#define ONCED_PARCEL_H

#include "mailbox.h"

#include <once/once.h>
#include <stdbool.h>

enum {
	PARCEL_MOST_BATCHES = 16 /* that a parcel, or a run, may hold */
};

struct source_lane;
struct source_partition;

struct delivery {
	struct once_record record;
	void *owner; /* the library's message; the source's to free */
};

/* Messages of one partition, in the order of their offsets. */
struct parcel {
	struct source_lane *lane; /* who has it; the source's to know */
	size_t count;
	size_t ended; /* of them, from the first on; the lane counts */
	struct delivery deliveries[];
};

/* Which partition, in which assignment, is spoken of. */
struct address {
	struct source_partition *partition;
	uint64_t epoch;
	const char *topic; /* lives as long as the source */
	int32_t number;
	size_t route;
};

enum order_kind {
	ORDER_OPEN,   /* where does its position stand? */
	ORDER_CREATE, /* not there: write `offsets`, then as for OPEN */
	ORDER_DISOWN, /* it is in another log at `next_offset`: write it down */
	ORDER_NAME,   /* write down its `log_id` */
	ORDER_HANDLE, /* `parcel` */
	ORDER_DROP,   /* forget it, when nothing of it is in flight */
	ORDER_STOP    /* end the lane */
};

struct order {
	struct mail mail;
	enum order_kind kind;
	struct address address;
	struct parcel *parcel;
	int64_t next_offset;
	int64_t *offsets; /* by partition number; -1: none */
	size_t offset_count;
	char log_id[ONCE_LOG_ID_SIZE];
};

enum report_kind {
	REPORT_OPENED,  /* `position` */
	REPORT_HANDLED, /* all before `next_offset` is ended; with the parcel
			   when that was all of it */
	REPORT_LOST,    /* the position isn't what we thought: open it again */
	REPORT_HALTED,  /* a message stops it: `reason` */
	REPORT_DROPPED
};

struct report {
	struct mail mail;
	enum report_kind kind;
	struct address address;
	struct parcel *parcel; /* NULL: the lane still has it, or had none */
	struct once_position position;
	int64_t next_offset;
	char reason[ONCE_REASON_SIZE];
};

#endif
