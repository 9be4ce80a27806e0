/*
 * test_verdict.c - the demo's verdict finds what it is there to find. A perfect
 * consumer is played in SQL; then one thing goes wrong at a time.
 */
#include "database.h"
#include "pg_fixture.h"
#include "servers.h"
#include "suite.h"
#include "tables.h"
#include "verdict.h"

#include <once/once.h>
#include <stdio.h>

static struct pg_fixture pg;
static struct database *database;

static const struct verdict_facts right = { .kills = 3, .kills_wanted = 3 };

/* What libonce and the handler would have left behind. */
static const char perfect[] =
	"INSERT INTO once.consumer (scope) VALUES ('demo/refund');"
	"INSERT INTO refund SELECT refund_no, 'O-' || lpad((substr(refund_no, "
	" 3)::int / 2)::text, 5, '0'), 'S-0-0', quantity, cents / 100.0, 'EUR'"
	" FROM demo.sent WHERE kind = 'first';"
	"UPDATE orders o SET refunded = r.sum FROM (SELECT order_no,"
	" sum(amount) FROM refund GROUP BY 1) r WHERE r.order_no = o.order_no;"
	"UPDATE stock SET quantity = (SELECT sum(quantity) FROM refund)"
	" WHERE sku = 'S-0-0';"
	"INSERT INTO once.consume_log (consumer_id, msg_id, biz_id, topic,"
	" partition, message_offset) SELECT 1, msg_id, 'refund:demo:' ||"
	" refund_no, 'refunds', partition, message_offset FROM demo.sent"
	" WHERE kind = 'first';"
	"INSERT INTO once.parked (consumer_id, topic, partition, message_offset,"
	" state, message_time_ms, cause, sqlstate)"
	" SELECT 1, 'refunds', partition, message_offset, 'dead', 0,"
	" CASE kind WHEN 'changed' THEN 'conflict' WHEN 'poison' THEN 'attempts'"
	"  ELSE 'bad_key' END,"
	" CASE kind WHEN 'poison' THEN '23514' END"
	" FROM demo.sent WHERE kind IN ('changed', 'poison', 'keyless');"
	"INSERT INTO once.position (group_name, topic, partition, next_offset)"
	" SELECT 'demo', 'refunds', partition, max(message_offset) + 1"
	" FROM demo.sent GROUP BY partition;";

static void play_broker(struct ledger *ledger)
{
	int64_t ends[DEMO_PARTITIONS] = { 0 };

	for (size_t i = 0; i < ledger->count; i++)
		ledger->entries[i].offset =
			ends[ledger->entries[i].partition]++;
}

static void play_kill(void)
{
	char sql[80];
	int64_t xid;

	pg_fixture_run(&pg, "BEGIN");
	xid = pg_fixture_get_int64(&pg, "SELECT pg_current_xact_id()");
	pg_fixture_run(&pg, "ROLLBACK");
	snprintf(sql, sizeof(sql), "INSERT INTO demo.cut VALUES ('%lld')",
		 (long long)xid);
	pg_fixture_run(&pg, sql);
}

static void set_up(void)
{
	struct ledger ledger;
	struct once_error err = { 0 };

	pg_fixture_init(&pg);
	ck_assert(once_migrate(pg.conninfo, 0, NULL, NULL, &err) == ONCE_OK);
	ck_assert(database_open(pg.conninfo, &database, &err) == ONCE_OK);
	ck_assert_msg(tables_create(database, &err) == ONCE_OK, "%s", err.text);
	ck_assert(ledger_init(&ledger, &err) == ONCE_OK);
	play_broker(&ledger);
	ck_assert_msg(tables_add_ledger(database, &ledger, &err) == ONCE_OK,
		      "%s", err.text);
	ledger_fini(&ledger);
	pg_fixture_run(&pg, perfect);
	for (unsigned i = 0; i < right.kills; i++)
		play_kill();
}

static void tear_down(void)
{
	database_close(database);
	pg_fixture_fini(&pg);
}

/* What is done to the database, and what the verdict makes there, is undone. */
static bool judge(const char *sabotage, const struct verdict_facts *facts)
{
	struct once_error err = { 0 };
	bool is_good = false;

	ck_assert(database_run(database, "BEGIN", &err) == ONCE_OK);
	ck_assert_msg(database_run(database, sabotage, &err) == ONCE_OK, "%s",
		      err.text);
	ck_assert_msg(verdict_give(database, facts, &is_good, &err) == ONCE_OK,
		      "%s", err.text);
	ck_assert(database_run(database, "ROLLBACK", &err) == ONCE_OK);
	return is_good;
}

START_TEST(what_is_right_is_called_right)
{
	ck_assert(judge("", &right));
}
END_TEST

START_TEST(whatever_went_wrong_is_found)
{
	/* clang-format off */
	static const char *const sabotages[] = {
		/* twice, lost, invented, wrong */
		"INSERT INTO refund SELECT * FROM refund LIMIT 1",
		"DELETE FROM refund WHERE refund_no = 'R-00004'",
		"INSERT INTO refund SELECT 'X-00001', order_no, sku, quantity, "
		"amount, currency FROM refund LIMIT 1",
		"UPDATE refund SET amount = amount + 1 "
		"WHERE refund_no = 'R-00004'",
		"UPDATE refund SET quantity = quantity + 1 "
		"WHERE refund_no = 'R-00004'",
		"UPDATE orders SET refunded = refunded + 1 "
		"WHERE order_no = 'O-00004'",
		"UPDATE stock SET quantity = quantity + 1 "
		"WHERE sku = 'S-0-0'",
		/* not ended, or in no known way */
		"UPDATE once.position SET next_offset = next_offset - 1 "
		"WHERE partition = 1",
		"DELETE FROM once.position WHERE partition = 1",
		"DELETE FROM once.consume_log WHERE msg_id = 'm-00003'",
		"DELETE FROM once.parked WHERE (partition, message_offset) = "
		"(SELECT partition, message_offset FROM once.parked "
		"WHERE cause = 'conflict' LIMIT 1)",
		"DELETE FROM once.parked WHERE cause = 'bad_key'",
		"DELETE FROM once.parked WHERE sqlstate = '23514'",
		/* the ledger itself */
		"DELETE FROM demo.sent WHERE kind = 'again'",
		/* a kill between two batches proves little */
		"DELETE FROM demo.cut",
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(sabotages) / sizeof(sabotages[0]); i++)
		ck_assert_msg(!judge(sabotages[i], &right),
			      "it was called right after: %s", sabotages[i]);
}
END_TEST

START_TEST(a_story_that_went_another_way_is_not_right)
{
	struct verdict_facts fewer = right;
	struct verdict_facts failed = right;

	fewer.kills = 2;
	failed.stop_code = 74;
	ck_assert(!judge("", &fewer));
	ck_assert(!judge("", &failed));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verdict of the demo");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, what_is_right_is_called_right);
	tcase_add_test(tests, whatever_went_wrong_is_found);
	tcase_add_test(tests, a_story_that_went_another_way_is_not_right);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
