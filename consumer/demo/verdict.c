/*
 * Each number is a row of the table below: its SQL, and what it must be. The
 * queries start from demo.sent, so whatever isn't accounted for is missed here,
 * whoever lost it.
 */
#include "verdict.h"

#include "ledger.h"
#include "text.h"

#include <stdio.h>

/* What became of each message that was sent, by its place in Kafka. */
static const char make_views[] =
	"CREATE TABLE demo.ended AS "
	"SELECT s.*, claim.msg_id IS NOT NULL AS handled, p.cause,"
	" n.next_offset IS NOT NULL AS passed,"
	" EXISTS (SELECT FROM once.consume_log l WHERE l.msg_id = s.msg_id)"
	"  AS knows_msg_id,"
	" EXISTS (SELECT FROM once.consume_log l"
	"  WHERE l.biz_id = 'refund:" DEMO_TENANT ":' || s.refund_no)"
	"  AS knows_biz_id "
	"FROM demo.sent s "
	"LEFT JOIN once.consume_log claim ON claim.topic = '" DEMO_TOPIC "'"
	" AND claim.partition = s.partition"
	" AND claim.message_offset = s.message_offset "
	"LEFT JOIN once.parked p ON p.topic = '" DEMO_TOPIC "'"
	" AND p.partition = s.partition"
	" AND p.message_offset = s.message_offset "
	"LEFT JOIN once.position n ON n.topic = '" DEMO_TOPIC "'"
	" AND n.partition = s.partition"
	" AND n.next_offset > s.message_offset;"
	/* Silently passed over, because its key was known. */
	"CREATE VIEW demo.repeat AS SELECT * FROM demo.ended"
	" WHERE passed AND NOT handled AND cause IS NULL;"
	"CREATE VIEW demo.applied AS"
	" SELECT s.refund_no, s.cents, s.quantity, count(r.refund_no) AS times,"
	"  coalesce(sum(r.amount * 100), 0) AS cents_applied,"
	"  coalesce(sum(r.quantity), 0) AS quantity_applied"
	" FROM demo.sent s LEFT JOIN refund r USING (refund_no)"
	" WHERE s.kind = 'first' GROUP BY 1, 2, 3;";

enum {
	ANY = -1, /* a share that depends on who came first */
	AT_LEAST_KILLS = -2
};

#define SENT(name) "SELECT count(*) FROM demo.sent WHERE kind = '" name "'"
#define PARKED "SELECT count(*) FROM demo.ended WHERE NOT handled AND cause "

struct row {
	const char *title; /* NULL: a heading */
	const char *sql;
	int64_t wanted;
	const char *heading;
};

/* clang-format off */
static const struct row rows[] = {
	{ .heading = "sent to Kafka" },
#define X(name, word, count, text) { text, SENT(word), count, NULL },
	ENTRY_KIND_TABLE(X)
#undef X
	{ "messages", "SELECT count(*) FROM demo.sent", COUNT_ALL, NULL },

	{ .heading = "refunds in the database" },
	{ "applied once",
	  "SELECT count(*) FROM demo.applied WHERE times = 1 "
	  "AND cents = cents_applied AND quantity = quantity_applied",
	  COUNT_FIRST, NULL },
	{ "applied twice",
	  "SELECT count(*) FROM demo.applied WHERE times > 1", 0, NULL },
	{ "lost",
	  "SELECT count(*) FROM demo.applied WHERE times = 0", 0, NULL },
	{ "that nobody asked for",
	  "SELECT count(*) FROM refund r WHERE NOT EXISTS (SELECT FROM "
	  "demo.applied a WHERE a.refund_no = r.refund_no)", 0, NULL },
	{ "orders with a wrong total",
	  "SELECT count(*) FROM orders o FULL JOIN (SELECT order_no, "
	  "sum(amount) AS sum FROM (SELECT DISTINCT refund_no, order_no, amount "
	  "FROM refund) r GROUP BY 1) r USING (order_no) "
	  "WHERE o.refunded IS DISTINCT FROM coalesce(r.sum, 0)", 0, NULL },
	{ "goods back in stock, wrongly",
	  "SELECT abs((SELECT sum(quantity) FROM stock) - "
	  "(SELECT sum(quantity) FROM demo.applied))", 0, NULL },

	{ .heading = "what stopped the rest" },
	{ "duplicates, by message-id (msg_id)",
	  "SELECT count(*) FROM demo.repeat WHERE knows_msg_id", ANY, NULL },
	{ "duplicates, by refund number (biz_id)",
	  "SELECT count(*) FROM demo.repeat "
	  "WHERE NOT knows_msg_id AND knows_biz_id", ANY, NULL },
	{ "duplicates altogether", "SELECT count(*) FROM demo.repeat",
	  COUNT_AGAIN + COUNT_PUSHED, NULL },
	{ "conflicts: same message-id, other amount",
	  PARKED "= 'conflict' AND knows_msg_id", COUNT_CHANGED / 2, NULL },
	{ "conflicts: same refund, other amount",
	  PARKED "= 'conflict' AND NOT knows_msg_id", COUNT_CHANGED / 2, NULL },
	{ "dead: a CHECK of the tables",
	  "SELECT count(*) FROM once.parked WHERE sqlstate = '23514' "
	  "AND state = 'dead'", COUNT_POISON, NULL },
	{ "dead: no key", PARKED "= 'bad_key'", COUNT_KEYLESS, NULL },
	{ "messages without an ending",
	  "SELECT count(*) FROM demo.ended WHERE NOT passed OR (NOT handled AND "
	  "cause IS NULL AND NOT knows_msg_id AND NOT knows_biz_id)", 0, NULL },

	{ .heading = "killed with SIGKILL" },
	{ "open transactions cut, and rolled back",
	  "SELECT count(*) FROM demo.cut WHERE pg_xact_status(xid) = 'aborted'",
	  AT_LEAST_KILLS, NULL },
};
/* clang-format on */

