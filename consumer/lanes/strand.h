/*
 * strand.h - a partition as a lane sees it: the parcel it works on, how far it
 * is, and what it waits for.
 *
 * Threads: the lane's.
 */
#ifndef ONCED_STRAND_H
#define ONCED_STRAND_H

#include "log_event.h"
#include "parcel.h"

#include <stdbool.h>

struct strand {
	struct strand *next;
	struct address address;
	struct once_strand position; /* as libonce moves it */
	int32_t log_generation;      /* of its records */
	struct parcel *parcel;       /* NULL: nothing to do */
	size_t at;                   /* first delivery not ended */
	size_t taken;                /* first one that is in no batch */
	unsigned pauses;
	size_t careful; /* messages still to be taken alone: see lane_work.h */
	int64_t not_before_ms;
	bool moved; /* since the last report */
	bool halted;
	enum once_cause waits_for;  /* ENVIRONMENT, LOCKED: people are told */
	char why[ONCE_REASON_SIZE]; /* what its message waits for */
	struct log_party waiting;   /* for whatever it is */
};

struct strands {
	struct strand *first;
};

struct strand *strands_find(struct strands *strands,
			    const struct address *address);
/* NULL: no memory. */
struct strand *strands_add(struct strands *strands,
			   const struct address *address, const char *group,
			   const struct once_position *position);
/* Forget it; returns its parcel, which is the caller's. */
struct parcel *strands_remove(struct strands *strands, struct strand *strand);
/* The first becomes the last, so that all get their turn. */
void strands_rotate(struct strands *strands);

bool strand_is_ready(const struct strand *strand, int64_t now_ms);

#endif
