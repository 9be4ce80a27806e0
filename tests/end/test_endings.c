/*
 * test_endings.c - each way in which a message can end, and that all of them
 * are ends: the offset moves, and a restart has nothing left to do.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(letters) (sizeof(letters) / sizeof(*(letters)))

enum {
	WAIT_MS = 30000,
	BAD = 200
};

/* clang-format off */
static const struct letter one_of_each[] = {
	{ 0, "m1",  "b1",  NULL,      "v" },
	{ 0, "m1",  "b1",  NULL,      "v" },     /* duplicate by msg_id */
	{ 1, "m1",  "b1",  NULL,      "v" },     /* in another partition */
	{ 1, "m2",  "b1",  NULL,      "v" },     /* duplicate by biz_id */
	{ 0, "m3",  "b1",  NULL,      "other" }, /* conflict */
	{ 1, NULL,  "b4",  NULL,      "v" },     /* bad key */
	{ 0, "m5",  "b5",  NULL,      NULL },    /* tombstone */
	{ 0, "m6",  "b6",  NULL,      "" },
	{ 1, "m7",  "b7",  "reject",  "v" },     /* dead by its verdict */
	{ 1, "m8",  "b8",  "fail",    "v" },     /* dead by its attempts */
	{ 1, "m9",  "b9",  "recover", "v" },
	{ 0, "m10", "b10", NULL,      "v" },
};
/* clang-format on */

static void check_parked(struct onced_fixture *fixture)
{
	static const char sql[] =
		"SELECT string_agg(cause || ':' || coalesce(msg_id, '-'), ' ' "
		"ORDER BY cause) FROM once.parked WHERE state = 'dead'";
	char *parked = pg_fixture_get_text(&fixture->pg, sql);

	ck_assert_str_eq(parked, "attempts:m8 bad_key:- conflict:m3 "
				 "rejected:m7");
	free(parked);
}

/* C24, C27, C29 */
static void check_numbers(struct onced *onced)
{
	int64_t stopped =
		onced_get_metric(onced, "onced_intercepts_total", NULL) +
		onced_get_metric(onced, "onced_backstop_hits_total", NULL);
	int64_t handled = onced_get_metric(onced, "onced_handled_total", NULL);
	int64_t conflicts =
		onced_get_metric(onced, "onced_conflicts_total", NULL);
	int64_t dead = onced_get_metric(onced, "onced_dead_total", NULL);

	ck_assert_int_eq(handled, 5);
	ck_assert_int_eq(stopped, 3);
	ck_assert_int_eq(conflicts, 1);
	ck_assert_int_eq(dead, 3);
	ck_assert_int_eq(onced_get_metric(onced, "onced_consumed_total", NULL),
			 handled + stopped + conflicts + dead);
	ck_assert_int_ge(onced_get_metric(onced, "onced_retries_total", NULL),
			 4);
}

/* What is neither is the rest of the lanes' time. */
static void check_stages(struct onced *onced)
{
	static const char *const stages[] = { "keys", "prefilter", "claim",
					      "handler", "commit" };
	static const char name[] = "onced_stage_seconds_total";
	double of_lanes = 0;
	char label[32];

	for (size_t i = 0; i < COUNT(stages); i++) {
		double seconds;

		snprintf(label, sizeof(label), "stage=\"%s\"", stages[i]);
		seconds = onced_get_seconds(onced, name, label);
		ck_assert_msg(seconds > 0, "%s took %f s", label, seconds);
		of_lanes += seconds;
	}
	ck_assert_double_gt(onced_get_seconds(onced, name, "stage=\"fetch\""),
			    0);
	ck_assert_double_le(of_lanes,
			    onced_get_seconds(onced,
					      "onced_lane_busy_seconds_total",
					      NULL));
}

static void check_offsets(struct onced_fixture *fixture)
{
	for (int i = 0; i < fixture->partitions; i++) {
		int64_t end = kafka_fixture_get_end(&fixture->kafka, i);

		ck_assert_int_eq(onced_fixture_position(fixture, i), end);
		ck_assert_int_eq(
			kafka_fixture_get_committed(&fixture->kafka, i), end);
	}
}

/* C03 */
START_TEST(every_ending_moves_the_offset_and_a_restart_delivers_nothing)
{
	static const struct letter one_more[] = { { 0, "m11", "b11", NULL,
						    "v" } };
	struct onced_options options = { .instance_id = "a" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 2);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send(&fixture, one_of_each, COUNT(one_of_each));
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 5);
	check_parked(&fixture);
	onced_wait_until_counted(&onced, 1, fixture.sent);
	check_numbers(&onced);
	check_stages(&onced);
	ck_assert_int_eq(onced_stop(&onced), 0);
	check_offsets(&fixture);

	onced_start(&onced, NULL);
	onced_fixture_send(&fixture, one_more, 1);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 6);
	ck_assert_int_eq(onced_get_metric(&onced, "onced_consumed_total", NULL),
			 1);
	ck_assert_int_eq(onced_stop(&onced), 0);
	check_offsets(&fixture);
	onced_fixture_fini(&fixture);
}
END_TEST

