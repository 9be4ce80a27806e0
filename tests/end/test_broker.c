/*
 * test_broker.c - Kafka goes away and comes back, topics grow, and not every
 * offset is a message.
 */
#include "kafka_server.h"
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

enum {
	WAIT_MS = 50000,
	ADMIN_MS = 10000,
	SILENCE_MS = 20000,
	STILL_MS = 7000, /* the group is asked every 3 s */
	PARTITIONS = 2,
	LOAD = 100
};

static void check_all(struct onced *onced)
{
	struct onced_fixture *fixture = onced->fixture;

	onced_fixture_wait_for_all(fixture, WAIT_MS);
	onced_fixture_check_effects(fixture, fixture->sent);
	onced_wait_until_ready(onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(onced), 0);
	for (int i = 0; i < fixture->partitions; i++)
		ck_assert_int_le(
			kafka_fixture_get_committed(&fixture->kafka, i),
			onced_fixture_position(fixture, i));
}

static void check_that_kafka_knows(struct onced_fixture *fixture)
{
	for (int i = 0; i < fixture->partitions; i++)
		ck_assert_int_eq(
			kafka_fixture_get_committed(&fixture->kafka, i),
			onced_fixture_position(fixture, i));
}

/* A broker that was killed may have forgotten its members, and then refuses the
 * last offset commit: that costs nothing. */
START_TEST(a_broker_that_dies_or_comes_late_is_waited_for)
{
	struct onced_fixture fixture;
	struct kafka_server server;
	struct once_error err;
	struct onced onced;

	ck_assert_msg(kafka_server_create(&server, NULL, &err) == ONCE_OK, "%s",
		      err.text);
	onced_fixture_init_on(&fixture, PARTITIONS, server.bootstrap);
	onced_init(&onced, &fixture, NULL);
	onced_fixture_send_series(&fixture, 0, LOAD);
	kafka_server_stop(&server);
	onced_start(&onced, NULL);
	onced_wait_until_not_ready(&onced, "hasn't assigned", WAIT_MS);
	ck_assert_msg(kafka_server_start(&server, &err) == ONCE_OK, "%s",
		      err.text);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_send_series(&fixture, LOAD, LOAD);
	kafka_server_kill(&server);
	ck_assert_msg(kafka_server_start(&server, &err) == ONCE_OK, "%s",
		      err.text);
	onced_fixture_send_series(&fixture, 2 * LOAD, LOAD);
	check_all(&onced);
	onced_fixture_fini(&fixture);
	kafka_server_destroy(&server);
}
END_TEST

/* Each of many partitions asks it where to start, and waits for 5 s. */
START_TEST(a_broker_that_freezes_while_it_is_asked_holds_up_nothing_else)
{
	static const char lock[] =
		"BEGIN; LOCK TABLE once.position IN ACCESS EXCLUSIVE MODE";
	struct onced_fixture fixture;
	struct kafka_server server;
	struct once_error err;
	struct onced onced;

	ck_assert_msg(kafka_server_create(&server, NULL, &err) == ONCE_OK, "%s",
		      err.text);
	onced_fixture_init_on(&fixture, 20, server.bootstrap);
	onced_init(&onced, &fixture, NULL);
	pg_fixture_run(&fixture.pg, lock);
	onced_start(&onced, NULL);
	onced_wait_for_log(&onced, "assigned", WAIT_MS);
	ck_assert_int_eq(kill(server.process.pid, SIGSTOP), 0);
	pg_fixture_run(&fixture.pg, "COMMIT");
	onced_wait_for_log(&onced, "revoked", 25000);
	ck_assert_int_eq(onced_stop(&onced), 0);
	ck_assert_int_eq(kill(server.process.pid, SIGCONT), 0);
	onced_fixture_fini(&fixture);
	kafka_server_destroy(&server);
}
END_TEST

