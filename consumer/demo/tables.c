/*
 * The refund table loses its primary key here: it would stop a second refund
 * even if onced didn't, and the demo is about onced. (The orders' and the
 * stock's totals have no guard anyway.)
 */
#include "tables.h"

#include "error.h"
#include "text.h"

/* handlers/refund.sql, embedded by CMake. */
extern const char refund_sql[];

static const char more_sql[] =
	"ALTER TABLE refund DROP CONSTRAINT refund_pkey;"
	"INSERT INTO orders SELECT format('O-%s', lpad(n::text, 5, '0')), 1000 "
	"FROM generate_series(0, 4999) n;"
	"INSERT INTO stock SELECT format('S-%s-%s', p, n), 0 "
	"FROM generate_series(0, 3) p, generate_series(0, 24) n;"
	"CREATE SCHEMA demo;"
	"CREATE TABLE demo.cut (xid xid8);"
	"CREATE TABLE demo.sent (kind text, partition integer,"
	" message_offset bigint, cents bigint, quantity integer, msg_id text,"
	" refund_no text);";

_Static_assert(DEMO_ORDERS == 5000 && DEMO_PARTITIONS == 4 && DEMO_SKUS == 25,
	       "the SQL above counts to these");

enum once_status tables_create(struct database *database,
			       struct once_error *err)
{
	enum once_status status = database_run(database, refund_sql, err);

	if (status == ONCE_OK)
		status = database_run(database, more_sql, err);
	return status;
}

enum once_status tables_add_ledger(struct database *database,
				   const struct ledger *ledger,
				   struct once_error *err)
{
	scoped_text struct text rows = { 0 };
	struct once_bytes lines;
	enum once_status status;

	ledger_add_rows(ledger, &rows);
	if (rows.broken)
		return error_no_memory(err);
	lines.data = rows.data;
	lines.size = rows.size;
	status = database_copy(
		database, "COPY demo.sent FROM STDIN (FORMAT csv)", lines, err);
	if (status == ONCE_OK)
		status = database_run(database, "ANALYZE", err);
	return status;
}
