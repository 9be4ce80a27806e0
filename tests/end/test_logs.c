/*
 * test_logs.c - a topic that was deleted and made again is another log: nobody
 * reads on in it as if nothing had happened. What was merely removed by
 * retention is no other log.
 */
#include "bytes.h"
#include "clock.h"
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>

enum {
	WAIT_MS = 30000,
	ADMIN_MS = 10000,
	HANDLED = 10
};

static void start_with(struct onced_fixture *fixture, struct onced *onced,
		       const struct onced_options *options)
{
	onced_fixture_init(fixture, 1);
	onced_init(onced, fixture, options);
	onced_start(onced, NULL);
	onced_fixture_send_series(fixture, 0, HANDLED);
	onced_fixture_wait_for_all(fixture, WAIT_MS);
	onced_wait_until_ready(onced, WAIT_MS);
	onced_fixture_without_monitor(fixture); /* it knows of one log only */
}

static void start_and_handle(struct onced_fixture *fixture, struct onced *onced)
{
	start_with(fixture, onced, NULL);
}

struct expectation {
	struct onced_fixture *fixture;
	int64_t offset;
};

static bool is_committed(void *arg)
{
	const struct expectation *expected = arg;

	return kafka_fixture_get_committed(&expected->fixture->kafka, 0) ==
	       expected->offset;
}

static void wait_until_committed(struct onced_fixture *fixture, int64_t offset)
{
	struct expectation expected = { fixture, offset };

	ck_assert(wait_until(is_committed, &expected, WAIT_MS));
}

/* With `count` messages that nobody has seen. */
static void make_topic_again(struct onced_fixture *fixture, int64_t count)
{
	struct kafka_fixture *kafka = &fixture->kafka;

	kafka_fixture_delete_topic(kafka, kafka->topic);
	kafka_fixture_create_topic(kafka, kafka->topic, 1, NULL);
	if (count > 0)
		onced_fixture_send_series(fixture, 1000, count);
}

static void seek_to_the_beginning_with(struct onced *onced, const char *more)
{
	const char *const seek[] = { "seek",
				     "-c",
				     onced->config,
				     "--topic",
				     onced->fixture->kafka.topic,
				     "--to",
				     "earliest",
				     more,
				     NULL };

	ck_assert_int_eq(onced_call(onced, seek), 0);
}

static void seek_to_the_beginning(struct onced *onced)
{
	seek_to_the_beginning_with(onced, NULL);
}

static void check_after_a_seek(struct onced *onced, int64_t count)
{
	struct onced_fixture *fixture = onced->fixture;

	ck_assert_int_eq(onced_stop(onced), 0);
	onced_fixture_check_effects(fixture, HANDLED);
	ck_assert_int_eq(onced_fixture_position(fixture, 0), HANDLED);
	seek_to_the_beginning(onced);
	onced_start(onced, NULL);
	onced_fixture_wait_for(fixture, "SELECT count(*) FROM effect",
			       HANDLED + count, WAIT_MS);
	onced_fixture_check_effects(fixture, HANDLED + count);
	onced_wait_until_ready(onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(onced), 0);
	onced_fixture_fini(fixture);
}

/* librdkafka does since 2.3; then another id is seen before anything else. */
static bool tells_ids(void)
{
	return rd_kafka_version() >= 0x02030000;
}

/* The new log has as many messages, or more: the old offset is there. */
static const int64_t longer[] = { HANDLED, HANDLED + 5 };

START_TEST(a_topic_made_again_while_stopped_halts_though_it_has_the_offset)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_and_handle(&fixture, &onced);
	ck_assert_int_eq(onced_stop(&onced), 0);
	make_topic_again(&fixture, longer[_i]);
	onced_start(&onced, NULL);
	onced_wait_until_not_ready(&onced, "this is another log", WAIT_MS);
	onced_wait_until_not_ready(&onced, "onced seek --topic", WAIT_MS);
	check_after_a_seek(&onced, longer[_i]);
}
END_TEST

