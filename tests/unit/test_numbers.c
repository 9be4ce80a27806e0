/* What is counted, and the page it is shown on. */
#include "clock.h"
#include "metrics.h"
#include "numbers.h"
#include "suite.h"
#include "text.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LANES = 4,
	COUNTS = 20000
};

static struct numbers *create(void)
{
	static const char *const routes[] = { "refund", "say \"hi\"\n" };
	struct numbers *numbers = numbers_create(routes, 2, LANES, "2.0.2");

	ck_assert_ptr_nonnull(numbers);
	return numbers;
}

/* The value of the sample that starts so; -1: it isn't there. */
static double find_sample(struct numbers *numbers, const char *sample)
{
	scoped_text struct text page = { 0 };
	const char *at;

	numbers_render(numbers, false, &page);
	at = strstr(page.data, sample);
	while (at != NULL && at != page.data && at[-1] != '\n')
		at = strstr(at + 1, sample); /* that was its help */
	if (at == NULL)
		return -1;
	return strtod(at + strlen(sample), NULL);
}

#define SAMPLE(text) find_sample(numbers, text " ")

static void count(struct numbers *numbers, enum once_ending ending,
		  enum once_cause cause, enum once_stage stage)
{
	struct once_item item = { .ending = ending,
				  .cause = cause,
				  .stage = stage,
				  .key_kind = ONCE_KEY_BIZ_ID,
				  .handler_ns = 2000000 };

	numbers_count_items(numbers, 0, &item, 1);
}

START_TEST(each_ending_has_a_counter_of_its_own)
{
	struct numbers *numbers = create();

	numbers_consumed(numbers, 0, "refunds", 7);
	numbers_returned(numbers, 0, "refunds", 2);
	count(numbers, ONCE_HANDLED_ENDING, ONCE_CAUSE_NONE, 0);
	count(numbers, ONCE_DUPLICATE_ENDING, ONCE_CAUSE_NONE,
	      ONCE_STAGE_BATCH);
	count(numbers, ONCE_DUPLICATE_ENDING, ONCE_CAUSE_NONE,
	      ONCE_STAGE_DATABASE);
	count(numbers, ONCE_CONFLICT_ENDING, ONCE_CAUSE_CONFLICT, 0);
	count(numbers, ONCE_RETRY_ENDING, ONCE_CAUSE_ASKED, 0);
	count(numbers, ONCE_DEAD_ENDING, ONCE_CAUSE_REJECTED, 0);

	ck_assert_double_eq(
		SAMPLE("onced_consumed_total{route=\"refund\",topic=\"refunds\"}"),
		7);
	ck_assert_double_eq(
		SAMPLE("onced_returned_total{route=\"refund\",topic=\"refunds\"}"),
		2);
	ck_assert_double_eq(SAMPLE("onced_handled_total{route=\"refund\"}"), 1);
	ck_assert_double_eq(SAMPLE("onced_intercepts_total{route=\"refund\","
				   "stage=\"batch\",key=\"biz_id\"}"),
			    1);
	ck_assert_double_eq(SAMPLE("onced_backstop_hits_total{route=\"refund\","
				   "key=\"biz_id\"}"),
			    1);
	ck_assert_double_eq(SAMPLE("onced_conflicts_total{route=\"refund\","
				   "key=\"biz_id\"}"),
			    1);
	ck_assert_double_eq(SAMPLE("onced_retries_total{route=\"refund\","
				   "cause=\"asked\"}"),
			    1);
	ck_assert_double_eq(SAMPLE("onced_dead_total{route=\"refund\","
				   "reason=\"rejected\"}"),
			    1);
	numbers_destroy(numbers);
}
END_TEST

