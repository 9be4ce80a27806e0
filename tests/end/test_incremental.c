/*
 * test_incremental.c - a group whose rebalances move only what has to move:
 * with cooperative-sticky, and with the protocol of KIP-848.
 */
#include "cutter.h"
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 40000,
	PARTITIONS = 4,
	HALF = PARTITIONS / 2,
	LOAD = 5, /* messages at a time */
	VERSION = 0x020c0000
};

static const struct protocol {
	const char *session;
	const char *property;
} protocols[] = {
	{ NULL, "partition.assignment.strategy=cooperative-sticky" },
	{ "    - group.protocol=consumer\n", NULL },
};

enum {
	PROTOCOLS = sizeof(protocols) / sizeof(protocols[0])
};

static void start(struct onced *onced, struct onced_fixture *fixture,
		  const char *name, const struct protocol *protocol)
{
	struct onced_options options = { .name = name,
					 .session = protocol->session,
					 .property = protocol->property,
					 .log_level = "debug" };

	onced_init(onced, fixture, &options);
	onced_start(onced, NULL);
}

/* All that its log's lines with this text say of "partitions=". */
static int64_t sum_partitions(const struct onced *onced, const char *text)
{
	static const char name[] = "partitions=";
	char *log = read_file(onced->log);
	char *at = log;
	int64_t sum = 0;

	while (at != NULL && (at = strstr(at, text)) != NULL) {
		at = strstr(at, name);
		if (at != NULL)
			sum += strtoll(at + strlen(name), NULL, 10);
	}
	free(log);
	return sum;
}

static int64_t count_taken(const struct onced *onced)
{
	return sum_partitions(onced, "msg=\"assigned\"");
}

static int64_t count_given(const struct onced *onced)
{
	return sum_partitions(onced, "msg=\"revoked\"");
}

static int64_t count_read(const struct onced *onced)
{
	return sum_partitions(onced, "msg=\"reading\"");
}

/* Messages keep coming until so many of its partitions are read. */
static void send_until_read(struct onced *onced, int64_t count)
{
	struct onced_fixture *fixture = onced->fixture;
	int64_t deadline_ms = clock_ms() + WAIT_MS;

	while (count_read(onced) < count && clock_ms() < deadline_ms)
		onced_fixture_send_series(fixture, fixture->sent, LOAD);
	if (count_read(onced) < count)
		onced_fixture_show_logs(fixture);
	ck_assert_int_eq(count_read(onced), count);
}

/* One that stays sees half of its partitions go and come back, twice. */
START_TEST(members_that_come_and_go_leave_the_others_what_they_have)
{
	const struct protocol *protocol = &protocols[_i];
	struct onced_fixture fixture;
	struct onced first;
	struct onced second;
	struct onced third;

	onced_fixture_init(&fixture, PARTITIONS);
	start(&first, &fixture, "first", protocol);
	send_until_read(&first, PARTITIONS);
	start(&second, &fixture, "second", protocol);
	send_until_read(&second, HALF);
	ck_assert_int_eq(count_given(&first), HALF);
	onced_fixture_send_series(&fixture, fixture.sent, 200);
	ck_assert_int_eq(onced_stop(&second), 0);
	send_until_read(&first, PARTITIONS + HALF);

	start(&third, &fixture, "third", protocol);
	send_until_read(&third, HALF);
	onced_fixture_send_series(&fixture, fixture.sent, 200);
	onced_kill(&third);
	onced_fixture_send_series(&fixture, fixture.sent, 200);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, fixture.sent);

	ck_assert_int_eq(count_given(&first), PARTITIONS);
	ck_assert_int_eq(count_taken(&first), 2 * PARTITIONS);
	ck_assert_int_eq(count_read(&first), 2 * PARTITIONS);
	ck_assert_int_eq(onced_stop(&first), 0);
	for (int i = 0; i < PARTITIONS; i++)
		ck_assert_int_eq(kafka_fixture_get_committed(&fixture.kafka, i),
				 onced_fixture_position(&fixture, i));
	onced_fixture_fini(&fixture);
}
END_TEST

/* There is only one partition: who comes second gets nothing. With KIP-848 it
 * isn't even told so, and doesn't become ready: only the first protocol. */