START_TEST(a_shorter_topic_made_again_while_stopped_halts)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_and_handle(&fixture, &onced);
	ck_assert_int_eq(onced_stop(&onced), 0);
	make_topic_again(&fixture, HANDLED / 2);
	onced_start(&onced, NULL);
	onced_wait_until_not_ready(&onced, "the topic was made again", WAIT_MS);
	onced_wait_until_not_ready(&onced, "onced seek --topic", WAIT_MS);
	check_after_a_seek(&onced, HANDLED / 2);
}
END_TEST

/* The offset that is read first is the new log's end: in range, and nothing
 * comes. */
START_TEST(a_topic_made_again_shorter_by_one_is_told)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_and_handle(&fixture, &onced);
	ck_assert_int_eq(onced_stop(&onced), 0);
	make_topic_again(&fixture, HANDLED - 1);
	onced_start(&onced, NULL);
	onced_wait_until_not_ready(&onced,
				   tells_ids() ? "its topic has the id"
					       : "its log ends at 9, before",
				   WAIT_MS);
	onced_fixture_send_series(&fixture, 3000, 1);
	onced_wait_until_not_ready(&onced, "this is another log", WAIT_MS);
	check_after_a_seek(&onced, HANDLED);
}
END_TEST

/* ---- by transactions ---- */

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

/* With a key, for which alone a compacted topic takes it. */
static void send_keyed(struct kafka_fixture *kafka, const char *id)
{
	const struct once_header headers[] = { { "id", bytes_text(id) },
					       { "biz", bytes_text(id) } };
	struct once_record record = {
		.key = bytes_text(id),
		.value = bytes_text("v"),
		.headers = headers,
		.header_count = 2,
	};

	kafka_fixture_produce(kafka, &record, 1);
}

/* One message each: every second offset is a marker's. */
static void send_by_transactions(struct kafka_fixture *kafka)
{
	rd_kafka_t *plain = kafka->rk;

	kafka->rk = open_producer(kafka);
	for (int i = 0; i < HANDLED; i++) {
		char id[16];

		snprintf(id, sizeof(id), "new%d", i);
		ck_assert_ptr_null(rd_kafka_begin_transaction(kafka->rk));
		send_keyed(kafka, id);
		ck_assert_ptr_null(
			rd_kafka_commit_transaction(kafka->rk, ADMIN_MS));
	}
	rd_kafka_destroy(kafka->rk);
	kafka->rk = plain;
}

static void make_topic_with_a_marker_there(struct onced_fixture *fixture,
					   const char *const *settings)
{
	struct kafka_fixture *kafka = &fixture->kafka;

	kafka_fixture_delete_topic(kafka, kafka->topic);
	kafka_fixture_create_topic(kafka, kafka->topic, 1, settings);
	send_by_transactions(kafka);
}

START_TEST(a_topic_made_again_with_a_marker_at_the_old_place_halts)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_and_handle(&fixture, &onced);
	ck_assert_int_eq(onced_stop(&onced), 0);
	make_topic_with_a_marker_there(&fixture, NULL);
	onced_start(&onced, NULL);
	onced_wait_until_not_ready(&onced, "this is another log", WAIT_MS);
	onced_wait_until_not_ready(&onced, "onced seek --topic", WAIT_MS);
	check_after_a_seek(&onced, HANDLED);
}
END_TEST

/* There an absent message may have been compacted away: as if the one before
 * the position had been where a marker is. */