START_TEST(histograms_are_cumulative_and_end_with_all)
{
	struct numbers *numbers = create();
	struct once_run_stats stats = { .committed = 2, .rolled_back = 1 };

	numbers_count_run(numbers, 1, &stats, true, 0.004, 500);
	numbers_count_run(numbers, 1, &stats, false, 100, 3);
	ck_assert_double_eq(
		SAMPLE("onced_transaction_seconds_bucket{le=\"0.0025\"}"), 0);
	ck_assert_double_eq(
		SAMPLE("onced_transaction_seconds_bucket{le=\"0.005\"}"), 1);
	ck_assert_double_eq(
		SAMPLE("onced_transaction_seconds_bucket{le=\"60\"}"), 1);
	ck_assert_double_eq(
		SAMPLE("onced_transaction_seconds_bucket{le=\"+Inf\"}"), 2);
	ck_assert_double_eq(SAMPLE("onced_transaction_seconds_count"), 2);
	ck_assert_double_eq(SAMPLE("onced_batch_messages_sum"), 503);
	ck_assert_double_eq(
		SAMPLE("onced_transactions_total{result=\"committed\"}"), 4);
	ck_assert_double_eq(
		SAMPLE("onced_transactions_total{result=\"unknown\"}"), 1);
	ck_assert_double_eq_tol(SAMPLE("onced_lane_busy_seconds_total"
				       "{lane=\"1\"}"),
				100.004, 1e-9);
	numbers_destroy(numbers);
}
END_TEST

START_TEST(each_stage_has_its_time_and_batches_add_up)
{
	struct numbers *numbers = create();
	struct once_run_stats stats = {
		.keys_ns = 100000000,
		.prefilter_ns = 200000000,
		.claim_ns = 400000000,
		.handler_ns = 800000000,
		.commit_ns = 1600000000,
	};

	ck_assert_double_eq(
		SAMPLE("onced_stage_seconds_total{stage=\"fetch\"}"), 0);
	numbers_fetch_took(numbers, 50000000);
	numbers_count_run(numbers, 0, &stats, false, 4, 500);
	numbers_count_run(numbers, 1, &stats, false, 4, 500);
	ck_assert_double_eq_tol(
		SAMPLE("onced_stage_seconds_total{stage=\"fetch\"}"), 0.05,
		1e-9);
	ck_assert_double_eq_tol(
		SAMPLE("onced_stage_seconds_total{stage=\"keys\"}"), 0.2, 1e-9);
	ck_assert_double_eq_tol(
		SAMPLE("onced_stage_seconds_total{stage=\"prefilter\"}"), 0.4,
		1e-9);
	ck_assert_double_eq_tol(
		SAMPLE("onced_stage_seconds_total{stage=\"claim\"}"), 0.8,
		1e-9);
	ck_assert_double_eq_tol(
		SAMPLE("onced_stage_seconds_total{stage=\"handler\"}"), 1.6,
		1e-9);
	ck_assert_double_eq_tol(
		SAMPLE("onced_stage_seconds_total{stage=\"commit\"}"), 3.2,
		1e-9);
	numbers_destroy(numbers);
}
END_TEST

START_TEST(the_log_of_a_route_has_its_size_its_age_and_its_backlog) /* C57 */
{
	struct numbers *numbers = create();

	ck_assert_double_eq(
		SAMPLE("onced_log_overdue_seconds{route=\"refund\"}"), 0);
	numbers_log_set(numbers, 0, 1e6, 86400, 12.5);
	numbers_log_deleted(numbers, 0, 500);
	numbers_log_deleted(numbers, 0, 700);
	ck_assert_double_eq(SAMPLE("onced_log_rows{route=\"refund\"}"), 1e6);
	ck_assert_double_eq(
		SAMPLE("onced_log_oldest_age_seconds{route=\"refund\"}"),
		86400);
	ck_assert_double_eq(
		SAMPLE("onced_log_overdue_seconds{route=\"refund\"}"), 12.5);
	ck_assert_double_eq(SAMPLE("onced_log_deleted_total{route=\"refund\"}"),
			    1200);
	numbers_destroy(numbers);
}
END_TEST

/* Duplicates, those that were parked, and those without a time have none. */
START_TEST(a_handled_message_has_the_age_that_its_time_gives_it)
{
	struct numbers *numbers = create();
	int64_t now_ms = clock_unix_ms();
	struct once_item items[] = {
		{ .record = { .time_ms = now_ms - 100000 } },
		{ .record = { .time_ms = now_ms + 3600000 } },
		{ .record = { .time_ms = -1 } },
		{ .record = { .time_ms = now_ms - 100000 }, .parked = 1 },
		{ .record = { .time_ms = now_ms - 100000 } },
	};

	for (int i = 0; i < 4; i++)
		items[i].ending = ONCE_HANDLED_ENDING;
	items[4].ending = ONCE_DUPLICATE_ENDING;
	numbers_count_items(numbers, 0, items, 5);
	ck_assert_double_eq(
		SAMPLE("onced_message_age_seconds_count{route=\"refund\"}"), 2);
	ck_assert_double_ge(
		SAMPLE("onced_message_age_seconds_sum{route=\"refund\"}"), 100);
	ck_assert_double_lt(
		SAMPLE("onced_message_age_seconds_sum{route=\"refund\"}"), 160);
	ck_assert_double_eq(SAMPLE("onced_message_age_seconds_bucket{route="
				   "\"refund\",le=\"0.01\"}"),
			    1);
	ck_assert_double_eq(SAMPLE("onced_message_age_seconds_bucket{route="
				   "\"refund\",le=\"60\"}"),
			    1);
	numbers_destroy(numbers);
}
END_TEST