/* C62 */
START_TEST(a_handler_can_tell_a_null_value_from_an_empty_one)
{
	static const struct letter letters[] = {
		{ 0, "null", "b1", NULL, NULL },
		{ 0, "empty", "b2", NULL, "" },
	};
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	onced_fixture_send(&fixture, letters, COUNT(letters));
	onced_fixture_wait_for(&fixture,
			       "SELECT count(*) FROM effect WHERE "
			       "msg_id = 'null' AND value IS NULL OR "
			       "msg_id = 'empty' AND value = ''",
			       2, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

static void start_two(struct onced onced[2], struct onced_fixture *fixture)
{
	static const struct onced_options options[] = {
		{ .name = "one", .instance_id = "one" },
		{ .name = "two", .instance_id = "two" },
	};

	for (int i = 0; i < 2; i++) {
		onced_init(&onced[i], fixture, &options[i]);
		onced_start(&onced[i], NULL);
	}
	for (int i = 0; i < 2; i++)
		onced_wait_for_log(&onced[i], "msg=\"assigned\" partitions=1",
				   WAIT_MS);
}

static int64_t add_up(struct onced onced[2], const char *name,
		      const char *label)
{
	return onced_get_metric(&onced[0], name, label) +
	       onced_get_metric(&onced[1], name, label);
}

/* C24, C27; C93: no Redis is there */
START_TEST(duplicates_are_found_across_partitions_and_processes)
{
	static const struct letter first[] = {
		{ 0, "m1", "b1", NULL, "v" },
		{ 1, "m2", "b2", NULL, "v" },
	};
	static const struct letter again[] = {
		{ 1, "m1", "b1", NULL, "v" },
		{ 0, "m2", "b2", NULL, "v" },
		{ 1, "m3", "b1", NULL, "v" },
		{ 0, "m4", "b2", NULL, "v" },
	};
	struct onced_fixture fixture;
	struct onced onced[2];

	onced_fixture_init(&fixture, 2);
	start_two(onced, &fixture);
	onced_fixture_send(&fixture, first, COUNT(first));
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	/* Two by two, or the second pair would be found within a batch. */
	onced_fixture_send(&fixture, again, 2);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_send(&fixture, again + 2, 2);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 2);
	onced_wait_until_counted(onced, 2, fixture.sent);
	ck_assert_int_eq(
		add_up(onced, "onced_backstop_hits_total", "key=\"msg_id\""),
		2);
	ck_assert_int_eq(
		add_up(onced, "onced_backstop_hits_total", "key=\"biz_id\""),
		2);
	ck_assert_int_eq(onced_stop(&onced[0]), 0);
	ck_assert_int_eq(onced_stop(&onced[1]), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* C28: both partitions get each message, a moment apart. */
START_TEST(the_same_message_in_two_partitions_at_once_takes_effect_once)
{
	struct onced_fixture fixture;
	struct onced onced[2];

	onced_fixture_init(&fixture, 2);
	start_two(onced, &fixture);
	for (int64_t i = 0; i < 1000; i += 50)
		for (fixture.shift = 0; fixture.shift < 2; fixture.shift++)
			onced_fixture_send_series(&fixture, i, 50);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 1000);
	ck_assert_int_eq(onced_stop(&onced[0]), 0);
	ck_assert_int_eq(onced_stop(&onced[1]), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- what the log says of them ---- */

static int64_t count_lines(struct onced *onced, const char *text)
{
	char *log = read_file(onced->log);
	int64_t count = 0;

	for (const char *at = strstr(log, text); at != NULL;
	     at = strstr(at + 1, text))
		count++;
	free(log);
	return count;
}

START_TEST(of_many_bad_messages_ten_have_a_line_and_the_others_are_counted)
{
	struct onced_options options = { .route = "    halt_after_dead: 0\n" };
	struct letter letters[BAD];
	struct onced_fixture fixture;
	struct onced onced;

	for (int i = 0; i < BAD; i++)
		letters[i] = (struct letter){ 0, NULL, "b", NULL, "v" };
	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_fixture_send(&fixture, letters, BAD);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_wait_until_counted(&onced, 1, BAD);
	ck_assert_int_eq(onced_stop(&onced), 0);
	ck_assert_int_eq(count_lines(&onced, "msg=\"dead: "), 10);
	ck_assert_int_eq(
		count_lines(&onced, "msg=\"and 190 more, the last of them: "),
		1);
	ck_assert_int_eq(count_lines(&onced, " more=190 first_offset=10\n"), 1);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(a_line_of_a_try_says_what_follows_and_a_key_cannot_speak)
{
	static const struct letter letters[] = {
		{ 0, "m\xC2\x9B\xE2\x80\xAE\x7F", "b1", "reject", "v" },
		{ 0, "m2", "b2", NULL, "v" },
	};
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	pg_fixture_run(&fixture.pg,
		       "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE "
		       "plpgsql AS $$BEGIN RAISE 'no'; END$$");
	pg_fixture_run(&fixture.pg,
		       "CREATE TRIGGER refuse BEFORE INSERT ON effect FOR EACH "
		       "ROW EXECUTE FUNCTION refuse()");
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	onced_fixture_send(&fixture, letters, COUNT(letters));
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_wait_until_counted(&onced, 1, COUNT(letters));
	ck_assert_int_eq(onced_stop(&onced), 0);
	ck_assert_int_eq(
		count_lines(&onced, "msg_id=\"m\\u009b\\u202e\\u007f\""), 1);
	ck_assert_int_eq(
		count_lines(&onced, "attempt=1 max_attempts=3 next_ms="), 1);
	ck_assert_int_eq(
		count_lines(&onced, "attempt=2 max_attempts=3 next_ms="), 1);
	ck_assert_int_eq(count_lines(&onced, " sqlstate=P0001"), 3);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("endings");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(
		tests,
		every_ending_moves_the_offset_and_a_restart_delivers_nothing);
	tcase_add_test(tests,
		       a_handler_can_tell_a_null_value_from_an_empty_one);
	tcase_add_test(tests,
		       duplicates_are_found_across_partitions_and_processes);
	tcase_add_test(
		tests,
		the_same_message_in_two_partitions_at_once_takes_effect_once);
	tcase_add_test(
		tests,
		of_many_bad_messages_ten_have_a_line_and_the_others_are_counted);
	tcase_add_test(
		tests,
		a_line_of_a_try_says_what_follows_and_a_key_cannot_speak);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
