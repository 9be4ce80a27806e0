/*
 * test_monitor.c - the monitor that stands beside all other tests of this kind
 * turns red: each rule is broken once, by hand.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <string.h>

enum {
	WAIT_MS = 30000,
	PARTITIONS = 2,
	LOAD = 20
};

/* Half of the messages are handled, half wait in Kafka. */
struct scene {
	struct onced_fixture fixture;
	struct onced onced;
};

static void begin(struct scene *scene)
{
	struct onced_fixture *fixture = &scene->fixture;

	onced_fixture_init(fixture, PARTITIONS);
	onced_init(&scene->onced, fixture, NULL);
	onced_start(&scene->onced, NULL);
	onced_fixture_send_series(fixture, 0, LOAD);
	onced_fixture_wait_for_all(fixture, WAIT_MS);
	ck_assert_int_eq(onced_stop(&scene->onced), 0);
	onced_fixture_send_series(fixture, LOAD, LOAD);
}

/* The judgement was read, so the fixture ends without one. */
static void end(struct scene *scene)
{
	monitor_destroy(scene->fixture.monitor);
	scene->fixture.monitor = NULL;
	onced_fixture_fini(&scene->fixture);
}

static bool is_red(void *arg)
{
	return monitor_find_fault(arg) != NULL;
}

static void check_fault(const char *fault, const char *text)
{
	ck_assert_ptr_nonnull(fault);
	ck_assert_msg(strstr(fault, text) != NULL, "it says: %s", fault);
}

/* While all is running. */
static void check_that_it_turns_red(struct scene *scene, const char *text)
{
	struct monitor *monitor = scene->fixture.monitor;

	ck_assert(wait_until(is_red, monitor, WAIT_MS));
	check_fault(monitor_find_fault(monitor), text);
	check_fault(monitor_judge(monitor), text);
}

static void change(struct scene *scene, const char *sql)
{
	ck_assert_ptr_null(monitor_find_fault(scene->fixture.monitor));
	pg_fixture_run(&scene->fixture.pg, sql);
}

START_TEST(nothing_is_red_where_nothing_is_wrong)
{
	struct scene scene;

	begin(&scene);
	ck_assert_ptr_null(monitor_judge(scene.fixture.monitor));
	end(&scene);
}
END_TEST

START_TEST(a_position_before_which_messages_have_not_ended_is_red)
{
	struct scene scene;

	begin(&scene);
	change(&scene, "UPDATE once.position SET next_offset = 12 "
		       "WHERE partition = 1");
	check_that_it_turns_red(&scene,
				"partition 1: 2 messages before the position "
				"12 have not ended, the first of them at 10");
	end(&scene);
}
END_TEST

static bool has_seen_the_position(void *arg)
{
	return pg_fixture_get_int64(
		       arg, "SELECT count(*) FROM pg_stat_activity WHERE "
			    "application_name = 'monitor' AND "
			    "datname = current_database() AND "
			    "query_start > (SELECT max(updated_at) "
			    "FROM once.position) AND query = 'COMMIT'") == 1;
}

START_TEST(a_position_that_goes_back_is_red)
{
	struct scene scene;

	begin(&scene);
	ck_assert(
		wait_until(has_seen_the_position, &scene.fixture.pg, WAIT_MS));
	change(&scene, "UPDATE once.position SET next_offset = 9 "
		       "WHERE partition = 0");
	check_that_it_turns_red(
		&scene, "partition 0: the position went back from 10 to 9");
	end(&scene);
}
END_TEST

static void commit_offset(const struct kafka_fixture *kafka, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *rk;

	rd_kafka_conf_set(conf, "bootstrap.servers", kafka->bootstrap, NULL, 0);
	rd_kafka_conf_set(conf, "group.id", kafka->group, NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	rd_kafka_topic_partition_list_add(list, kafka->topic, 0)->offset =
		offset;
	ck_assert_int_eq(rd_kafka_commit(rk, list, 0),
			 RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_destroy(rk);
}

START_TEST(an_offset_that_kafka_is_told_too_early_is_red)
{
	struct scene scene;

	begin(&scene);
	commit_offset(&scene.fixture.kafka, 11);
	check_that_it_turns_red(&scene, "partition 0: Kafka was told 11, but "
					"the position is 10");
	end(&scene);
}
END_TEST

START_TEST(an_effect_that_is_gone_is_red_at_the_end)
{
	struct scene scene;

	begin(&scene);
	change(&scene, "DELETE FROM effect WHERE msg_id = 'm7'");
	check_fault(monitor_judge(scene.fixture.monitor),
		    "operation \"b7\", message \"m7\": 1 claims, 0 effects");
	end(&scene);
}
END_TEST

START_TEST(an_effect_that_is_there_twice_is_red_at_the_end)
{
	struct scene scene;

	begin(&scene);
	change(&scene, "INSERT INTO effect (msg_id, biz_id, partition, "
		       "message_offset) SELECT msg_id, biz_id, partition, "
		       "message_offset FROM effect WHERE msg_id = 'm8'");
	check_fault(monitor_judge(scene.fixture.monitor),
		    "message \"m8\": 1 claims, 2 effects");
	end(&scene);
}
END_TEST

START_TEST(a_claim_that_is_gone_with_its_effect_is_red_at_the_end)
{
	struct scene scene;

	begin(&scene);
	change(&scene, "DELETE FROM effect WHERE msg_id = 'm7'; "
		       "DELETE FROM once.consume_log WHERE msg_id = 'm7'");
	check_fault(monitor_judge(scene.fixture.monitor),
		    "partition 1: 1 messages before the position 10 have not "
		    "ended, the first of them at 3");
	end(&scene);
}
END_TEST

START_TEST(a_monitor_that_can_not_ask_is_red)
{
	struct scene scene;

	begin(&scene);
	change(&scene, "ALTER TABLE once.position RENAME TO elsewhere");
	check_that_it_turns_red(&scene, "it can't ask");
	end(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("the monitor");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests, nothing_is_red_where_nothing_is_wrong);
	tcase_add_test(tests,
		       a_position_before_which_messages_have_not_ended_is_red);
	tcase_add_test(tests, a_position_that_goes_back_is_red);
	tcase_add_test(tests, an_offset_that_kafka_is_told_too_early_is_red);
	tcase_add_test(tests, an_effect_that_is_gone_is_red_at_the_end);
	tcase_add_test(tests, an_effect_that_is_there_twice_is_red_at_the_end);
	tcase_add_test(tests,
		       a_claim_that_is_gone_with_its_effect_is_red_at_the_end);
	tcase_add_test(tests, a_monitor_that_can_not_ask_is_red);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
