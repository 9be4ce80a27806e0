/*
 * test_seek.c - onced seek: a person says where the group goes on, while nobody
 * of it runs; and what is done with Kafka's own tools is told and not followed.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 30000,
	SENT = 20
};

static void handle_all(struct onced_fixture *fixture, struct onced *onced,
		       const struct onced_options *options)
{
	onced_fixture_init(fixture, 2);
	onced_init(onced, fixture, options);
	onced_start(onced, NULL);
	onced_fixture_send_series(fixture, 0, SENT);
	onced_fixture_wait_for_all(fixture, WAIT_MS);
	onced_fixture_check_effects(fixture, SENT);
	onced_fixture_without_monitor(
		fixture); /* positions are moved by hand */
}

static int seek(struct onced *onced, const char *to, const char *partition,
		const char *more)
{
	const char *arguments[12] = { "seek",
				      "-c",
				      onced->config,
				      "--topic",
				      onced->fixture->kafka.topic,
				      "--to",
				      to };
	size_t count = 7;

	if (partition != NULL) {
		arguments[count++] = "--partition";
		arguments[count++] = partition;
	}
	arguments[count] = more;
	return onced_call(onced, arguments);
}

static void check_audit(struct onced_fixture *fixture, int64_t rows)
{
	ck_assert_int_eq(
		pg_fixture_get_int64(&fixture->pg,
				     "SELECT count(*) FROM once.audit "
				     "WHERE command = 'seek' AND person LIKE "
				     "'%@%' AND rows_changed > 0"),
		rows);
}