/* What is in Kafka and doesn't come is asked for, after 5 s. */
START_TEST(a_broker_that_freezes_under_its_readers_is_told_and_waited_for)
{
	struct onced_options options = {
		.memory = "4MiB",
		.session = "    - session.timeout.ms=45000\n",
	};
	struct onced_fixture fixture;
	struct kafka_server server;
	struct once_error err;
	struct onced onced;

	ck_assert_msg(kafka_server_create(&server, NULL, &err) == ONCE_OK, "%s",
		      err.text);
	onced_fixture_init_on(&fixture, PARTITIONS, server.bootstrap);
	onced_fixture_without_monitor(&fixture);
	onced_init(&onced, &fixture, &options);
	onced_fixture_put_file(&fixture, "hang");
	onced_fixture_send_heavy(&fixture, 20, "hang");
	onced_start(&onced, NULL); /* its first fetch tells where all ends */
	onced_fixture_wait_for_file(&fixture, "hanging", WAIT_MS);
	ck_assert_int_eq(kill(server.process.pid, SIGSTOP), 0);
	onced_fixture_remove_file(&fixture, "hang");
	onced_wait_until_not_ready(&onced, "it doesn't answer", WAIT_MS);
	ck_assert_int_eq(kill(server.process.pid, SIGCONT), 0);
	check_all(&onced);
	onced_fixture_fini(&fixture);
	kafka_server_destroy(&server);
}
END_TEST

