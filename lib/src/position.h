/*
 * position.h - the rows that say how far a partition is handled, and fence off
 * whoever thinks otherwise.
 */
#ifndef ONCE__POSITION_H
#define ONCE__POSITION_H

#include "pg.h"
#include "pg_array.h"

/* One strand in one transaction. */
struct once__move {
	struct once_strand *strand;
	int64_t next_offset; /* planned; equal to the strand's: stays */
	unsigned attempts;   /* planned, of the message that is next */
	const struct once_record *last; /* of those ended: the anchor; NULL */
	bool stopped;     /* a message of it waits: later ones are held */
	bool was_stopped; /* by an earlier transaction of this run */
	bool braked;      /* in a try: see batch_brake.c */
};

struct once__partition {
	const char *group;
	const char *topic;
	int32_t number;
};

/* Where the partitions of a topic begin: by number; negative: not said. */
struct once__starts {
	const char *group;
	const char *topic;
	const int64_t *offsets;
	size_t count;
};

/* Memory that is used again. All zero at first. */
struct once__positions {
	struct once__pg_array groups;
	struct once__pg_array topics;
	struct once__pg_array partitions;
	struct once__pg_array from;
	struct once__pg_array to;
	struct once__pg_array attempts;
	struct once__pg_array anchor_offsets;
	struct once__pg_array anchor_times;
	struct once__pg_array anchor_hashes;
	struct once__pg_array tenures;
};

/* Is there anything to write? */
bool once__move_is_useful(const struct once__move *move);

/* Move the rows; waits. `ret_fenced`: a row isn't where its strand says,
 * or has another tenure. */
bool once__positions_move(struct once__positions *positions,
			  struct once__pg *pg, const struct once__move *moves,
			  size_t count, bool *ret_fenced);

bool once__positions_read(struct once__pg *pg,
			  const struct once__partition *partition,
			  struct once_position *ret_position);
/* All of the group's in a topic. */
bool once__positions_list(struct once__pg *pg, const char *group,
			  const char *topic, once_position_f *told, void *arg);
/* Write down who reads it from now on (NULL: nobody in particular), and begin
 * the tenure that its marks are proved by; 0: there is no row. */
bool once__positions_take(struct once__pg *pg,
			  const struct once__partition *partition,
			  const char *instance_id, int64_t *ret_tenure);
/* Give it an anchor that no message has, if it is at `offset`. */
void once__positions_disown(struct once__pg *pg,
			    const struct once__partition *partition,
			    int64_t offset);
void once__positions_name_log(struct once__pg *pg,
			      const struct once__partition *partition,
			      const char *log_id);
/* To be said before a position is set otherwise than by handling messages. */
void once__positions_end_tenures(struct once__pg *pg, const char *group,
				 const char *topic,
				 struct once__pg_array *partitions);

void once__positions_write(struct once__positions *positions,
			   struct once__pg *pg,
			   const struct once__starts *starts);

void once__positions_fini(struct once__positions *positions);

#endif
