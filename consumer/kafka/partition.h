/*
 * partition.h - what the source knows of a partition, and the states it can be
 * in.
 *
 *	IDLE → OPENING → READY → RUNNING        the database had a position
 *	           ↓        ↑
 *	       RESOLVING → CREATING             it hadn't: where to start?
 *
 *	READY, RUNNING → OPENING    position or log aren't as we thought
 *	RUNNING → READY      to be read anew from where we are
 *	any → HALTED         only a person can say how to go on
 *	any → DROPPING → IDLE    revoked, or we stop
 *
 * Threads: the source's.
 */
#ifndef ONCED_PARTITION_H
#define ONCED_PARTITION_H

#include "parcel.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

/* clang-format off */
#define PARTITION_STATE_TABLE(X)                                            \
	X(IDLE,      "idle",      "another member has it, or nobody")       \
	X(OPENING,   "opening",   "its position is being read")             \
	X(RESOLVING, "resolving", "it has none: Kafka is asked for a start") \
	X(CREATING,  "creating",  "the start is being written")             \
	X(READY,     "ready",     "to be read from `fetch_next`")           \
	X(RUNNING,   "running",   "is read")                                \
	X(HALTED,    "halted",    "a person has to say how to go on")       \
	X(DROPPING,  "dropping",  "its lane is asked to let go")
/* clang-format on */

enum partition_state {
#define X(name, word, text) PARTITION_##name,
	PARTITION_STATE_TABLE(X)
#undef X
};

/* What a running one is seen to do. */
enum partition_watched {
	PARTITION_FLOWS,
	PARTITION_HELD_BACK, /* by an open transaction of a producer */
	PARTITION_SILENT,    /* there is data, and its broker doesn't answer */
	PARTITION_DENIED,    /* its topic may not be read */
	PARTITION_STALLED    /* there is data, and none comes */
};

/* Room for a reason, and the command that helps. */
#define PARTITION_WHY_SIZE 768

struct source_partition {
	struct source_partition *next;
	char *topic;
	int32_t number;
	size_t route;
	struct source_lane *lane; /* NULL: none yet */

	enum partition_state state;
	uint64_t epoch;          /* of the assignment */
	rd_kafka_queue_t *queue; /* NULL: not assigned */
	bool assigned;           /* librdkafka reads it */
	bool believed;           /* its position: see source_offsets.c */
	bool topic_known;        /* the group has a position in the topic */
	bool busy;               /* its lane has a parcel */
	int64_t busy_since_ms;
	int64_t sent_ms;              /* when the lane was given it */
	size_t parcel_size;           /* of the next one: see source_pull.c */
	size_t message_size;          /* of those in the last one; 0: none */
	size_t queue_most;            /* that its queue had: source_refill.c */
	rd_kafka_message_t *ahead;    /* pulled while it was busy */
	bool resting;                 /* its queue was emptied: read it anew */
	int64_t rested_next;          /* what its queue has is from here on */
	int64_t first_next;           /* the first we were told; -1: nothing */
	int64_t fetch_next;           /* to be pulled next; -1: not known */
	int64_t handled_next;         /* all before it is in the database */
	int64_t stored_next;          /* given to librdkafka; -1: nothing */
	int64_t committed_next;       /* acknowledged by Kafka; -1: nothing */
	int64_t retry_at_ms;          /* of RESOLVING */
	char why[PARTITION_WHY_SIZE]; /* it is halted, stalls, is silent */

	enum partition_watched watched;
	int64_t watched_at;     /* its position when it last moved */
	int64_t still_since_ms; /* or was last asked for */

	/* Is this the log that we were in? */
	bool proving;      /* `anchor` has to come first */
	bool absent;       /* it hasn't, and may that be? source_absent.c */
	bool suspected;    /* until it is opened again and compared */
	bool unidentified; /* `log_id` isn't compared yet */
	bool asked_for_id; /* the question that is out is its, too */
	char log_id[ONCE_LOG_ID_SIZE]; /* the topic's; "": not known */
	struct once_anchor anchor;     /* what was handled last */
	struct once_anchor
		pulled; /* what was pulled last; offset -1: nothing */
	struct once_anchor witness; /* pulled while Kafka knew the group */
	int64_t opened_next;        /* where the database had it */
	int64_t sent_next; /* committed, perhaps not acknowledged; -1 */
	struct once_anchor sent_pulled; /* `pulled` at that time */
	bool looked_at;                 /* in this assignment */
	int64_t gone_anchor; /* isn't in the log any more; -1: none */
};

struct source_partition *partition_create(const char *topic, int32_t number,
					  size_t route);
void partition_destroy(struct source_partition *partition);

/* The only way to change a state; aborts on an edge that isn't allowed. */
void partition_enter(struct source_partition *partition,
		     enum partition_state state);
const char *partition_state_word(enum partition_state state);

/* Assigned, whatever it is doing. */
bool partition_is_held(const struct source_partition *partition);
/* On its way to be read. */
bool partition_is_opening(const struct source_partition *partition);
/* From where it is to be read: `fetch_next`, or what comes before it and is to
 * be compared. */
int64_t partition_start_offset(const struct source_partition *partition);
/* A new assignment: nothing is known of its log, but that it was suspected. */
void partition_forget_log(struct source_partition *partition);

struct address partition_address(struct source_partition *partition);

#endif
