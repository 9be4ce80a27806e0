/*
 * test_positions.c - where reading starts and goes on: the position in the
 * database wins over whatever Kafka believes, and where it can't be read,
 * nobody guesses.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <stdio.h>

enum {
	WAIT_MS = 30000,
	ADMIN_MS = 10000,
	PARTITIONS = 2,
	MANY_PARTITIONS = 60,
	SLOW_MS = 200
};

static void start_at(struct onced_fixture *fixture, struct onced *onced,
		     const struct onced_options *options)
{
	onced_fixture_init(fixture, PARTITIONS);
	onced_init(onced, fixture, options);
}

/* ---- Kafka's offsets are changed behind our back ---- */

static rd_kafka_t *open_tool(const struct kafka_fixture *kafka)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *rk;

	rd_kafka_conf_set(conf, "bootstrap.servers", kafka->bootstrap, NULL, 0);
	rd_kafka_conf_set(conf, "group.id", kafka->group, NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	return rk;
}

static void set_offsets_from(struct onced_fixture *fixture, int first,
			     int count, int64_t offset)
{
	const struct kafka_fixture *kafka = &fixture->kafka;
	rd_kafka_t *rk = open_tool(kafka);
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(count);

	for (int i = first; i < first + count; i++)
		rd_kafka_topic_partition_list_add(list, kafka->topic, i)
			->offset = offset;
	ck_assert_int_eq(rd_kafka_commit(rk, list, 0),
			 RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_destroy(rk);
}

static void set_offsets(struct onced_fixture *fixture, int64_t offset)
{
	set_offsets_from(fixture, 0, PARTITIONS, offset);
}

static void delete_group(struct onced_fixture *fixture)
{
	const struct kafka_fixture *kafka = &fixture->kafka;
	rd_kafka_DeleteGroup_t *group = rd_kafka_DeleteGroup_new(kafka->group);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(kafka->rk);
	rd_kafka_event_t *event;

	rd_kafka_DeleteGroups(kafka->rk, &group, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, ADMIN_MS);
	ck_assert_ptr_nonnull(event);
	ck_assert_int_eq(rd_kafka_event_error(event), 0);
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_DeleteGroup_destroy(group);
	ck_assert_int_eq(kafka_fixture_get_committed(&fixture->kafka, 0), -1);
}

/* Ten more: they alone are consumed. */
static void check_that_it_goes_on(struct onced *onced)
{
	struct onced_fixture *fixture = onced->fixture;

	onced_start(onced, NULL);
	onced_fixture_send_series(fixture, fixture->sent, 10);
	onced_fixture_wait_for_all(fixture, WAIT_MS);
	onced_fixture_check_effects(fixture, fixture->sent);
	ck_assert_int_eq(onced_get_metric(onced, "onced_consumed_total", NULL),
			 10);
	ck_assert_int_eq(onced_stop(onced), 0);
}

START_TEST(the_position_in_the_database_wins_over_kafkas_offsets)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_at(&fixture, &onced, NULL);
	check_that_it_goes_on(&onced);
	onced_fixture_without_monitor(&fixture);
	set_offsets(&fixture, 0);
	check_that_it_goes_on(&onced);
	set_offsets(&fixture, 1000000);
	check_that_it_goes_on(&onced);
	delete_group(&fixture);
	check_that_it_goes_on(&onced);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- what the position points at is gone ---- */

static void delete_records(struct onced_fixture *fixture, int32_t partition,
			   int64_t before)
{
	struct kafka_fixture *kafka = &fixture->kafka;
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(kafka->rk);
	rd_kafka_DeleteRecords_t *records;
	rd_kafka_event_t *event;

	rd_kafka_topic_partition_list_add(list, kafka->topic, partition)
		->offset = before;
	records = rd_kafka_DeleteRecords_new(list);
	rd_kafka_DeleteRecords(kafka->rk, &records, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, ADMIN_MS);
	ck_assert_ptr_nonnull(event);
	ck_assert_int_eq(rd_kafka_event_error(event), 0);
	rd_kafka_event_destroy(event);
	rd_kafka_DeleteRecords_destroy(records);
	rd_kafka_queue_destroy(queue);
	rd_kafka_topic_partition_list_destroy(list);
}

/* C09: partition 0 was read to 5; Kafka has lost 5 to 7. */
START_TEST(a_position_that_kafka_has_lost_halts_its_partition)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_at(&fixture, &onced, NULL);
	check_that_it_goes_on(&onced);
	onced_fixture_send_series(&fixture, 10, 10);
	delete_records(&fixture, 0, 8);
	onced_start(&onced, NULL);
	onced_wait_until_not_ready(
		&onced, "offset 5 isn't there, Kafka has 8 to 10", WAIT_MS);
	onced_fixture_wait_for(&fixture,
			       "SELECT next_offset FROM once.position "
			       "WHERE partition = 1",
			       10, WAIT_MS);
	ck_assert_int_eq(onced_fixture_position(&fixture, 0), 5);
	onced_fixture_check_effects(&fixture, 15);
	ck_assert_int_eq(onced_stop(&onced), 0);
	ck_assert_int_eq(onced_fixture_position(&fixture, 0), 5);

	/* As the message says. */
	onced_fixture_without_monitor(&fixture);
	pg_fixture_run(&fixture.pg, "UPDATE once.position SET next_offset = 8 "
				    "WHERE partition = 0");
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 17);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* A topic made anew is shorter than the position says. */
START_TEST(a_position_beyond_the_end_halts_its_partition)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_at(&fixture, &onced, NULL);
	check_that_it_goes_on(&onced);
	onced_fixture_without_monitor(&fixture);
	pg_fixture_run(&fixture.pg, "UPDATE once.position SET next_offset = 99 "
				    "WHERE partition = 0");
	onced_start(&onced, NULL);
	onced_wait_until_not_ready(
		&onced, "offset 99 isn't there, Kafka has 0 to 5", WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- no position at all ---- */

START_TEST(a_new_group_may_start_at_the_end)
{
	struct onced_options options = {
		.route = "    initial_position: latest\n"
	};
	struct onced_fixture fixture;
	struct onced onced;

	start_at(&fixture, &onced, &options);
	onced_fixture_without_monitor(&fixture); /* 10 are skipped */
	onced_fixture_send_series(&fixture, 0, 10);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	onced_wait_for_log(&onced, "starting at 5; up to 5 messages before it",
			   WAIT_MS);
	onced_fixture_send_series(&fixture, 10, 10);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 10);
	ck_assert_int_eq(
		pg_fixture_get_int64(&fixture.pg,
				     "SELECT min(message_offset) FROM effect"),
		5);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Whichever is looked at first. */
START_TEST(latest_is_for_partitions_without_an_offset_in_kafka)
{
	struct onced_options options = {
		.route = "    initial_position: latest\n"
	};
	struct onced_fixture fixture;
	struct onced onced;

	start_at(&fixture, &onced, &options);
	onced_fixture_without_monitor(&fixture); /* 5 are skipped */
	onced_fixture_send_series(&fixture, 0, 10);
	set_offsets_from(&fixture, _i, 1, 2);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 3);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* One question for each of them takes longer than any time-out. */
START_TEST(latest_asks_a_slow_broker_for_all_partitions_at_once)
{
	struct onced_options options = {
		.route = "    initial_position: latest\n"
	};
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init_mock(&fixture, MANY_PARTITIONS);
	rd_kafka_mock_broker_set_rtt(fixture.kafka.mock, 1, SLOW_MS);
	rd_kafka_mock_broker_set_rtt(fixture.kafka.mock, 2, SLOW_MS);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM once.position",
			       MANY_PARTITIONS, WAIT_MS);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_new_group_starts_at_the_beginning_unless_told_otherwise)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_at(&fixture, &onced, NULL);
	onced_fixture_send_series(&fixture, 0, 10);
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 10);
	onced_wait_for_log(&onced,
			   "starting at the first message, 0; the "
			   "log ends at 5",
			   WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_new_group_may_refuse_to_start_by_itself)
{
	struct onced_options options = {
		.route = "    initial_position: fail\n"
	};
	struct onced_fixture fixture;
	struct onced onced;
	const char *const seek[] = { "seek",
				     "-c",
				     onced.config,
				     "--topic",
				     fixture.kafka.topic,
				     "--to",
				     "earliest",
				     NULL };

	start_at(&fixture, &onced, &options);
	onced_fixture_send_series(&fixture, 0, 10);
	onced_start(&onced, NULL);
	onced_wait_until_not_ready(&onced, "initial_position is \"fail\"",
				   WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_check_effects(&fixture, 0);
	ck_assert_int_eq(onced_call(&onced, seek), 0);
	onced_check_output(&onced, "[1]: starts at 0 (it had no position)");
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 10);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* A group that was with Kafka before it was with us. */
START_TEST(what_a_group_has_committed_to_kafka_is_where_it_starts)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_at(&fixture, &onced, NULL);
	onced_fixture_without_monitor(&fixture); /* 6 are skipped */
	onced_fixture_send_series(&fixture, 0, 10);
	set_offsets(&fixture, 3);
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 4);
	onced_wait_for_log(&onced, "starting at 3, the group's offset in Kafka",
			   WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- two with one name ---- */

/* C15 */
START_TEST(of_two_with_one_instance_id_the_first_is_fenced)
{
	struct onced_options options[] = {
		{ .name = "first", .instance_id = "same" },
		{ .name = "second", .instance_id = "same" },
	};
	struct onced_fixture fixture;
	struct onced first;
	struct onced second;

	start_at(&fixture, &first, &options[0]);
	onced_init(&second, &fixture, &options[1]);
	onced_start(&first, NULL);
	onced_wait_until_ready(&first, WAIT_MS);
	onced_fixture_send_series(&fixture, 0, 10);
	onced_start(&second, NULL);
	ck_assert_int_eq(onced_wait(&first, WAIT_MS), 76);
	ck_assert(onced_has_logged(&first, "instance_id"));
	onced_fixture_send_series(&fixture, 10, 10);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 20);
	ck_assert_int_eq(onced_stop(&second), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("positions");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests,
		       the_position_in_the_database_wins_over_kafkas_offsets);
	tcase_add_test(tests,
		       a_position_that_kafka_has_lost_halts_its_partition);
	tcase_add_test(tests, a_position_beyond_the_end_halts_its_partition);
	tcase_add_test(tests, a_new_group_may_start_at_the_end);
	tcase_add_loop_test(tests,
			    latest_is_for_partitions_without_an_offset_in_kafka,
			    0, PARTITIONS);
	tcase_add_test(tests,
		       latest_asks_a_slow_broker_for_all_partitions_at_once);
	tcase_add_test(
		tests,
		a_new_group_starts_at_the_beginning_unless_told_otherwise);
	tcase_add_test(tests, a_new_group_may_refuse_to_start_by_itself);
	tcase_add_test(tests,
		       what_a_group_has_committed_to_kafka_is_where_it_starts);
	tcase_add_test(tests, of_two_with_one_instance_id_the_first_is_fenced);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