enum {
	COUNT_ROWS = sizeof(rows) / sizeof(rows[0])
};

static bool is_right(const struct row *row, int64_t number,
		     const struct verdict_facts *facts)
{
	if (row->wanted == ANY)
		return true;
	if (row->wanted == AT_LEAST_KILLS)
		return number >= (int64_t)facts->kills;
	return number == row->wanted;
}

/* 13938 as 13,938. */
static void print_number(int64_t number, int width)
{
	char digits[32];
	char grouped[48];
	int size = snprintf(digits, sizeof(digits), "%lld", (long long)number);
	int at = 0;

	for (int i = 0; i < size; i++) {
		grouped[at++] = digits[i];
		if ((size - i) % 3 == 1 && i + 1 < size)
			grouped[at++] = ',';
	}
	grouped[at] = '\0';
	printf("%*s", width, grouped);
}

static enum once_status give_row(struct database *database,
				 const struct row *row,
				 const struct verdict_facts *facts,
				 bool *is_good, struct once_error *err)
{
	int64_t number = 0;
	enum once_status status =
		database_ask(database, row->sql, &number, 1, err);
	bool right = is_right(row, number, facts);

	if (status != ONCE_OK)
		return status;
	printf("  %-42s", row->title);
	print_number(number, 10);
	puts(right ? "" : "   WRONG");
	fflush(stdout);
	if (!right)
		fprintf(stderr, "onced: %s: %lld, and not %lld\n", row->title,
			(long long)number,
			(long long)(row->wanted < 0 ? (int64_t)facts->kills
						    : row->wanted));
	*is_good = *is_good && right;
	return ONCE_OK;
}

static void print_money(const char *title, int64_t cents)
{
	printf("  %-42s", title);
	print_number(cents / 100, 10);
	printf(".%02d EUR\n", (int)(cents % 100));
}

static enum once_status give_money(struct database *database, bool *is_good,
				   struct once_error *err)
{
	static const char sql[] =
		"SELECT (SELECT sum(cents) FROM demo.sent WHERE kind = 'first'),"
		" (SELECT (sum(amount) * 100)::bigint FROM refund),"
		" (SELECT (sum(refunded) * 100)::bigint FROM orders)";
	int64_t cents[3] = { 0 };
	enum once_status status = database_ask(database, sql, cents, 3, err);

	if (status != ONCE_OK)
		return status;
	puts("\nmoney");
	print_money("of all distinct refunds sent", cents[0]);
	print_money("in table refund", cents[1]);
	print_money("in the totals of the orders", cents[2]);
	if (cents[0] == cents[1] && cents[0] == cents[2])
		return ONCE_OK;
	fprintf(stderr, "onced: the three sums of money differ\n");
	*is_good = false;
	return ONCE_OK;
}

static void give_ends(const struct verdict_facts *facts, bool *is_good)
{
	printf("  %-42s", "times");
	print_number((int64_t)facts->kills, 10);
	putchar('\n');
	if (facts->kills != facts->kills_wanted) {
		fprintf(stderr,
			"onced: the consumer was killed %u times, and not "
			"%u\n",
			facts->kills, facts->kills_wanted);
		*is_good = false;
	}
	if (facts->stop_code != 0) {
		fprintf(stderr,
			"onced: the last consumer was told to stop and ended "
			"with code %d, and not 0\n",
			facts->stop_code);
		*is_good = false;
	}
}

static void give_conclusion(const struct verdict_facts *facts, bool is_good)
{
	if (is_good)
		printf("\nRIGHT: each refund took effect once (%.0f s)\n",
		       facts->seconds);
	else
		printf("\nWRONG: see above\n");
	fflush(stdout);
}

enum once_status verdict_give(struct database *database,
			      const struct verdict_facts *facts,
			      bool *ret_is_good, struct once_error *err)
{
	enum once_status status = database_run(database, make_views, err);

	*ret_is_good = true;
	for (size_t i = 0; i < COUNT_ROWS && status == ONCE_OK; i++) {
		if (rows[i].title == NULL)
			printf("\n%s\n", rows[i].heading);
		else
			status = give_row(database, &rows[i], facts,
					  ret_is_good, err);
	}
	if (status == ONCE_OK) {
		give_ends(facts, ret_is_good);
		status = give_money(database, ret_is_good, err);
	}
	if (status == ONCE_OK)
		give_conclusion(facts, *ret_is_good);
	return status;
}
