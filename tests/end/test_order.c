/*
 * test_order.c - what a message that doesn't end holds up, and what it doesn't:
 * its own partition waits behind it in order, the others go on.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(letters) (sizeof(letters) / sizeof(*(letters)))

enum {
	WAIT_MS = 30000
};

struct order {
	struct onced_fixture fixture;
	struct onced onced;
};

static void start(struct order *order, int partitions,
		  const struct onced_options *options)
{
	onced_fixture_init(&order->fixture, partitions);
	onced_init(&order->onced, &order->fixture, options);
	onced_start(&order->onced, NULL);
}

static void stop(struct order *order)
{
	ck_assert_int_eq(onced_stop(&order->onced), 0);
	onced_fixture_fini(&order->fixture);
}

static void wait_for_position(struct order *order, int32_t partition,
			      int64_t offset)
{
	char sql[128];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(max(next_offset), -1) FROM once.position "
		 "WHERE partition = %d",
		 (int)partition);
	onced_fixture_wait_for(&order->fixture, sql, offset, WAIT_MS);
}

static void check_order(struct order *order)
{
	static const char sql[] =
		"SELECT count(*) FROM (SELECT message_offset - "
		"lag(message_offset) OVER (PARTITION BY partition ORDER BY "
		"ordinal) AS step FROM effect) AS steps WHERE step <> 1";

	ck_assert_int_eq(pg_fixture_get_int64(&order->fixture.pg, sql), 0);
}

static int64_t count_parked(struct order *order)
{
	return pg_fixture_get_int64(&order->fixture.pg,
				    "SELECT count(*) FROM once.parked");
}

struct committed {
	struct kafka_fixture *kafka;
	int32_t partition;
	int64_t offset;
};

static bool is_committed(void *arg)
{
	const struct committed *wanted = arg;

	return kafka_fixture_get_committed(wanted->kafka, wanted->partition) ==
	       wanted->offset;
}

/* C04 */
START_TEST(a_handler_that_hangs_holds_up_its_own_partition_only)
{
	static const struct letter letters[] = {
		{ 0, "m0", "b0", "hang", "v" },
		{ 1, "m1", "b1", NULL, "v" },
		{ 1, "m2", "b2", NULL, "v" },
	};
	struct order order;
	struct committed wanted = { &order.fixture.kafka, 1, 2 };

	onced_fixture_init(&order.fixture, 2);
	onced_init(&order.onced, &order.fixture, NULL);
	onced_fixture_put_file(&order.fixture, "hang");
	onced_start(&order.onced, NULL);
	onced_fixture_send(&order.fixture, letters, COUNT(letters));
	onced_fixture_wait_for_file(&order.fixture, "hanging", WAIT_MS);
	wait_for_position(&order, 1, 2);
	ck_assert(wait_until(is_committed, &wanted, WAIT_MS));
	ck_assert_int_le(kafka_fixture_get_committed(wanted.kafka, 0), 0);
	ck_assert_int_eq(onced_fixture_position(&order.fixture, 0), 0);
	onced_fixture_remove_file(&order.fixture, "hang");
	onced_fixture_wait_for_all(&order.fixture, WAIT_MS);
	onced_fixture_check_effects(&order.fixture, 3);
	stop(&order);
}
END_TEST

START_TEST(a_retry_holds_its_partition_in_order_and_then_succeeds)
{
	static const struct letter letters[] = {
		{ 0, "m0", "b0", NULL, "v" },
		{ 0, "m1", "b1", "recover", "v" },
		{ 0, "m2", "b2", NULL, "v" },
		{ 1, "m3", "b3", NULL, "v" },
	};
	struct order order;

	start(&order, 2, NULL);
	onced_fixture_send(&order.fixture, letters, COUNT(letters));
	onced_fixture_wait_for_all(&order.fixture, WAIT_MS);
	onced_fixture_check_effects(&order.fixture, 4);
	check_order(&order);
	ck_assert_int_eq(pg_fixture_get_int64(&order.fixture.pg,
					      "SELECT attempt FROM effect "
					      "WHERE msg_id = 'm1'"),
			 3);
	/* The pauses were 50 and 100 ms, each a tenth of it at the least. */
	ck_assert_int_eq(
		pg_fixture_get_int64(
			&order.fixture.pg,
			"SELECT count(*) FROM effect AS a, effect AS b WHERE "
			"a.msg_id = 'm0' AND b.msg_id = 'm2' AND "
			"b.at - a.at > '14ms'"),
		1);
	ck_assert_int_eq(count_parked(&order), 0);
	stop(&order);
}
END_TEST