START_TEST(a_handler_runs_on_while_another_member_joins_and_leaves)
{
	const struct letter slow = { 0, "m0", "b0", "hang", "v0" };
	const struct protocol *protocol = &protocols[_i];
	struct onced_fixture fixture;
	struct onced first;
	struct onced second;

	onced_fixture_init(&fixture, 1);
	onced_fixture_put_file(&fixture, "hang");
	start(&first, &fixture, "first", protocol);
	onced_fixture_send(&fixture, &slow, 1);
	onced_fixture_wait_for_file(&fixture, "hanging", WAIT_MS);
	start(&second, &fixture, "second", protocol);
	onced_wait_until_ready(&second, WAIT_MS);
	ck_assert_int_eq(onced_stop(&second), 0);
	onced_fixture_remove_file(&fixture, "hang");
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 1);
	ck_assert(!onced_has_logged(&first, "revoked"));
	ck_assert_int_eq(count_read(&first), 1);
	ck_assert_int_eq(onced_get_metric(&first, "onced_returned_total", NULL),
			 0);
	ck_assert_int_eq(onced_stop(&first), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* Partition 2 keeps the lane busy until what comes for the other two can only
 * be one batch. Its two rejected messages make it two transactions, one for
 * each partition. */
static void commit_one_of_two(struct onced *onced, struct cutter *cutter)
{
	static const struct letter busy = { 2, "m0", "b0", "hang", "v0" };
	static const struct letter letters[] = {
		{ 0, "m1", "b1", "reject", "unlucky" },
		{ 0, "m2", "b2", "reject", "unlucky" },
		{ 0, "m3", "b3", NULL, "unlucky" },
		{ 0, "m4", "b4", NULL, "unlucky" },
		{ 1, "m5", "b5", NULL, "unlucky" },
		{ 1, "m6", "b6", NULL, "unlucky" },
		{ 1, "m7", "b7", NULL, "unlucky" },
		{ 1, "m8", "b8", NULL, "unlucky" },
	};
	struct onced_fixture *fixture = onced->fixture;
	int64_t end_ms = clock_ms() + WAIT_MS;

	onced_fixture_put_file(fixture, "hang");
	onced_fixture_send(fixture, &busy, 1);
	onced_fixture_wait_for_file(fixture, "hanging", WAIT_MS);
	onced_fixture_send(fixture, letters, 8);
	while (onced_get_metric(onced, "onced_consumed_total", NULL) < 9 &&
	       clock_ms() < end_ms)
		sched_yield();
	*cutter->skip = 1;
	*cutter->cut = CUT_BEFORE_COMMIT;
	onced_fixture_remove_file(fixture, "hang");
	onced_wait_for_log(onced, "next_ms=", WAIT_MS);
	ck_assert_int_eq(*cutter->cut, CUT_EVERYTHING);
}

/* The database isn't there to ask when a partition goes to another member.
 * Whichever that is: the others go on. */
START_TEST(what_stays_goes_on_though_a_commit_was_not_answered)
{
	struct onced_options options = {
		.name = "first",
		.lanes = "1",
		.property = protocols[0].property,
	};
	struct cutter cutter = { .only = "unlucky", .then = CUT_EVERYTHING };
	struct onced_fixture fixture;
	struct onced first;
	struct onced second;

	onced_fixture_init(&fixture, 3);
	cutter_start(&cutter, &fixture.pg);
	options.conninfo = cutter.conninfo;
	onced_init(&first, &fixture, &options);
	onced_start(&first, NULL);
	onced_wait_until_ready(&first, WAIT_MS);
	commit_one_of_two(&first, &cutter);
	start(&second, &fixture, "second", &protocols[0]);
	onced_wait_until_ready(&second, WAIT_MS);
	ck_assert_int_eq(count_given(&first), 1);
	*cutter.cut = CUT_NOTHING;
	onced_fixture_send_series(&fixture, fixture.sent, 30);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, fixture.sent - 2);
	ck_assert(!onced_has_logged(&first, "lies before the position"));
	ck_assert_int_eq(onced_stop(&first), 0);
	ck_assert_int_eq(onced_stop(&second), 0);
	cutter_stop(&cutter);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("incremental");
	TCase *tests = tcase_create("all");

	if (rd_kafka_version() < VERSION) {
		fprintf(stderr,
			"skipped: librdkafka is %s, and this needs 2.12; "
			"make test RDKAFKA=newest\n",
			rd_kafka_version_str());
		return servers_skip_code();
	}
	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_loop_test(
		tests, members_that_come_and_go_leave_the_others_what_they_have,
		0, PROTOCOLS);
	tcase_add_loop_test(
		tests, a_handler_runs_on_while_another_member_joins_and_leaves,
		0, 1);
	tcase_add_test(tests,
		       what_stays_goes_on_though_a_commit_was_not_answered);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
