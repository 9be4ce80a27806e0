/*
 * test_database.c - the database goes away and comes back: nothing is lost,
 * nothing is repeated, nothing is dead, and no attempt is counted.
 */
#include "outage.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PARTITIONS = 2,
	LOAD = 20,            /* messages at a time */
	OUTAGE_MS = 6000,     /* longer than the longest pause of a lane */
	CUTS = 20,            /* of sessions, at least */
	HEAVY_MB = 120,       /* a backlog */
	MEMORY_MAX_KB = 65536 /* less than half of it */
};

/* C02, C45 */
START_TEST(an_outage_of_the_database_is_sat_out)
{
	struct onced_fixture fixture;
	struct pg_server server;
	struct onced onced;

	outage_create_server(&server, NULL);
	onced_fixture_init_at(&fixture, PARTITIONS, server.conninfo);
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, OUTAGE_WAIT_MS);
	outage_send_for(&fixture, 300);
	pg_server_kill(&server);
	onced_wait_until_not_ready(&onced, "can't work: ", OUTAGE_WAIT_MS);
	outage_send_for(&fixture, OUTAGE_MS);
	for (int i = 0; i < PARTITIONS; i++)
		ck_assert_int_lt(kafka_fixture_get_committed(&fixture.kafka, i),
				 kafka_fixture_get_end(&fixture.kafka, i));
	outage_start_server(&server);
	pg_fixture_reconnect(&fixture.pg);
	outage_send_for(&fixture, 300);
	outage_check_that_nothing_happened(&onced);
	onced_fixture_fini(&fixture);
	pg_server_destroy(&server);
}
END_TEST

/* A fast shutdown ends sessions with 57P01 and then refuses new ones. */
START_TEST(an_orderly_restart_of_the_database_is_sat_out)
{
	struct onced_fixture fixture;
	struct pg_server server;
	struct onced onced;

	outage_create_server(&server, NULL);
	onced_fixture_init_at(&fixture, PARTITIONS, server.conninfo);
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, OUTAGE_WAIT_MS);
	for (int i = 0; i < 3; i++) {
		outage_send_for(&fixture, 200);
		pg_server_stop(&server);
		outage_send_for(&fixture, 200);
		outage_start_server(&server);
	}
	pg_fixture_reconnect(&fixture.pg);
	outage_check_that_nothing_happened(&onced);
	onced_fixture_fini(&fixture);
	pg_server_destroy(&server);
}
END_TEST

/* ---- memory ---- */

/* C02. AddressSanitizer, where it is built in, would keep what was freed. */
START_TEST(a_backlog_during_an_outage_stays_in_kafka)
{
	struct onced_options options = { .memory = "32MiB" };
	struct onced_fixture fixture;
	struct pg_server server;
	struct onced onced;

	setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 1);
	outage_create_server(&server, NULL);
	onced_fixture_init_at(&fixture, PARTITIONS, server.conninfo);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, OUTAGE_WAIT_MS);
	pg_server_kill(&server);
	onced_fixture_send_heavy(&fixture, HEAVY_MB, NULL);
	onced_wait_until_not_ready(&onced, "can't work: ", OUTAGE_WAIT_MS);
	outage_start_server(&server);
	pg_fixture_reconnect(&fixture.pg);
	onced_fixture_wait_for_all(&fixture, OUTAGE_WAIT_MS);
	printf("%ld kB at most\n", outage_get_memory_kb(&onced));
	ck_assert_int_lt(outage_get_memory_kb(&onced), MEMORY_MAX_KB);
	outage_check_that_nothing_happened(&onced);
	onced_fixture_fini(&fixture);
	pg_server_destroy(&server);
}
END_TEST

/* ---- sessions ---- */

/* C45 */
START_TEST(lanes_whose_sessions_are_cut_off_again_and_again_go_on)
{
	struct onced_fixture fixture;
	struct onced onced;
	int64_t cuts = 0;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, OUTAGE_WAIT_MS);
	/* A lane that is slow to come back isn't there to be cut. */
	for (int i = 0; i < CUTS || (cuts < CUTS && i < 10 * CUTS); i++) {
		outage_send_for(&fixture, 100);
		cuts += pg_fixture_end_sessions(&fixture.pg, "onced");
	}
	ck_assert_int_ge(cuts, CUTS);
	outage_check_that_nothing_happened(&onced);
	onced_fixture_fini(&fixture);
}
END_TEST

/* What a standby lacks that was promoted is taken away by hand. */
START_TEST(what_a_failover_has_forgotten_is_handled_again)
{
	static const char forget[] =
		"DELETE FROM effect; DELETE FROM once.consume_log; "
		"UPDATE once.position SET next_offset = 0";
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	onced_fixture_send_series(&fixture, 0, 100);
	onced_fixture_wait_for_all(&fixture, OUTAGE_WAIT_MS);
	onced_fixture_without_monitor(&fixture);
	pg_fixture_run(&fixture.pg, forget);
	ck_assert_int_ge(pg_fixture_end_sessions(&fixture.pg, "onced"), 1);
	onced_fixture_wait_for_all(&fixture, OUTAGE_WAIT_MS);
	onced_fixture_check_effects(&fixture, 100);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_start_before_the_database_waits_for_it_and_says_so)
{
	struct onced_fixture fixture;
	struct pg_server server;
	struct onced onced;

	outage_create_server(&server, NULL);
	onced_fixture_init_at(&fixture, PARTITIONS, server.conninfo);
	onced_init(&onced, &fixture, NULL);
	onced_fixture_send_series(&fixture, 0, LOAD);
	pg_server_stop(&server);
	onced_start(&onced, NULL);
	onced_wait_for_log(&onced, "waiting for it", OUTAGE_WAIT_MS);
	onced_wait_until_not_ready(&onced, "can't work: ", OUTAGE_WAIT_MS);
	outage_start_server(&server);
	pg_fixture_reconnect(&fixture.pg);
	outage_check_that_nothing_happened(&onced);
	onced_fixture_fini(&fixture);
	pg_server_destroy(&server);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("the database");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests, an_outage_of_the_database_is_sat_out);
	tcase_add_test(tests, an_orderly_restart_of_the_database_is_sat_out);
	tcase_add_test(tests, a_backlog_during_an_outage_stays_in_kafka);
	tcase_add_test(tests,
		       lanes_whose_sessions_are_cut_off_again_and_again_go_on);
	tcase_add_test(tests, what_a_failover_has_forgotten_is_handled_again);
	tcase_add_test(tests,
		       a_start_before_the_database_waits_for_it_and_says_so);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
