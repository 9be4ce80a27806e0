/*
 * tables.c - what all stages write to.
 *
 * The idea: refund_no has an index as a primary key would have, but not a
 * unique one, so that a refund booked twice is seen and not refused.
 */
#include "tables.h"

#include <check.h>
#include <inttypes.h>

static const char create_sql[] =
	"CREATE TABLE refund (refund_no text COLLATE \"C\" NOT NULL, "
	"order_no text NOT NULL, sku text NOT NULL, amount numeric NOT NULL, "
	"booked_at timestamptz NOT NULL DEFAULT now());"
	"CREATE INDEX refund_no ON refund (refund_no);"
	"CREATE TABLE little (number int4 NOT NULL)";

static const char digest_sql[] =
	"SELECT concat((SELECT sum(hashtextextended(concat_ws('|', refund_no, "
	"order_no, sku, amount), 0)) FROM refund), ' ', (SELECT sum("
	"hashtextextended(concat_ws('|', consumer_id, msg_id, biz_id, topic, "
	"partition, message_offset, fingerprint, result), 0)) "
	"FROM once.consume_log))";

void tables_create(struct bench *bench)
{
	pg_fixture_run(&bench->pg, create_sql);
	pg_fixture_run(&bench->pg, "INSERT INTO once.consumer (scope) "
				   "VALUES ('" BENCH_SCOPE "')");
	ck_assert_int_eq(pg_fixture_get_int64(&bench->pg,
					      "SELECT id FROM once.consumer"),
			 TABLES_CONSUMER_ID);
}

void tables_empty(struct bench *bench)
{
	pg_fixture_run(&bench->pg, "TRUNCATE refund, once.consume_log");
	tables_settle(bench);
}

void tables_settle(struct bench *bench)
{
	pg_fixture_run(&bench->pg, "TRUNCATE once.position");
	pg_fixture_run(&bench->pg, "CHECKPOINT");
}

static void check_number(struct bench *bench, const char *what, const char *sql,
			 int64_t wanted)
{
	int64_t found = pg_fixture_get_int64(&bench->pg, sql);

	ck_assert_msg(found == wanted,
		      "%s: %" PRId64 ", and should be %" PRId64, what, found,
		      wanted);
}

void tables_check(struct bench *bench, int64_t count)
{
	check_number(bench, "refunds", "SELECT count(*) FROM refund", count);
	check_number(bench, "different refunds",
		     "SELECT count(DISTINCT refund_no) FROM refund", count);
	check_number(bench, "claims", "SELECT count(*) FROM once.consume_log",
		     count);
	check_number(bench, "parked messages",
		     "SELECT count(*) FROM once.parked", 0);
}

char *tables_digest(struct bench *bench)
{
	return pg_fixture_get_text(&bench->pg, digest_sql);
}
