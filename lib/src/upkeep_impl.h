/* upkeep_impl.h - what the files of upkeep share. */
#ifndef ONCE__UPKEEP_IMPL_H
#define ONCE__UPKEEP_IMPL_H

#include "pg.h"

#include <once/upkeep.h>

/* How far each partition may be cleaned: the least position of the groups that
 * read under a scope. Of a scope nobody of whom is known it is anybody's. */
#define ONCE__HELD_SQL(consumer_id) \
	"SELECT p.topic, p.partition, min(p.next_offset) AS next_offset " \
	"FROM once.position AS p WHERE p.group_name IN (" \
	"SELECT g.group_name FROM once.consumer_group AS g " \
	"WHERE g.consumer_id = " consumer_id ") OR NOT EXISTS (" \
	"SELECT FROM once.consumer_group AS g WHERE g.consumer_id = " consumer_id \
	") GROUP BY p.topic, p.partition"

enum {
	ONCE__TIME_SIZE = 64
};

/* Where the round is. The rows of one transaction have one time, so a time
 * alone doesn't say how many of them were looked at. */
struct once__clean_place {
	size_t scope;
	int64_t consumer_id;        /* 0: not begun */
	char time[ONCE__TIME_SIZE]; /* of the last row that was looked at */
	int64_t left_behind;        /* rows of that time that are still there */
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

/* At the begin of a round: tenures that have ended longer ago than the
 * retention, or than 30 days. */
enum once_status once__cleaner_forget_tenures(struct once_cleaner *cleaner,
					      struct once_error *err);

#endif
