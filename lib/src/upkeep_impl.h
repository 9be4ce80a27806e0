/* upkeep_impl.h - what the files of upkeep share. */
#ifndef ONCE__UPKEEP_IMPL_H
#define ONCE__UPKEEP_IMPL_H

#include "pg.h"

#include <once/upkeep.h>

/* How far each partition may be cleaned: the least position of the groups that
 * read under a scope. Of a scope nobody of whom is known it is anybody's. */
#define ONCE__HELD_SQL(consumer_id) \
	"SELECT p.topic, p.partition, pg_catalog.min(p.next_offset) AS " \
	"next_offset " \
	"FROM once.position AS p WHERE p.group_name IN (" \
	"SELECT g.group_name FROM once.consumer_group AS g " \
	"WHERE g.consumer_id = " consumer_id ") OR NOT EXISTS (" \
	"SELECT FROM once.consumer_group AS g WHERE g.consumer_id = " \
	"" consumer_id \
	") GROUP BY p.topic, p.partition"

/* How long the rows of a scope are kept: the longest that one of its groups, or
 * `own`, has said; -1: for ever; null: nobody has. */
#define ONCE__KEEP_SQL(consumer_id, own) \
	"SELECT CASE WHEN least(pg_catalog.min(g.retention_ms), " own ") < " \
	"0 THEN -1 " \
	"ELSE greatest(pg_catalog.max(g.retention_ms), " own ") END AS ms " \
	"FROM once.consumer_group AS g WHERE g.consumer_id = " consumer_id

enum {
	ONCE__TIME_SIZE = 64
};

/* What a scope's turn begins with, by the database's clock. */
struct once__clock {
	int64_t now_ms;
	int64_t right_ms; /* when it was last found right, */
	int64_t retention_ms;
};

/* Where the round is. The rows of one transaction have one time, so a time
 * alone doesn't say how many of them were looked at. */
struct once__clean_place {
	size_t scope;
	int64_t consumer_id;         /* 0: not begun */
	bool kept;                   /* all of it, this time */
	char until[ONCE__TIME_SIZE]; /* what is older may go */
	char time[ONCE__TIME_SIZE];  /* of the last row that was looked at */
	int64_t left_behind; /* rows of that time that are still there */
};

struct once_cleaner {
	struct once_cleaner_options options;
	struct once__pg *pg;
	struct once__clean_place at;
	int64_t most_rows; /* of one transaction */
};

/* The planner's settings for a session of ours. */
enum once_status once__cleaner_settle(struct once__pg *pg,
				      struct once_error *err);

/* Within the transaction that begins a scope's turn. Its clock can be believed,
 * and that it was right now is queued; or the step says why not. */
bool once__cleaner_check_clock(struct once_cleaner *cleaner,
			       const struct once__clock *clock,
			       struct once_clean_step *step);

/* At the begin of a round: tenures that have ended longer ago than the
 * retention, or than 30 days. */
enum once_status once__cleaner_forget_tenures(struct once_cleaner *cleaner,
					      struct once_error *err);

#endif
