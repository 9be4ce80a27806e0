/*
 * test_stop.c - told to stop: what is in flight is finished, the rest is for
 * the next start; and what happens when a handler doesn't let go.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <bytes.h>
#include <clock.h>
#include <librdkafka/rdkafka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	WAIT_MS = 30000,
	PARTITIONS = 2,
	STOPS = 20,
	LOAD = 5,
	STOP_MAX_MS = 3000
};

static void send_until_worked(struct onced *onced)
{
	struct onced_fixture *fixture = onced->fixture;
	int64_t deadline_ms = clock_ms() + WAIT_MS;
	int64_t before = pg_fixture_get_int64(&fixture->pg,
					      "SELECT count(*) FROM effect");

	while (pg_fixture_get_int64(&fixture->pg,
				    "SELECT count(*) FROM effect") == before &&
	       clock_ms() < deadline_ms)
		onced_fixture_send_series(fixture, fixture->sent, LOAD);
	onced_fixture_send_series(fixture, fixture->sent, 50 + random() % 200);
}

static void check_offsets(struct onced_fixture *fixture)
{
	for (int i = 0; i < fixture->partitions; i++)
		ck_assert_int_eq(
			kafka_fixture_get_committed(&fixture->kafka, i),
			onced_fixture_position(fixture, i));
}

/* C78: a duplicate would be counted at the next start. */
static void check_that_none_came_twice(struct onced *onced)
{
	ck_assert_int_eq(
		onced_get_metric(onced, "onced_intercepts_total", NULL) +
			onced_get_metric(onced, "onced_backstop_hits_total",
					 NULL),
		0);
}

/* C78 */
START_TEST(twenty_stops_under_load_are_clean)
{
	struct onced_options options = { .batch = "20" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, &options);
	for (int i = 0; i < STOPS; i++) {
		int64_t began_ms;

		onced_start(&onced, NULL);
		send_until_worked(&onced);
		check_that_none_came_twice(&onced);
		began_ms = clock_ms();
		ck_assert_int_eq(onced_stop(&onced), 0);
		ck_assert_int_lt(clock_ms() - began_ms, STOP_MAX_MS);
		check_offsets(&fixture);
	}
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, fixture.sent);
	check_that_none_came_twice(&onced);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Its handler is called, and doesn't return. */
static void start_hanging(struct onced *onced)
{
	static const struct letter letters[] = {
		{ 0, "m0", "b0", "hang", "v" },
		{ 1, "m1", "b1", NULL, "v" },
	};
	struct onced_fixture *fixture = onced->fixture;

	onced_fixture_put_file(fixture, "hang");
	onced_start(onced, NULL);
	onced_fixture_send(fixture, letters, 2);
	onced_fixture_wait_for_file(fixture, "hanging", WAIT_MS);
	onced_fixture_wait_for(fixture,
			       "SELECT count(*) FROM effect "
			       "WHERE msg_id = 'm1'",
			       1, WAIT_MS);
}

static void check_next_start(struct onced *onced)
{
	struct onced_fixture *fixture = onced->fixture;

	onced_fixture_remove_file(fixture, "hang");
	onced_start(onced, NULL);
	onced_fixture_wait_for_all(fixture, WAIT_MS);
	onced_fixture_check_effects(fixture, 2);
	ck_assert_int_eq(onced_stop(onced), 0);
	check_offsets(fixture);
}