START_TEST(the_process_is_told_of_as_the_system_sees_it)
{
	struct numbers *numbers = create();
	double now = (double)clock_unix_ms() / 1e3;
	double open;
	int fd;

	numbers_process_set(numbers);
	ck_assert_double_gt(SAMPLE("process_resident_memory_bytes"), 1e6);
	ck_assert_double_gt(SAMPLE("process_virtual_memory_bytes"),
			    SAMPLE("process_resident_memory_bytes"));
	ck_assert_double_ge(SAMPLE("process_threads"), 1);
	ck_assert_double_ge(SAMPLE("process_cpu_seconds_total"), 0);
	ck_assert_double_lt(SAMPLE("process_cpu_seconds_total"), 3600);
	ck_assert_double_le(SAMPLE("process_start_time_seconds"), now + 2);
	ck_assert_double_gt(SAMPLE("process_start_time_seconds"), now - 3600);
	open = SAMPLE("process_open_fds");
	ck_assert_double_ge(open, 3);
	ck_assert_double_gt(SAMPLE("process_max_fds"), open);

	fd = dup(STDOUT_FILENO);
	numbers_process_set(numbers);
	ck_assert_double_eq(SAMPLE("process_open_fds"), open + 1);
	close(fd);
	numbers_process_set(numbers);
	ck_assert_double_eq(SAMPLE("process_open_fds"), open);
	numbers_destroy(numbers);
}
END_TEST

/* One message of the year 3000 speaks for its batch only; one that was parked
 * long ago, not at all. */
START_TEST(the_time_of_the_source_is_that_of_the_last_batch)
{
	struct numbers *numbers = create();
	struct once_item items[2] = { { .record = { .time_ms = 1000 } },
				      { .record = { .time_ms = 32503680000000 },
					.route = 0 } };

	ck_assert_int_eq(numbers_source_time(numbers), 0);
	numbers_count_items(numbers, 0, items, 2);
	ck_assert_int_eq(numbers_source_time(numbers), 32503680000000);
	numbers_count_items(numbers, 0, items, 1);
	ck_assert_int_eq(numbers_source_time(numbers), 1000);
	items[1].parked = 1;
	numbers_count_items(numbers, 0, &items[1], 1);
	ck_assert_int_eq(numbers_source_time(numbers), 1000);
	numbers_destroy(numbers);
}
END_TEST

START_TEST(a_partition_that_left_is_not_shown)
{
	struct numbers *numbers = create();

	numbers_partition_set(numbers, "refunds", 3, 12, 1.5, true);
	ck_assert_double_eq(SAMPLE("onced_partition_lag{topic=\"refunds\","
				   "partition=\"3\"}"),
			    12);
	ck_assert_double_eq(SAMPLE("onced_partition_halted{topic=\"refunds\","
				   "partition=\"3\"}"),
			    1);
	numbers_partition_remove(numbers, "refunds", 3);
	ck_assert_double_eq(SAMPLE("onced_partition_lag{topic=\"refunds\","
				   "partition=\"3\"}"),
			    -1);
	numbers_destroy(numbers);
}
END_TEST

static bool is_sample(const char *line)
{
	const char *space = strrchr(line, ' ');
	char *end;

	if (space == NULL || strncmp(line, "onced_", 6) != 0)
		return false;
	(void)strtod(space + 1, &end);
	return end != space + 1 && *end == '\0';
}

