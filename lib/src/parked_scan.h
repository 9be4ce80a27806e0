/*
 * parked_scan.h - going through parked messages page by page, in the order of
 * their primary key, each row once: what is changed on the way, or comes back
 * behind, isn't met again.
 */
#ifndef ONCE__PARKED_SCAN_H
#define ONCE__PARKED_SCAN_H

#include "pg_array.h"

#include <once/parked.h>

/* The columns of the primary key: what a page is left by. */
#define ONCE__PARKED_PLACE \
	"p.consumer_id, p.topic, p.partition, p.message_offset, " \
	"p.message_time_ms, p.log_generation"

/* A page. A parameter that is null switches its condition off. */
#define ONCE__PARKED_PAGE \
	" FROM once.parked AS p JOIN once.consumer AS c " \
	"ON c.id = p.consumer_id " \
	"WHERE (($1::text IS NULL AND $2::text[] IS NULL) " \
	"OR pg_catalog.starts_with(c.scope, $1::text || '/') " \
	"OR c.scope = ANY ($2::text[])) " \
	"AND ($3::text IS NULL OR p.state = $3::text) " \
	"AND ($4::text IS NULL OR p.cause = $4::text) " \
	"AND ($5::text IS NULL OR p.topic = $5::text) " \
	"AND ($6::int4 IS NULL OR p.partition = $6::int4) " \
	"AND ($7::int8 IS NULL OR p.message_offset = $7::int8) " \
	"AND ($8::bytea IS NULL OR p.key = $8::bytea " \
	"OR p.msg_id = $9::text OR p.biz_id = $9::text) " \
	"AND ($10::int8 IS NULL OR p.parked_at < " \
	"pg_catalog.now() - $10::int8::float8 * interval '1 millisecond') " \
	"AND ($11::int8 IS NULL OR p.parked_at >= " \
	"pg_catalog.now() - $11::int8::float8 * interval '1 millisecond') " \
	"AND ($19::text IS NULL OR p.group_name IN ('', $19::text)) " \
	"AND (" ONCE__PARKED_PLACE ") > " \
	"($12::int8, $13::text, $14::int4, $15::int8, $16::int8, $17::int4) " \
	"ORDER BY " ONCE__PARKED_PLACE " LIMIT $18::int8 "

enum {
	ONCE__PARKED_PARAMS = 19,
	ONCE__PARKED_PARAMS_MOST = 21 /* with two of a statement's own */
};

struct once__parked_scan {
	const struct once_parked_filter *filter;
	enum once_parked_state state; /* the filter's, or what it came to */
	int64_t left;                 /* of the limit; -1: there is none */

	/* Behind this one the next page begins. */
	int64_t consumer_id;
	struct text topic;
	int64_t partition;
	int64_t offset;
	int64_t time_ms;
	int64_t log_generation;

	struct once__pg_array scopes;
	char numbers[ONCE__PARKED_PARAMS][24];
	struct once_param params[ONCE__PARKED_PARAMS_MOST];
};

/* INVALID: the filter can't be meant. The filter outlives the scan. */
enum once_status once__parked_scan_init(struct once__parked_scan *scan,
					const struct once_parked_filter *filter,
					struct once_error *err);
void once__parked_scan_fini(struct once__parked_scan *scan);

/* Fill `params` for a page of at most `size` (-1: all) or of what is left;
 * returns which of the two. */
int64_t once__parked_scan_prepare(struct once__parked_scan *scan, int64_t size);

/* Go on behind that row; the columns of ONCE__PARKED_PLACE begin at `column`.
 * false: no memory. */
bool once__parked_scan_move(struct once__parked_scan *scan,
			    const struct once_rows *rows, size_t row,
			    size_t column);

/* The filter, for people: `state="dead" topic="refunds"`. */
void once__parked_scan_tell(const struct once__parked_scan *scan,
			    struct text *text);

#endif