/* Far more often than there may be attempts. */
static bool has_paused_often(void *arg)
{
	struct order *order = arg;

	return onced_get_metric(&order->onced, "onced_paused_total", NULL) >= 8;
}

/* C69 */
START_TEST(a_pause_keeps_the_order_and_counts_no_attempt)
{
	static const struct letter letters[] = {
		{ 0, "m0", "b0", NULL, "v" },
		{ 0, "m1", "b1", "pause", "v" },
		{ 0, "m2", "b2", NULL, "v" },
	};
	struct order order;

	onced_fixture_init(&order.fixture, 1);
	onced_init(&order.onced, &order.fixture, NULL);
	onced_fixture_put_file(&order.fixture, "pause");
	onced_start(&order.onced, NULL);
	onced_fixture_send(&order.fixture, letters, COUNT(letters));
	wait_for_position(&order, 0, 1);
	ck_assert(wait_until(has_paused_often, &order, WAIT_MS));
	onced_fixture_remove_file(&order.fixture, "pause");
	onced_fixture_wait_for_all(&order.fixture, WAIT_MS);
	onced_fixture_check_effects(&order.fixture, 3);
	check_order(&order);
	ck_assert_int_eq(
		pg_fixture_get_int64(&order.fixture.pg,
				     "SELECT max(attempt) FROM effect"),
		1);
	ck_assert_int_eq(count_parked(&order), 0);
	stop(&order);
}
END_TEST

START_TEST(a_bad_key_may_halt_its_partition_and_no_other)
{
	static const struct letter letters[] = {
		{ 0, "m0", "b0", NULL, "v" },
		{ 0, NULL, "b1", NULL, "v" },
		{ 0, "m2", "b2", NULL, "v" },
		{ 1, "m3", "b3", NULL, "v" },
	};
	static const struct letter later[] = { { 1, "m4", "b4", NULL, "v" } };
	struct onced_options options = { .route = "    on_bad_key: halt\n" };
	struct order order;

	start(&order, 2, &options);
	onced_fixture_send(&order.fixture, letters, COUNT(letters));
	onced_wait_until_not_ready(&order.onced, "[0] is halted: ", WAIT_MS);
	onced_wait_until_not_ready(&order.onced, "header:id", WAIT_MS);
	onced_fixture_send(&order.fixture, later, COUNT(later));
	wait_for_position(&order, 1, 2);
	ck_assert_int_eq(onced_fixture_position(&order.fixture, 0), 1);
	ck_assert_int_eq(onced_get_metric(&order.onced,
					  "onced_partition_halted",
					  "partition=\"0\""),
			 1);
	ck_assert_int_eq(onced_get_metric(&order.onced,
					  "onced_partition_halted",
					  "partition=\"1\""),
			 0);
	onced_fixture_check_effects(&order.fixture, 3);
	stop(&order);
}
END_TEST

/* C07 */
START_TEST(a_stop_after_the_first_of_three_leaves_two_for_the_restart)
{
	static const struct letter letters[] = {
		{ 0, "m0", "b0", NULL, "v" },
		{ 0, "m1", "b1", "pause", "v" },
		{ 0, "m2", "b2", NULL, "v" },
	};
	struct order order;

	onced_fixture_init(&order.fixture, 1);
	onced_init(&order.onced, &order.fixture, NULL);
	onced_fixture_put_file(&order.fixture, "pause");
	onced_start(&order.onced, NULL);
	onced_fixture_send(&order.fixture, letters, COUNT(letters));
	wait_for_position(&order, 0, 1);
	ck_assert_int_eq(onced_stop(&order.onced), 0);
	ck_assert_int_eq(kafka_fixture_get_committed(&order.fixture.kafka, 0),
			 1);
	ck_assert_int_eq(onced_fixture_position(&order.fixture, 0), 1);
	onced_fixture_remove_file(&order.fixture, "pause");
	onced_start(&order.onced, NULL);
	onced_fixture_wait_for_all(&order.fixture, WAIT_MS);
	onced_fixture_check_effects(&order.fixture, 3);
	stop(&order);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("order and holding");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests,
		       a_handler_that_hangs_holds_up_its_own_partition_only);
	tcase_add_test(tests,
		       a_retry_holds_its_partition_in_order_and_then_succeeds);
	tcase_add_test(tests, a_pause_keeps_the_order_and_counts_no_attempt);
	tcase_add_test(tests, a_bad_key_may_halt_its_partition_and_no_other);
	tcase_add_test(
		tests,
		a_stop_after_the_first_of_three_leaves_two_for_the_restart);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
