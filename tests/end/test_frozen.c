/*
 * test_frozen.c - a process that freezes with a transaction open, while another
 * one of its group goes on: the one that waits for its locks says so, and for
 * no longer than the limit.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	WAIT_MS = 40000,
	PARTITIONS = 2,
	MESSAGES = 200
};

static bool is_stopped(const struct onced *onced)
{
	char path[64];
	char state = ' ';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)onced->process.pid);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%*d %*s %c", &state), 1);
	fclose(file);
	return state == 'T';
}

static void wait_until_stopped(const struct onced *onced)
{
	const struct timespec pause = { 0, 20000000 };
	int64_t end_ms = clock_ms() + WAIT_MS;

	while (!is_stopped(onced)) {
		ck_assert_int_lt(clock_ms(), end_ms);
		nanosleep(&pause, NULL);
	}
}

/* The broker gives its partitions away after 6 s, before the server ends its
 * session: the other one is in between. */
START_TEST(a_frozen_process_is_named_by_its_successor_which_then_goes_on)
{
	struct onced_options options = {
		.name = "frozen",
		.database = "  idle_timeout: 12s\n  lock_timeout: 500ms\n",
	};
	struct onced_fixture fixture;
	struct onced frozen;
	struct onced successor;

	onced_fixture_init(&fixture, PARTITIONS);
	onced_init(&frozen, &fixture, &options);
	options.name = "successor";
	onced_init(&successor, &fixture, &options);
	onced_start(&frozen, "before_commit:1:stop");
	onced_wait_until_ready(&frozen, WAIT_MS);
	onced_fixture_send_series(&fixture, 0, MESSAGES);
	wait_until_stopped(&frozen);

	onced_start(&successor, NULL);
	onced_wait_until_not_ready(&successor,
				   "application \"onced\", instance ", WAIT_MS);
	ck_assert(onced_has_logged(&successor, "idle in transaction for"));
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_wait_until_ready(&successor, WAIT_MS);

	kill(frozen.process.pid, SIGCONT);
	onced_wait_until_ready(&frozen, WAIT_MS);
	onced_fixture_send_series(&fixture, MESSAGES, MESSAGES);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 2 * MESSAGES);
	ck_assert_int_eq(onced_stop(&frozen), 0);
	ck_assert_int_eq(onced_stop(&successor), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frozen");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_set_timeout(tests, 120);
	tcase_add_test(
		tests,
		a_frozen_process_is_named_by_its_successor_which_then_goes_on);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