START_TEST(in_a_compacted_topic_an_absent_message_proves_nothing)
{
	static const char *const compacted[] = { "cleanup.policy=compact",
						 NULL };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_fixture_without_monitor(&fixture);
	make_topic_with_a_marker_there(&fixture, compacted);
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM effect", HANDLED,
			       WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	pg_fixture_run(&fixture.pg,
		       "UPDATE once.position SET next_offset = 10, "
		       "anchor_offset = 9");
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	onced_wait_until_counted(&onced, 1, HANDLED / 2);
	ck_assert_int_eq(
		onced_get_metric(&onced, "onced_anchor_gone_total", NULL), 1);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_check_effects(&fixture, HANDLED);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- by the topic's id ---- */

/* The same messages to the byte, and of the same time: only its id tells the
 * new topic from the old one. */
static void send_the_same(struct onced_fixture *fixture, int64_t time_ms)
{
	for (int i = 0; i < HANDLED; i++) {
		char id[16];
		struct once_header headers[] = { { "id", { NULL, 0 } },
						 { "biz", { NULL, 0 } } };
		struct once_record record = {
			.time_ms = time_ms,
			.value = bytes_text("v"),
			.headers = headers,
			.header_count = 2,
		};

		snprintf(id, sizeof(id), "same%d", i);
		headers[0].value = bytes_text(id);
		headers[1].value = bytes_text(id);
		kafka_fixture_produce(&fixture->kafka, &record, 1);
	}
}

START_TEST(a_topic_made_again_is_known_by_its_id)
{
	struct onced_fixture fixture;
	struct onced onced;
	bool tells = tells_ids();
	int64_t now_ms = clock_unix_ms();

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, NULL);
	onced_fixture_without_monitor(&fixture);
	onced_start(&onced, NULL);
	send_the_same(&fixture, now_ms);
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM effect", HANDLED,
			       WAIT_MS);
	onced_fixture_wait_for(&fixture,
			       "SELECT count(log_id) FROM once.position",
			       tells ? 1 : 0, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_start(&onced, NULL); /* it has the same id */
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	make_topic_again(&fixture, 0);
	send_the_same(&fixture, now_ms);
	onced_start(&onced, NULL);
	if (tells)
		onced_wait_until_not_ready(&onced, "its topic has the id",
					   WAIT_MS);
	else
		onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	seek_to_the_beginning(&onced);
	onced_check_output(&onced, tells ? "in another log" : "read again");
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- the advice ---- */

enum made_again {
	WHILE_STOPPED,
	WHILE_IT_RUNS,
	SOUGHT_UNSEEN, /* nobody has looked at it since */
	WITH_MARKERS_UNSEEN,
	MADE_AGAIN_WAYS
};

static void make_again(struct onced *onced, enum made_again way)
{
	struct onced_fixture *fixture = onced->fixture;

	if (way != WHILE_IT_RUNS)
		ck_assert_int_eq(onced_stop(onced), 0);
	if (way == WITH_MARKERS_UNSEEN)
		make_topic_with_a_marker_there(fixture, NULL);
	else
		make_topic_again(fixture, HANDLED + 5);
	if (way == WHILE_STOPPED)
		onced_start(onced, NULL);
	if (way == WHILE_STOPPED || way == WHILE_IT_RUNS) {
		onced_wait_until_not_ready(onced, "onced seek --topic",
					   WAIT_MS);
		ck_assert_int_eq(onced_stop(onced), 0);
	}
}

/* The new log's messages have the places of the old one's. */
START_TEST(places_in_a_topic_made_again_are_other_messages)
{
	const struct onced_options options = { .msg_id = "coordinates" };
	struct onced_fixture fixture;
	struct onced onced;
	int64_t count = _i == WITH_MARKERS_UNSEEN ? HANDLED : HANDLED + 5;

	start_with(&fixture, &onced, &options);
	wait_until_committed(&fixture, HANDLED);
	make_again(&onced, (enum made_again)_i);
	seek_to_the_beginning(&onced);
	onced_check_output(&onced, "in another log");
	onced_start(&onced, NULL);
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM effect",
			       HANDLED + count, WAIT_MS);
	onced_fixture_check_effects(&fixture, HANDLED + count);
	ck_assert_int_eq(
		onced_get_metric(&onced, "onced_conflicts_total", NULL), 0);
	ck_assert_int_eq(pg_fixture_get_int64(&fixture.pg,
					      "SELECT log_generation FROM "
					      "once.position"),
			 1);
	ck_assert_int_eq(onced_stop(&onced), 0);
	seek_to_the_beginning(&onced); /* and this is the same one */
	onced_check_output(&onced, "are read again");
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	onced_wait_until_counted(&onced, 1, count);
	onced_fixture_check_effects(&fixture, HANDLED + count);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- while it runs ---- */

/* librdkafka says nothing, and the old offset is there: what tells is that
 * Kafka has forgotten the group's offset with the topic. The new messages from
 * the old offset on are handled before that is seen. */
START_TEST(a_topic_made_again_under_a_running_process_halts)
{
	static const int64_t counts[] = { HANDLED / 2, HANDLED, HANDLED + 5 };
	struct onced_fixture fixture;
	struct onced onced;

	start_and_handle(&fixture, &onced);
	wait_until_committed(&fixture, HANDLED);
	make_topic_again(&fixture, counts[_i]);
	for (int i = 0; i < 2; i++) { /* a restart is no answer */
		onced_wait_until_not_ready(&onced, "made again", WAIT_MS);
		onced_wait_until_not_ready(&onced, "onced seek --topic",
					   WAIT_MS);
		ck_assert_int_eq(onced_stop(&onced), 0);
		if (i == 0)
			onced_start(&onced, NULL);
	}
	seek_to_the_beginning(&onced);
	onced_start(&onced, NULL);
	onced_fixture_wait_for(&fixture, "SELECT count(*) FROM effect",
			       HANDLED + counts[_i], WAIT_MS);
	onced_fixture_check_effects(&fixture, HANDLED + counts[_i]);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Messages come all the time, so that its own commits would hide the loss of
 * the offset at once, if it didn't look before. */
START_TEST(a_topic_made_again_under_a_busy_process_halts)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_and_handle(&fixture, &onced);
	wait_until_committed(&fixture, HANDLED);
	make_topic_again(&fixture, 3 * HANDLED);
	for (int i = 0; i < 20; i++)
		onced_fixture_send_series(&fixture, 2000 + 100 * i, 100);
	onced_wait_until_not_ready(&onced, "this is another log", WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* The last one is in its handler when the new log is suspected: what is
 * before it is handled, and committed. */
static void send_with_a_hanging_one(struct onced_fixture *fixture)
{
	struct letter letters[HANDLED + 2];
	char ids[HANDLED + 2][16];

	for (int i = 0; i < HANDLED + 2; i++) {
		snprintf(ids[i], sizeof(ids[i]), "new%d", i);
		letters[i] = (struct letter){ 0, ids[i], ids[i], NULL, "v" };
	}
	letters[HANDLED + 1].act = "hang";
	onced_fixture_send(fixture, letters, HANDLED + 2);
}

static void hang_until_known_again(struct onced *onced)
{
	struct onced_fixture *fixture = onced->fixture;

	onced_fixture_put_file(fixture, "hang");
	make_topic_again(fixture, 0);
	send_with_a_hanging_one(fixture);
	onced_fixture_wait_for_file(fixture, "hanging", WAIT_MS);
	onced_wait_for_log(onced, "Kafka has forgotten the group's offset",
			   WAIT_MS);
	wait_until_committed(fixture, HANDLED + 1);
	onced_fixture_remove_file(fixture, "hang");
}

/* A commit of our own makes Kafka know the group again before the log could be
 * compared: that proves nothing. */
START_TEST(a_commit_while_the_log_is_suspected_hides_nothing)
{
	struct onced_options options = { .batch = "1" };
	struct onced_fixture fixture;
	struct onced onced;

	start_with(&fixture, &onced, &options);
	wait_until_committed(&fixture, HANDLED);
	hang_until_known_again(&onced);
	onced_wait_until_not_ready(&onced, "this is another log", WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- the same log ---- */

static void delete_records(struct onced_fixture *fixture, int64_t before)
{
	struct kafka_fixture *kafka = &fixture->kafka;
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(kafka->rk);
	rd_kafka_DeleteRecords_t *records;
	rd_kafka_event_t *event;

	rd_kafka_topic_partition_list_add(list, kafka->topic, 0)->offset =
		before;
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

/* Retention took what was handled, and no more. */
START_TEST(a_removed_anchor_proves_nothing_and_halts_nothing)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_and_handle(&fixture, &onced);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_send_series(&fixture, HANDLED, 5);
	delete_records(&fixture, HANDLED);
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, HANDLED + 5);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(
		onced_get_metric(&onced, "onced_anchor_gone_total", NULL), 1);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

static int64_t log_generation(struct onced_fixture *fixture)
{
	return pg_fixture_get_int64(&fixture->pg,
				    "SELECT log_generation FROM once.position");
}

/* Nor does it to a seek: only the person can know. */
START_TEST(where_the_anchor_was_removed_a_person_says_if_it_is_another_log)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_and_handle(&fixture, &onced);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_send_series(&fixture, HANDLED, 5);
	delete_records(&fixture, HANDLED);
	seek_to_the_beginning_with(&onced, "--dry-run");
	onced_check_output(&onced, "could not verify");
	seek_to_the_beginning_with(&onced, "--another-log");
	onced_check_output(&onced, "in another log");
	ck_assert_int_eq(log_generation(&fixture), 1);
	seek_to_the_beginning(&onced);
	ck_assert_int_eq(log_generation(&fixture), 1);
	onced_fixture_fini(&fixture);
}
END_TEST

/* The anchor is the last message of the log, read and thrown away. */
START_TEST(an_equal_anchor_is_not_handled_again)
{
	struct onced_fixture fixture;
	struct onced onced;

	start_and_handle(&fixture, &onced);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(onced_stop(&onced), 0);
		onced_start(&onced, NULL);
		onced_wait_until_ready(&onced, WAIT_MS);
	}
	onced_fixture_send_series(&fixture, HANDLED, 1);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, HANDLED + 1);
	ck_assert_int_eq(onced_get_metric(&onced, "onced_consumed_total", NULL),
			 1);
	ck_assert_int_eq(
		onced_get_metric(&onced, "onced_anchor_gone_total", NULL), 0);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("logs");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_loop_test(
		tests,
		a_topic_made_again_while_stopped_halts_though_it_has_the_offset,
		0, 2);
	tcase_add_test(tests, a_shorter_topic_made_again_while_stopped_halts);
	tcase_add_test(tests, a_topic_made_again_shorter_by_one_is_told);
	tcase_add_loop_test(
		tests, a_topic_made_again_under_a_running_process_halts, 0, 3);
	tcase_add_test(tests, a_topic_made_again_under_a_busy_process_halts);
	tcase_add_test(tests,
		       a_topic_made_again_with_a_marker_at_the_old_place_halts);
	tcase_add_test(tests,
		       in_a_compacted_topic_an_absent_message_proves_nothing);
	tcase_add_test(tests, a_topic_made_again_is_known_by_its_id);
	tcase_add_loop_test(tests,
			    places_in_a_topic_made_again_are_other_messages, 0,
			    MADE_AGAIN_WAYS);
	tcase_add_test(tests,
		       a_commit_while_the_log_is_suspected_hides_nothing);
	tcase_add_test(tests,
		       a_removed_anchor_proves_nothing_and_halts_nothing);
	tcase_add_test(
		tests,
		where_the_anchor_was_removed_a_person_says_if_it_is_another_log);
	tcase_add_test(tests, an_equal_anchor_is_not_handled_again);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