START_TEST(a_second_signal_ends_it_at_once_and_nothing_is_lost)
{
	struct onced_options options = { .instance_id = "a" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, &options);
	start_hanging(&onced);
	process_signal(&onced.process, SIGTERM);
	onced_wait_for_log(&onced, "stopping", WAIT_MS);
	ck_assert(process_is_running(&onced.process));
	process_signal(&onced.process, SIGTERM);
	ck_assert_int_eq(onced_wait(&onced, 2000), 74);
	check_next_start(&onced);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_stop_that_takes_too_long_ends_with_74_and_nothing_is_lost)
{
	struct onced_options options = { .instance_id = "a",
					 .shutdown = "500ms" };
	struct onced_fixture fixture;
	int64_t began_ms;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, &options);
	start_hanging(&onced);
	began_ms = clock_ms();
	process_signal(&onced.process, SIGTERM);
	ck_assert_int_eq(onced_wait(&onced, STOP_MAX_MS), 74);
	ck_assert_int_ge(clock_ms() - began_ms, 500);
	check_next_start(&onced);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_handler_that_returns_in_time_is_waited_for)
{
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, NULL);
	start_hanging(&onced);
	process_signal(&onced.process, SIGTERM);
	onced_wait_for_log(&onced, "stopping", WAIT_MS);
	onced_fixture_remove_file(&fixture, "hang");
	ck_assert_int_eq(onced_wait(&onced, WAIT_MS), 0);
	onced_fixture_check_effects(&fixture, 2);
	check_offsets(&fixture);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Of what the route names: "later" comes while it runs, "brief" goes. */
struct topics {
	char later[128];
	char brief[128];
	char list[300];
};

static void name_topics(struct topics *topics,
			const struct kafka_fixture *kafka)
{
	snprintf(topics->later, sizeof(topics->later), "%s-later",
		 kafka->topic);
	snprintf(topics->brief, sizeof(topics->brief), "%s-brief",
		 kafka->topic);
	snprintf(topics->list, sizeof(topics->list), ", %s, %s", topics->later,
		 topics->brief);
}

static void send_to(struct onced_fixture *fixture, const char *topic,
		    const char *id)
{
	struct once_header headers[] = { { "id", bytes_text(id) },
					 { "biz", bytes_text(id) } };
	struct once_record record = { .topic = topic,
				      .value = bytes_text(id),
				      .headers = headers,
				      .header_count = 2 };

	kafka_fixture_produce(&fixture->kafka, &record, 1);
}

/* librdkafka's rd_kafka_destroy() doesn't return after that (2.0.2). */
static void lose_a_topic(struct onced *onced, struct topics *topics)
{
	static const struct timespec some_refreshes = { 3, 0 };
	struct onced_fixture *fixture = onced->fixture;

	send_to(fixture, topics->brief, "m1");
	onced_start(onced, NULL);
	kafka_fixture_create_topic(&fixture->kafka, topics->later, 1, NULL);
	send_to(fixture, topics->later, "m2");
	onced_fixture_wait_for(fixture, "SELECT count(*) FROM effect", 2,
			       WAIT_MS);
	kafka_fixture_delete_topic(&fixture->kafka, topics->brief);
	/* Newer ones don't say it, and have asked for the topics by then. */
	if (rd_kafka_version() < 0x02030000)
		onced_wait_for_log(onced,
				   "desired partition is no longer available",
				   WAIT_MS);
	else
		nanosleep(&some_refreshes, NULL);
}

START_TEST(a_topic_that_vanished_holds_up_no_stop)
{
	struct onced_options options = {
		.property = "topic.metadata.refresh.interval.ms=1000"
	};
	struct onced_fixture fixture;
	struct topics topics;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	name_topics(&topics, &fixture.kafka);
	kafka_fixture_create_topic(&fixture.kafka, topics.brief, 1, NULL);
	options.topics = topics.list;
	onced_init(&onced, &fixture, &options);
	lose_a_topic(&onced, &topics);
	onced_tell_to_stop(&onced);
	ck_assert_int_eq(onced_wait(&onced, 2 * STOP_MAX_MS), 0);
	onced_check_last_sums(&onced);
	kafka_fixture_delete_topic(&fixture.kafka, topics.later);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stops");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests, twenty_stops_under_load_are_clean);
	tcase_add_test(tests,
		       a_second_signal_ends_it_at_once_and_nothing_is_lost);
	tcase_add_test(
		tests,
		a_stop_that_takes_too_long_ends_with_74_and_nothing_is_lost);
	tcase_add_test(tests, a_handler_that_returns_in_time_is_waited_for);
	tcase_add_test(tests, a_topic_that_vanished_holds_up_no_stop);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
