/*
 * test_chaos.c - everything goes wrong, several things at once, under load of
 * all kinds; then nothing does any more, and each message must have become what
 * it should. Faults and messages come from one seed.
 *
 * ONCE_TEST_SECONDS says how long, ONCE_TEST_SEED repeats the faults of a run.
 */
#include "faults.h"
#include "load.h"
#include "servers.h"
#include "stage.h"
#include "suite.h"

#include <clock.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	CHAOS_S = 30,
	CHURN_S = 15,
	PAUSE_MS = 20, /* between messages */
	DRAIN_MS = 120000,
	REST_S = 400 /* of the test beside its seconds: servers, drain */
};

static long read_number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text == NULL ? otherwise : strtol(text, NULL, 10);
}

struct play {
	struct stage stage;
	struct load load;
	struct faults faults;
};

static void go_on_for(struct play *play, long seconds)
{
	const struct timespec pause = { 0, PAUSE_MS * 1000000 };
	int64_t deadline_ms = clock_ms() + seconds * 1000;
	struct monitor *monitor = play->stage.fixture.monitor;

	while (clock_ms() < deadline_ms &&
	       monitor_find_fault(monitor) == NULL) {
		faults_go_on(&play->faults);
		if (play->stage.kafka_is_up)
			load_send(&play->load);
		nanosleep(&pause, NULL);
	}
}

static void drain(struct play *play)
{
	struct onced_fixture *fixture = &play->stage.fixture;

	faults_cease(&play->faults);
	pg_fixture_reconnect(&fixture->pg);
	onced_fixture_wait_for_all(fixture, DRAIN_MS);
	onced_fixture_wait_for(
		fixture,
		"SELECT count(*) FROM once.parked WHERE state = 'waiting'", 0,
		DRAIN_MS);
}

static void check_offsets(struct onced_fixture *fixture)
{
	for (int i = 0; i < fixture->partitions; i++) {
		int64_t end = kafka_fixture_get_end(&fixture->kafka, i);

		ck_assert_int_eq(onced_fixture_position(fixture, i), end);
		ck_assert_int_le(
			kafka_fixture_get_committed(&fixture->kafka, i), end);
	}
}

static void show(struct play *play, int64_t unknown)
{
	struct pg_fixture *pg = &play->stage.fixture.pg;

	printf("faults\n");
	for (int i = 0; i < FAULT_NAMES; i++)
		if (play->faults.counts[i] > 0)
			printf("  %-20s %10" PRId64 "\n", fault_names[i],
			       play->faults.counts[i]);
	printf("  %-20s %10" PRId64 "\nsent\n", "fenced themselves",
	       play->faults.fenced);
	for (int i = 0; i < LETTER_KINDS; i++)
		printf("  %-20s %10" PRId64 "\n", letter_names[i],
		       play->load.sent[i]);
	printf("%-22s %10" PRId64 "\n%-22s %10" PRId64 "\n%-22s %10" PRId64
	       "\n%-22s %10" PRId64 "\n",
	       "messages", play->stage.fixture.sent, "effects",
	       pg_fixture_get_int64(pg, "SELECT count(*) FROM effect"),
	       "parked",
	       pg_fixture_get_int64(pg, "SELECT count(*) FROM once.parked"),
	       "commits unknown", unknown);
}

static void stop_member(struct stage *stage, int number)
{
	int code = onced_stop(&stage->members[number].onced);

	ck_assert_msg(code == 0 || stage_has_fenced_itself(stage, number, code),
		      "the exit code of member %d is %d", number + 1, code);
}

static void end(struct play *play)
{
	struct stage *stage = &play->stage;
	int64_t unknown = stage_count_unknown(stage);

	for (int i = 0; i < STAGE_MEMBERS; i++)
		stop_member(stage, i);
	load_check(&play->load);
	check_offsets(&stage->fixture);
	show(play, unknown);
	load_fini(&play->load);
	stage_close(stage);
}

static void perform(const struct stage_options *options, uint64_t seed,
		    long seconds, bool only_members)
{
	static struct play play;

	printf("ONCE_TEST_SEED=%" PRIu64 " ONCE_TEST_SECONDS=%ld order=%s\n",
	       seed, seconds, options->is_ordered ? "partition" : "none");
	fflush(stdout);
	stage_open(&play.stage, options);
	load_init(&play.load, &play.stage.fixture, seed + 1);
	faults_init(&play.faults, &play.stage, seed, only_members);
	go_on_for(&play, seconds);
	drain(&play);
	end(&play);
}

static uint64_t find_seed(void)
{
	return (uint64_t)read_number("ONCE_TEST_SEED", (long)time(NULL));
}

START_TEST(whatever_goes_wrong_each_message_ends_as_it_should)
{
	uint64_t seed = find_seed();
	struct stage_options options = { .is_static = true,
					 .is_ordered = seed % 2 == 0 };

	perform(&options, seed, read_number("ONCE_TEST_SECONDS", CHAOS_S),
		false);
}
END_TEST

/* Without instance_ids, each end and each beginning moves partitions. */
START_TEST(members_that_come_leave_die_and_freeze_lose_and_repeat_nothing)
{
	uint64_t seed = find_seed();
	struct stage_options options = { .is_ordered = seed % 2 == 0 };

	perform(&options, seed, read_number("ONCE_TEST_SECONDS", CHURN_S),
		true);
}
END_TEST

static void add(Suite *suite, const char *name, const TTest *test, long seconds)
{
	TCase *tests = tcase_create(name);

	tcase_set_timeout(tests, (double)(REST_S + seconds));
	tcase_add_test(tests, test);
	suite_add_tcase(suite, tests);
}

int main(void)
{
	Suite *suite = suite_create("chaos");

	servers_need(NEED(PG) | NEED(KAFKA) | NEED(REDIS));
	add(suite, "chaos", whatever_goes_wrong_each_message_ends_as_it_should,
	    read_number("ONCE_TEST_SECONDS", CHAOS_S));
	add(suite, "churn",
	    members_that_come_leave_die_and_freeze_lose_and_repeat_nothing,
	    read_number("ONCE_TEST_SECONDS", CHURN_S));
	return suite_run(suite);
}