START_TEST(a_group_that_is_sought_back_reads_again_and_finds_duplicates)
{
	struct onced_fixture fixture;
	struct onced onced;

	handle_all(&fixture, &onced, NULL);
	ck_assert_int_eq(onced_stop(&onced), 0);
	ck_assert_int_eq(seek(&onced, "earliest", NULL, NULL), 0);
	onced_check_output(&onced, "[1]: 10 -> 0: up to 10 messages are read "
				   "again");
	ck_assert_int_eq(onced_fixture_position(&fixture, 0), 0);
	ck_assert_int_eq(
		pg_fixture_get_int64(
			&fixture.pg,
			"SELECT count(*) FROM once.position "
			"WHERE anchor_offset IS NULL AND attempts = 0"),
		2);
	check_audit(&fixture, 1);
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, SENT);
	onced_wait_until_counted(&onced, 1, SENT);
	ck_assert_int_eq(
		onced_get_metric(&onced, "onced_backstop_hits_total", NULL),
		SENT);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_group_that_is_sought_forward_never_handles_what_is_between)
{
	struct onced_fixture fixture;
	struct onced onced;

	handle_all(&fixture, &onced, NULL);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_send_series(&fixture, SENT, SENT);
	ck_assert_int_eq(seek(&onced, "15", "0", NULL), 0);
	onced_check_output(&onced, "[0]: 10 -> 15: up to 5 messages are "
				   "skipped, and never handled");
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 2 * SENT - 5);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_seek_to_a_time_goes_to_its_first_message)
{
	struct onced_fixture fixture;
	struct onced onced;

	handle_all(&fixture, &onced, NULL);
	ck_assert_int_eq(onced_stop(&onced), 0);
	ck_assert_int_eq(seek(&onced, "@2001-01-31T12:00:00Z", "1", NULL), 0);
	ck_assert_int_eq(onced_fixture_position(&fixture, 1), 0);
	ck_assert_int_eq(onced_fixture_position(&fixture, 0), 10);
	ck_assert_int_eq(seek(&onced, "@2101-01-31T12:00:00Z", NULL, NULL), 0);
	ck_assert_int_eq(onced_fixture_position(&fixture, 1), 10);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_dry_run_says_what_it_would_mean_and_changes_nothing)
{
	struct onced_fixture fixture;
	struct onced onced;

	handle_all(&fixture, &onced, NULL);
	ck_assert_int_eq(onced_stop(&onced), 0);
	ck_assert_int_eq(seek(&onced, "earliest", NULL, "--dry-run"), 0);
	onced_check_output(&onced, "nothing was changed");
	ck_assert_int_eq(seek(&onced, "3", "0", "--json"), 0);
	onced_check_output(&onced, "\"partition\":0,\"from\":10,\"to\":3,"
				   "\"moved\":true,\"remembered_from\":0,"
				   "\"beyond_retention\":false,"
				   "\"another_log\":false,"
				   "\"log_generation\":0}]");
	ck_assert_int_eq(onced_fixture_position(&fixture, 1), 10);
	check_audit(&fixture, 1);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Their rows may be gone: they would be handled a second time. */
START_TEST(further_back_than_the_log_remembers_has_to_be_asked_for)
{
	const struct onced_options options = { .retention = "1s" };
	struct onced_fixture fixture;
	struct onced onced;

	handle_all(&fixture, &onced, &options);
	ck_assert_int_eq(onced_stop(&onced), 0);
	pg_fixture_run(&fixture.pg, "SELECT pg_sleep(1.1)");
	ck_assert_int_eq(seek(&onced, "earliest", NULL, NULL), 1);
	onced_check_output(&onced, "--beyond-retention");
	ck_assert_int_eq(onced_fixture_position(&fixture, 0), 10);
	check_audit(&fixture, 0);
	ck_assert_int_eq(seek(&onced, "earliest", NULL, "--dry-run"), 0);
	onced_check_output(&onced, "those before offset 10 are older than the "
				   "retention");
	onced_fixture_send_series(&fixture, SENT, SENT);
	ck_assert_int_eq(seek(&onced, "12", NULL, NULL), 0);
	ck_assert_int_eq(seek(&onced, "11", NULL, NULL), 0);
	onced_check_output(&onced, "from offset 10 on");
	ck_assert_int_eq(seek(&onced, "earliest", NULL, "--beyond-retention"),
			 0);
	ck_assert_int_eq(onced_fixture_position(&fixture, 1), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(while_the_group_runs_nothing_is_moved)
{
	struct onced_fixture fixture;
	struct onced onced;
	struct onced other;
	const struct onced_options options = { .name = "other" };

	handle_all(&fixture, &onced, NULL);
	onced_init(&other, &fixture, &options);
	ck_assert_int_eq(seek(&other, "earliest", NULL, NULL), 1);
	onced_check_output(&other, "stop all of them first");
	ck_assert_int_eq(onced_fixture_position(&fixture, 0), 10);
	check_audit(&fixture, 0);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* An instance that holds its lock counts, though Kafka doesn't know it. */
START_TEST(a_process_that_the_database_sees_alive_is_enough_to_refuse)
{
	struct onced_fixture fixture;
	struct onced onced;
	char sql[600];

	handle_all(&fixture, &onced, NULL);
	ck_assert_int_eq(onced_stop(&onced), 0);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO once.instance (group_name, host, pid, version) "
		 "VALUES ('%s', 'elsewhere', 7, 'x');"
		 "SELECT pg_advisory_lock_shared(once.instance_lock(id)) "
		 "FROM once.instance WHERE host = 'elsewhere'",
		 fixture.kafka.group);
	pg_fixture_run(&fixture.pg, sql);
	ck_assert_int_eq(seek(&onced, "earliest", NULL, NULL), 1);
	onced_check_output(&onced, "elsewhere, pid 7");
	pg_fixture_run(&fixture.pg, "SELECT pg_advisory_unlock_all()");
	ck_assert_int_eq(seek(&onced, "earliest", NULL, NULL), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_place_that_is_not_there_is_refused)
{
	static const char *const places[] = { "99", "@yesterday", "-1", "x" };
	struct onced_fixture fixture;
	struct onced onced;

	handle_all(&fixture, &onced, NULL);
	ck_assert_int_eq(onced_stop(&onced), 0);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		ck_assert_int_eq(seek(&onced, places[i], NULL, NULL), 64);
	ck_assert_int_eq(seek(&onced, "earliest", "2", NULL), 64);
	onced_check_output(&onced, "it has 0 to 1");
	ck_assert_int_eq(seek(&onced, "earliest", "x", NULL), 64);
	check_audit(&fixture, 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- Kafka's own tools ---- */

static void set_offset(struct onced_fixture *fixture, int64_t offset)
{
	const struct kafka_fixture *kafka = &fixture->kafka;
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(2);
	rd_kafka_t *rk;

	rd_kafka_conf_set(conf, "bootstrap.servers", kafka->bootstrap, NULL, 0);
	rd_kafka_conf_set(conf, "group.id", kafka->group, NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	for (int i = 0; i < 2; i++)
		rd_kafka_topic_partition_list_add(list, kafka->topic, i)
			->offset = offset;
	ck_assert_int_eq(rd_kafka_commit(rk, list, 0),
			 RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_destroy(rk);
}

static bool is_ours_again(void *arg)
{
	return kafka_fixture_get_committed(arg, 0) == SENT / 2;
}

static const int64_t strange[] = { 3, 15 };

START_TEST(an_offset_set_while_stopped_is_told_and_not_followed)
{
	struct onced_fixture fixture;
	struct onced onced;

	handle_all(&fixture, &onced, NULL);
	ck_assert_int_eq(onced_stop(&onced), 0);
	set_offset(&fixture, strange[_i]);
	onced_start(&onced, NULL);
	onced_wait_for_log(&onced, "--partition 0 --to ", WAIT_MS);
	onced_wait_for_log(&onced, "it isn't followed", WAIT_MS);
	ck_assert(wait_until(is_ours_again, &fixture.kafka, WAIT_MS));
	ck_assert_int_eq(onced_get_metric(&onced,
					  "onced_group_offset_strange_total",
					  NULL),
			 2);
	onced_fixture_check_effects(&fixture, SENT);
	ck_assert_int_eq(onced_get_metric(&onced, "onced_consumed_total", NULL),
			 0);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

static bool has_repeated(void *arg)
{
	return onced_get_metric(arg, "onced_backstop_hits_total", NULL) ==
	       SENT - 2 * 3;
}

START_TEST(a_group_is_sought_to_its_offset_in_kafka_once)
{
	struct onced_fixture fixture;
	struct onced onced;

	handle_all(&fixture, &onced, NULL);
	ck_assert_int_eq(onced_stop(&onced), 0);
	set_offset(&fixture, 3);
	ck_assert_int_eq(seek(&onced, "group", NULL, NULL), 0);
	onced_check_output(&onced, "[1]: 10 -> 3: up to 7 messages are read");
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert(wait_until(has_repeated, &onced, WAIT_MS));
	onced_fixture_check_effects(&fixture, SENT);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_group_without_an_offset_in_kafka_is_not_sought_to_it)
{
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 2);
	onced_init(&onced, &fixture, NULL);
	onced_fixture_send_series(&fixture, 0, SENT);
	ck_assert_int_eq(seek(&onced, "group", NULL, NULL), 64);
	onced_check_output(&onced, "has no offset in Kafka");
	check_audit(&fixture, 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("seek");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(
		tests,
		a_group_that_is_sought_back_reads_again_and_finds_duplicates);
	tcase_add_test(
		tests,
		a_group_that_is_sought_forward_never_handles_what_is_between);
	tcase_add_test(tests, a_seek_to_a_time_goes_to_its_first_message);
	tcase_add_test(tests,
		       a_dry_run_says_what_it_would_mean_and_changes_nothing);
	tcase_add_test(tests,
		       further_back_than_the_log_remembers_has_to_be_asked_for);
	tcase_add_test(tests, while_the_group_runs_nothing_is_moved);
	tcase_add_test(
		tests,
		a_process_that_the_database_sees_alive_is_enough_to_refuse);
	tcase_add_test(tests, a_place_that_is_not_there_is_refused);
	tcase_add_loop_test(
		tests, an_offset_set_while_stopped_is_told_and_not_followed, 0,
		2);
	tcase_add_test(tests, a_group_is_sought_to_its_offset_in_kafka_once);
	tcase_add_test(tests,
		       a_group_without_an_offset_in_kafka_is_not_sought_to_it);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
