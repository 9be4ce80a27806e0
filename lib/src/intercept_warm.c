/* A restart isn't blind: what was handled last comes back first. What was read
 * here is proved by a witness that is written behind it. */
#include "intercept.h"

#include "bytes.h"

enum {
	MOST_ROWS = 50000
};

static const char newest_sql[] =
	"SELECT msg_id, biz_id, pg_catalog.encode(fingerprint, 'hex'), "
	"(result IS NOT NULL)::int, "
	"pg_catalog.ceil(extract(epoch FROM pg_catalog.now() - consumed_at) * "
	"1000::numeric)::int8 "
	"FROM once.consume_log WHERE consumer_id = $1::int8 "
	"ORDER BY consumed_at DESC LIMIT $2::int8";

struct reading {
	struct once__intercept *intercept;
	struct once__pg *pg;
	int64_t most_rows; /* of each route */
	int64_t witness;
};

static void put_row(const struct reading *reading, size_t route,
		    const struct once_rows *rows, size_t row)
{
	struct once__keys keys = { 0 };
	struct once__mark mark = { 0 };
	struct once__row_key key;

	keys.msg_id = once_rows_get(rows, row, 0);
	keys.biz_id = once_rows_get(rows, row, 1);
	once__intercept_key(reading->intercept, route, &keys, &key);
	mark.tenure = reading->witness;
	mark.offset = ONCE__MARK_WITNESS;
	mark.other = key.other;
	mark.has_fingerprint =
		bytes_parse_hex(once_rows_get(rows, row, 2), mark.fingerprint,
				sizeof(mark.fingerprint));
	mark.has_result = once__rows_int64(rows, row, 3) != 0;
	once__marks_put(
		reading->intercept->prefilter->marks, &key.digest, &mark,
		once__prefilter_life_ms(reading->intercept->prefilter,
					once__rows_int64(rows, row, 4)));
}

/* Oldest first, so that the newest are pushed out last. */
static bool read_route(const struct reading *reading, size_t route,
		       int64_t consumer_id)
{
	const struct once_rows *rows;
	char consumer[24];
	char most[24];

	rows = once__pg_exec(
		reading->pg, ONCE__PG_OURS, newest_sql,
		ONCE_PARAMS(once__pg_int8(consumer, consumer_id),
			    once__pg_int8(most, reading->most_rows)));
	if (rows == NULL)
		return false;
	for (size_t row = once_rows_count(rows); row-- > 0;)
		put_row(reading, route, rows, row);
	return true;
}

void once__intercept_warm(struct once__intercept *intercept,
			  struct once__pg *pg, const int64_t *consumer_ids,
			  size_t route_count)
{
	struct once_prefilter *prefilter = intercept->prefilter;
	struct reading reading = { .intercept = intercept, .pg = pg };
	size_t most;

	if (prefilter == NULL || prefilter->marks == NULL ||
	    atomic_exchange(&prefilter->warmed, true))
		return;
	most = once__marks_capacity(prefilter->marks) / 2;
	most = most < MOST_ROWS ? most : MOST_ROWS;
	reading.most_rows = (int64_t)(most / route_count) + 1;
	once__pg_begin(pg);
	if (!once__tenures_witness(pg, &reading.witness)) {
		once__pg_rollback(pg);
		return;
	}
	for (size_t i = 0; i < route_count; i++)
		if (!read_route(&reading, i, consumer_ids[i]))
			break;
	if (once__pg_commit(pg) != ONCE__PG_COMMITTED)
		once__pg_rollback(pg);
}