START_TEST(every_line_of_the_page_is_a_sample_or_says_what_follows)
{
	scoped_text struct text page = { 0 };
	struct numbers *numbers = create();
	char *rest;
	char *line;

	numbers_partition_set(numbers, "refunds", 0, 1, 0, false);
	numbers_render(numbers, true, &page);
	for (line = strtok_r(page.data, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		ck_assert_msg(is_sample(line) ||
				      strncmp(line, "# HELP onced_", 13) == 0 ||
				      strncmp(line, "# TYPE onced_", 13) == 0 ||
				      strcmp(line, "# EOF") == 0,
			      "%s", line);
	numbers_destroy(numbers);
}
END_TEST

START_TEST(a_label_can_not_break_the_page)
{
	struct numbers *numbers = create();

	ck_assert_double_eq(SAMPLE("onced_handled_total"
				   "{route=\"say \\\"hi\\\"\\n\"}"),
			    0);
	numbers_destroy(numbers);
}
END_TEST

struct lane {
	struct numbers *numbers;
	unsigned index;
};

static void start_lanes(struct numbers *numbers, struct lane lanes[LANES],
			pthread_t threads[LANES], void *(*run)(void *))
{
	for (unsigned i = 0; i < LANES; i++) {
		lanes[i] = (struct lane){ numbers, i };
		pthread_create(&threads[i], NULL, run, &lanes[i]);
	}
}

static void *count_much(void *arg)
{
	const struct lane *lane = arg;
	const struct once_item items[] = {
		{ .ending = ONCE_HANDLED_ENDING, .handler_ns = 2000000 },
		{ .ending = ONCE_DEAD_ENDING, .cause = ONCE_CAUSE_REJECTED },
	};

	for (int i = 0; i < COUNTS; i++) {
		numbers_count_items(lane->numbers, lane->index, items, 2);
		if (i % 1000 == 0)
			numbers_partition_set(lane->numbers, "refunds", i % 3,
					      i, 0, false);
	}
	return NULL;
}

START_TEST(nothing_counted_by_four_lanes_is_lost)
{
	struct numbers *numbers = create();
	struct lane lanes[LANES];
	pthread_t threads[LANES];

	start_lanes(numbers, lanes, threads, count_much);
	for (int i = 0; i < 20; i++)
		ck_assert_double_ge(
			SAMPLE("onced_handled_total{route=\"refund\"}"), 0);
	for (int i = 0; i < LANES; i++)
		pthread_join(threads[i], NULL);
	ck_assert_double_eq(SAMPLE("onced_handled_total{route=\"refund\"}"),
			    LANES * COUNTS);
	ck_assert_double_eq(SAMPLE("onced_handler_seconds_count"
				   "{route=\"refund\"}"),
			    LANES * COUNTS);
	ck_assert_double_eq_tol(SAMPLE("onced_handler_seconds_sum"
				       "{route=\"refund\"}"),
				LANES * COUNTS * 0.002, 1e-6);
	ck_assert_double_eq(SAMPLE("onced_dead_total{route=\"refund\","
				   "reason=\"rejected\"}"),
			    LANES * COUNTS);
	numbers_destroy(numbers);
}
END_TEST

/* A lane gives all of a batch, also what has not ended. */
START_TEST(what_is_still_to_come_is_not_counted)
{
	struct numbers *numbers = create();
	const struct once_item items[] = {
		{ .ending = ONCE_HANDLED_ENDING, .route = 1 },
		{ .ending = ONCE_HELD_ENDING, .unproven = 1u << 1 },
		{ .ending = ONCE_PENDING_ENDING, .unproven = 1u << 1 },
		{ .ending = ONCE_RETRY_ENDING,
		  .cause = ONCE_CAUSE_ASKED,
		  .unproven = 1u << 1 },
	};

	numbers_count_items(numbers, 3, items, 4);
	ck_assert_double_eq(SAMPLE("onced_handled_total{route=\"refund\"}"), 0);
	ck_assert_double_eq(SAMPLE("onced_handled_total"
				   "{route=\"say \\\"hi\\\"\\n\"}"),
			    1);
	ck_assert_double_eq(
		SAMPLE("onced_prefilter_unproven_total{route=\"refund\","
		       "stage=\"local\"}"),
		1);
	ck_assert_double_eq(SAMPLE("onced_retries_total{route=\"refund\","
				   "cause=\"asked\"}"),
			    1);
	numbers_destroy(numbers);
}
END_TEST

static void *repeat_much(void *arg)
{
	const struct lane *lane = arg;

	for (int i = 0; i < COUNTS; i++) {
		struct once_item item = {
			.ending = i % 2 == 0 ? ONCE_DUPLICATE_ENDING
					     : ONCE_CONFLICT_ENDING,
			.key_kind = ONCE_KEY_MSG_ID,
			.msg_id = { i % 4 == 3 ? "rare" : "often",
				    i % 4 == 3 ? 4 : 5 },
		};

		numbers_count_items(lane->numbers, lane->index, &item, 1);
	}
	return NULL;
}

START_TEST(repetitions_of_four_lanes_add_up_while_somebody_reads)
{
	static const char expected[] =
		"\"total\":80000,\"unlisted_most\":0,\"keys\":["
		"{\"key\":\"often\",\"key_kind\":\"msg_id\",\"count\":60000,"
		"\"error\":0},{\"key\":\"rare\",\"key_kind\":\"msg_id\","
		"\"count\":20000,\"error\":0}]";
	scoped_text struct text json = { 0 };
	struct numbers *numbers = create();
	struct lane lanes[LANES];
	pthread_t threads[LANES];

	start_lanes(numbers, lanes, threads, repeat_much);
	for (int i = 0; i < 20; i++)
		numbers_describe_repeated(numbers, &json);
	for (int i = 0; i < LANES; i++)
		pthread_join(threads[i], NULL);
	text_reset(&json);
	numbers_describe_repeated(numbers, &json);
	ck_assert_msg(strstr(json.data, expected) != NULL, "%s", json.data);
	numbers_destroy(numbers);
}
END_TEST

START_TEST(a_route_at_a_glance_adds_up)
{
	static const char *const topics[] = { "refunds", "more" };
	struct numbers *numbers = create();
	struct numbers_view view;

	numbers_consumed(numbers, 0, "refunds", 5);
	numbers_consumed(numbers, 0, "more", 2);
	numbers_returned(numbers, 0, "more", 1);
	count(numbers, ONCE_HANDLED_ENDING, ONCE_CAUSE_NONE, 0);
	count(numbers, ONCE_DUPLICATE_ENDING, ONCE_CAUSE_NONE,
	      ONCE_STAGE_BATCH);
	count(numbers, ONCE_DUPLICATE_ENDING, ONCE_CAUSE_NONE,
	      ONCE_STAGE_DATABASE);
	count(numbers, ONCE_CONFLICT_ENDING, ONCE_CAUSE_CONFLICT, 0);
	count(numbers, ONCE_DEAD_ENDING, ONCE_CAUSE_REJECTED, 0);
	count(numbers, ONCE_WAITING_ENDING, ONCE_CAUSE_ASKED, 0);
	numbers_get(numbers, 0, topics, 2, &view);
	ck_assert_double_eq(view.consumed, 7);
	ck_assert_double_eq(view.returned, 1);
	ck_assert_double_eq(view.handled, 1);
	ck_assert_double_eq(view.duplicates[ONCE_STAGE_BATCH], 1);
	ck_assert_double_eq(view.duplicates[ONCE_STAGE_LOCAL], 0);
	ck_assert_double_eq(view.duplicates[ONCE_STAGE_DATABASE], 1);
	ck_assert_double_eq(view.conflicts, 1);
	ck_assert_double_eq(view.dead, 1);
	ck_assert_double_eq(view.postponed, 1);
	ck_assert_double_eq(view.retries, 1);
	numbers_destroy(numbers);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("numbers");
	TCase *tests = tcase_create("numbers");

	tcase_add_test(tests, each_ending_has_a_counter_of_its_own);
	tcase_add_test(tests, histograms_are_cumulative_and_end_with_all);
	tcase_add_test(tests, each_stage_has_its_time_and_batches_add_up);
	tcase_add_test(tests,
		       the_log_of_a_route_has_its_size_its_age_and_its_backlog);
	tcase_add_test(tests,
		       a_handled_message_has_the_age_that_its_time_gives_it);
	tcase_add_test(tests, the_process_is_told_of_as_the_system_sees_it);
	tcase_add_test(tests, the_time_of_the_source_is_that_of_the_last_batch);
	tcase_add_test(tests, a_partition_that_left_is_not_shown);
	tcase_add_test(tests,
		       every_line_of_the_page_is_a_sample_or_says_what_follows);
	tcase_add_test(tests,
		       repetitions_of_four_lanes_add_up_while_somebody_reads);
	tcase_add_test(tests, a_route_at_a_glance_adds_up);
	tcase_add_test(tests, a_label_can_not_break_the_page);
	tcase_add_test(tests, nothing_counted_by_four_lanes_is_lost);
	tcase_add_test(tests, what_is_still_to_come_is_not_counted);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