/* The group's broker answers all the time, and says nothing of it. */
START_TEST(what_a_broker_keeps_is_told_although_another_one_answers)
{
	struct onced_options options = { .memory = "2MiB" };
	struct onced_fixture fixture;
	struct kafka_fixture *kafka = &fixture.kafka;
	struct onced onced;

	onced_fixture_init_mock(&fixture, 1);
	rd_kafka_mock_coordinator_set(kafka->mock, "group", kafka->group, 1);
	rd_kafka_mock_partition_set_leader(kafka->mock, kafka->topic, 0, 2);
	onced_init(&onced, &fixture, &options);
	onced_fixture_put_file(&fixture, "hang");
	onced_fixture_send_heavy(&fixture, 3, "hang");
	onced_start(&onced, NULL); /* its first fetch tells where all ends */
	onced_fixture_wait_for_file(&fixture, "hanging", WAIT_MS);
	rd_kafka_mock_broker_set_rtt(kafka->mock, 2, SILENCE_MS);
	onced_fixture_remove_file(&fixture, "hang");
	onced_wait_until_not_ready(&onced, "it doesn't answer", WAIT_MS);
	onced_check_not_ready(&onced, STILL_MS);
	rd_kafka_mock_broker_set_rtt(kafka->mock, 2, 0);
	check_all(&onced);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- topics that grow ---- */

/* Asking makes the producer know it, too. */
static bool has_new_partition(void *arg)
{
	const struct onced_fixture *fixture = arg;
	const struct kafka_fixture *kafka = &fixture->kafka;
	const rd_kafka_metadata_t *metadata;
	int64_t low;
	int64_t high;

	if (rd_kafka_metadata(kafka->rk, 1, NULL, &metadata, ADMIN_MS) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	rd_kafka_metadata_destroy(metadata);
	return rd_kafka_query_watermark_offsets(
		       kafka->rk, kafka->topic, fixture->partitions - 1, &low,
		       &high, ADMIN_MS) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void add_partition(struct onced_fixture *fixture)
{
	struct kafka_fixture *kafka = &fixture->kafka;
	rd_kafka_queue_t *queue = rd_kafka_queue_new(kafka->rk);
	rd_kafka_NewPartitions_t *more;
	rd_kafka_event_t *event;
	char error[256];

	fixture->partitions++;
	more = rd_kafka_NewPartitions_new(kafka->topic,
					  (size_t)fixture->partitions, error,
					  sizeof(error));
	ck_assert_msg(more != NULL, "%s", error);
	rd_kafka_CreatePartitions(kafka->rk, &more, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, ADMIN_MS);
	ck_assert_ptr_nonnull(event);
	ck_assert_int_eq(rd_kafka_event_error(event), 0);
	rd_kafka_event_destroy(event);
	rd_kafka_NewPartitions_destroy(more);
	rd_kafka_queue_destroy(queue);
	ck_assert(wait_until(has_new_partition, fixture, WAIT_MS));
}

/* What is written before the group knows of the partition is read as well, also
 * where a new group starts at the end. */
START_TEST(a_partition_that_appears_later_is_read_from_its_first_message)
{
	struct onced_options options = {
		.property = "topic.metadata.refresh.interval.ms=500",
		.route = "    initial_position: latest\n",
	};
	struct letter early = { PARTITIONS, "early", "early", NULL, "v" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	add_partition(&fixture);
	onced_fixture_send(&fixture, &early, 1);
	onced_fixture_send_series(&fixture, 0, LOAD);
	check_all(&onced);
	check_that_kafka_knows(&fixture);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- transactions of producers ---- */

static rd_kafka_t *open_producer(const struct kafka_fixture *kafka)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *rk;

	rd_kafka_conf_set(conf, "bootstrap.servers", kafka->bootstrap, NULL, 0);
	rd_kafka_conf_set(conf, "transactional.id", kafka->topic, NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	ck_assert_ptr_null(rd_kafka_init_transactions(rk, ADMIN_MS));
	return rk;
}

static void produce(rd_kafka_t *rk, const struct kafka_fixture *kafka,
		    const char *id)
{
	ck_assert_int_eq(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(kafka->topic),
					   RD_KAFKA_V_PARTITION(0),
					   RD_KAFKA_V_HEADER("id", id, -1),
					   RD_KAFKA_V_HEADER("biz", id, -1),
					   RD_KAFKA_V_END),
			 RD_KAFKA_RESP_ERR_NO_ERROR);
	ck_assert_int_eq(rd_kafka_flush(rk, ADMIN_MS),
			 RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void produce_one_of_two(const struct kafka_fixture *kafka)
{
	rd_kafka_t *rk = open_producer(kafka);

	ck_assert_ptr_null(rd_kafka_begin_transaction(rk));
	produce(rk, kafka, "kept");
	ck_assert_ptr_null(rd_kafka_commit_transaction(rk, ADMIN_MS));
	ck_assert_ptr_null(rd_kafka_begin_transaction(rk));
	produce(rk, kafka, "aborted");
	ck_assert_ptr_null(rd_kafka_abort_transaction(rk, ADMIN_MS));
	rd_kafka_destroy(rk);
}

static bool is_whole(void *arg)
{
	return kafka_fixture_get_end(arg, 0) == 4;
}

static bool is_committed_to_the_end(void *arg)
{
	struct kafka_fixture *kafka = arg;

	return kafka_fixture_get_committed(kafka, 0) ==
	       kafka_fixture_get_end(kafka, 0);
}

static bool has_no_lag(void *arg)
{
	return onced_get_metric(arg, "onced_partition_lag", NULL) == 0;
}

/* By what everybody reads. */
static void check_no_lag(struct onced *onced)
{
	ck_assert(wait_until(has_no_lag, onced, WAIT_MS));
	ck_assert_int_eq(onced_command(onced, "status", "--json"), 0);
	onced_check_output(onced, "\"lag\":0");
}

/* Behind the last message stand an aborted one and two markers: lag is 0 all
 * the same. */
START_TEST(what_a_producer_aborted_is_not_handled_and_counts_as_no_lag)
{
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	/* Kafka is told of more than was a message. */
	onced_fixture_without_monitor(&fixture);
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	produce_one_of_two(&fixture.kafka);
	/* The broker writes a marker after it has answered. */
	ck_assert(wait_until(is_whole, &fixture.kafka, WAIT_MS));
	ck_assert(wait_until(is_committed_to_the_end, &fixture.kafka, WAIT_MS));
	onced_fixture_check_effects(&fixture, 1);
	check_no_lag(&onced);
	ck_assert_int_eq(onced_stop(&onced), 0);

	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	check_no_lag(&onced);
	onced_fixture_send_series(&fixture, 0, 1);
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM effect", 2,
			       WAIT_MS);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Two messages, one of a transaction, an aborted one, two markers. */
static bool has_all_as_lag(void *arg)
{
	return onced_get_metric(arg, "onced_partition_lag", NULL) == 6;
}

static bool is_paused(void *arg)
{
	return onced_get_metric(arg, "onced_paused_total", NULL) > 0;
}

/* The end is read long before the messages have ended: the second one waits in
 * a lane, or in a queue. */
START_TEST(what_has_not_ended_counts_as_lag_though_the_end_was_read)
{
	static const struct letter letters[] = {
		{ 0, "m1", "b1", "pause", "v" },
		{ 0, "m2", "b2", NULL, "v" },
	};
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_fixture_without_monitor(&fixture); /* as above */
	onced_init(&onced, &fixture, NULL);
	onced_fixture_put_file(&fixture, "pause");
	onced_fixture_send(&fixture, letters, 2);
	produce_one_of_two(&fixture.kafka);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert(wait_until(is_paused, &onced, WAIT_MS));
	ck_assert(wait_until(has_all_as_lag, &onced, WAIT_MS));
	for (int i = 0; i < 20; i++) {
		struct timespec moment = { 0, 50000000 };

		nanosleep(&moment, NULL);
		ck_assert(has_all_as_lag(&onced));
	}
	onced_fixture_check_effects(&fixture, 0);
	onced_fixture_remove_file(&fixture, "pause");
	check_no_lag(&onced);
	onced_fixture_check_effects(&fixture, 3);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Nothing is wrong with it; what stands behind it comes when it ends. Who asks
 * the broker waits as long as it holds the fetch that came before. */
START_TEST(an_open_transaction_holds_back_and_is_no_stall)
{
	struct onced_options options = { .property = "fetch.wait.max.ms=500" };
	struct onced_fixture fixture;
	struct onced onced;
	rd_kafka_t *rk;

	onced_fixture_init(&fixture, 1);
	/* Kafka is told of the marker, too. */
	onced_fixture_without_monitor(&fixture);
	onced_init(&onced, &fixture, &options);
	rk = open_producer(&fixture.kafka);
	onced_start(&onced, NULL);
	onced_fixture_send_series(&fixture, 0, LOAD);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	ck_assert_ptr_null(rd_kafka_begin_transaction(rk));
	produce(rk, &fixture.kafka, "open");
	onced_fixture_send_series(&fixture, LOAD, 1);
	onced_wait_for_log(&onced, "held back at offset 100", WAIT_MS);
	onced_wait_until_ready(&onced, WAIT_MS);
	onced_fixture_check_effects(&fixture, LOAD);
	ck_assert_ptr_null(rd_kafka_commit_transaction(rk, ADMIN_MS));
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM effect",
			       LOAD + 2, WAIT_MS);
	ck_assert(!onced_has_logged(&onced, "stalls"));
	ck_assert(!onced_has_logged(&onced, "doesn't answer"));
	ck_assert_int_eq(onced_stop(&onced), 0);
	rd_kafka_destroy(rk);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("the broker");
	TCase *tests = tcase_create("all");
	TCase *lag = tcase_create("lag");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests, a_broker_that_dies_or_comes_late_is_waited_for);
	tcase_add_test(
		tests,
		a_broker_that_freezes_while_it_is_asked_holds_up_nothing_else);
	tcase_add_test(
		tests,
		a_broker_that_freezes_under_its_readers_is_told_and_waited_for);
	tcase_add_test(
		tests,
		what_a_broker_keeps_is_told_although_another_one_answers);
	tcase_add_test(
		tests,
		a_partition_that_appears_later_is_read_from_its_first_message);
	tcase_add_test(
		lag,
		what_a_producer_aborted_is_not_handled_and_counts_as_no_lag);
	tcase_add_test(
		lag, what_has_not_ended_counts_as_lag_though_the_end_was_read);
	tcase_add_test(tests, an_open_transaction_holds_back_and_is_no_stall);
	suite_add_tcase(suite, tests);
	suite_add_tcase(suite, lag);
	return suite_run(suite);
}
