/*
 * test_refused_commits.c - the broker refuses what we tell it of our offsets.
 * The errors are injected: no broker can be asked for them.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <signal.h>
#include <time.h>

enum {
	WAIT_MS = 60000,
	PARTITIONS = 2,
	LOAD = 20,
	/* numbers of requests in Kafka's protocol */
	OFFSET_COMMIT = 8,
	JOIN_GROUP = 11
};

static void refuse(struct onced_fixture *fixture, rd_kafka_resp_err_t error)
{
	rd_kafka_mock_push_request_errors(fixture->kafka.mock, OFFSET_COMMIT, 1,
					  error);
}

static bool is_told(void *arg)
{
	struct onced_fixture *fixture = arg;

	for (int i = 0; i < fixture->partitions; i++)
		if (kafka_fixture_get_committed(&fixture->kafka, i) !=
		    onced_fixture_position(fixture, i))
			return false;
	return true;
}

static const rd_kafka_resp_err_t refusals[] = {
	RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
	RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
	RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
};

/* C15: it costs a redelivery at most, and Kafka is told again. */
START_TEST(a_refused_commit_loses_nothing_and_repeats_nothing)
{
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init_mock(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, NULL);
	onced_start(&onced, NULL);
	onced_fixture_send_series(&fixture, 0, LOAD);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		refuse(&fixture, refusals[i]);
		onced_fixture_send_series(&fixture, fixture.sent, LOAD);
		onced_fixture_wait_for_all(&fixture, WAIT_MS);
		ck_assert(wait_until(is_told, &fixture, WAIT_MS));
	}
	ck_assert(onced_has_logged(&onced, "Kafka refused an offset commit"));
	onced_fixture_check_effects(&fixture, fixture.sent);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* C15: another process has its name. */
START_TEST(a_fenced_commit_ends_the_process_with_its_own_code)
{
	struct onced_options options = { .instance_id = "a" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init_mock(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_fixture_send_series(&fixture, 0, LOAD);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	refuse(&fixture, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID);
	onced_fixture_send_series(&fixture, LOAD, LOAD);
	ck_assert_int_eq(onced_wait(&onced, WAIT_MS), 76);
	onced_fixture_fini(&fixture);
}
END_TEST

/* It was away for longer than its session: the name that is refused is its own,
 * and a new start is let in. */
START_TEST(who_comes_back_too_late_and_is_refused_may_be_started_again)
{
	const struct timespec away = { 8, 0 };
	struct onced_options options = { .instance_id = "a" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init_mock(&fixture, PARTITIONS);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_fixture_send_series(&fixture, 0, LOAD);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	process_signal(&onced.process, SIGSTOP);
	nanosleep(&away, NULL);
	rd_kafka_mock_push_request_errors(fixture.kafka.mock, JOIN_GROUP, 1,
					  RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID);
	process_signal(&onced.process, SIGCONT);
	ck_assert_int_eq(onced_wait(&onced, WAIT_MS), 69);
	onced_start(&onced, NULL);
	onced_fixture_send_series(&fixture, LOAD, LOAD);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, fixture.sent);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refused commits");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests,
		       a_refused_commit_loses_nothing_and_repeats_nothing);
	tcase_add_test(tests,
		       a_fenced_commit_ends_the_process_with_its_own_code);
	tcase_add_test(
		tests,
		who_comes_back_too_late_and_is_refused_may_be_started_again);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
