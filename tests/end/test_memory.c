/*
 * test_memory.c - what waits to be handled takes no more memory than
 * kafka.max_memory says, however much Kafka has and whatever the handler does.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
	WAIT_MS = 40000,
	BESIDE = 30, /* messages of 10 kB for each one that waits */
	SETTLE_MS = 9000,
	ROUNDS = 300,
	MOST_MORE_KIB = 8 * 1024,
	STILL_MS = 2500, /* a full queue is looked at every second */
	BOMB_SIZE = 50 * 1024 * 1024, /* 2 KB, compressed */
	BOMBS = 12,                   /* in each partition */
	BOMBED = 4,                   /* partitions */
	BOMB_WAIT_MS = 60000,
	MIB = 1024 * 1024,
	MARGIN_KIB = 4 * 1024 /* sessions, statements, what malloc keeps */
};

static int64_t read_kib(struct onced *onced, const char *name)
{
	char path[64];
	char line[256];
	long long kib = -1;
	size_t length = strlen(name);
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status",
		 (int)onced->process.pid);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, length) == 0)
			kib = atoll(line + length);
	fclose(file);
	ck_assert_int_gt(kib, 0);
	return kib;
}

/* Until nothing more is fetched; the most that it had. */
static int64_t wait_until_full(struct onced *onced)
{
	struct timespec moment = { 0, 50000000 };
	int64_t since_ms = clock_ms();
	int64_t most = read_kib(onced, "VmHWM:");

	while (clock_ms() - since_ms < STILL_MS) {
		int64_t now = read_kib(onced, "VmHWM:");

		if (now > most)
			since_ms = clock_ms();
		most = now;
		nanosleep(&moment, NULL);
	}
	return most;
}

/* What it takes on top of what it had when it was empty, in KiB. */
static int64_t measure(int partitions, const char *memory, int mb)
{
	struct onced_options options = { .memory = memory,
					 .route = "    timeout: 60s\n" };
	struct onced_fixture fixture;
	struct onced onced;
	int64_t empty;
	int64_t full;

	onced_fixture_init(&fixture, partitions);
	onced_fixture_without_monitor(&fixture);
	onced_init(&onced, &fixture, &options);
	onced_fixture_put_file(&fixture, "hang");
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
	empty = read_kib(&onced, "VmRSS:");
	onced_fixture_send_heavy(&fixture, mb, "hang");
	onced_fixture_wait_for_file(&fixture, "hanging", WAIT_MS);
	full = wait_until_full(&onced);
	printf("%d partitions, %s: %lld KiB, then %lld KiB\n", partitions,
	       memory, (long long)empty, (long long)full);
	onced_kill(&onced);
	onced_fixture_fini(&fixture);
	return full - empty;
}

START_TEST(a_backlog_in_many_partitions_takes_what_the_budget_allows)
{
	int64_t taken = measure(32, "64MiB", 100);

	ck_assert_int_lt(taken, 64 * 1024 + MARGIN_KIB);
	ck_assert_int_gt(taken, 8 * 1024);
}
END_TEST

START_TEST(one_partition_has_the_budget_for_itself_and_no_more)
{
	int64_t taken = measure(1, "32MiB", 60);

	ck_assert_int_lt(taken, 32 * 1024 + MARGIN_KIB);
	ck_assert_int_gt(taken, 8 * 1024);
}
END_TEST

/* One small message for the partition that waits, with a fetch full of the one
 * that flows. */
static void send_round(struct onced_fixture *fixture, int number)
{
	static const struct timespec moment = { 0, 10000000 };
	static char value[10001];
	struct letter letters[BESIDE + 1];
	char ids[BESIDE + 1][24];

	memset(value, 'v', sizeof(value) - 1);
	for (int i = 0; i <= BESIDE; i++) {
		snprintf(ids[i], sizeof(ids[i]), "%d-%d", number, i);
		letters[i] = (struct letter){ i == 0 ? 0 : 1, ids[i], ids[i],
					      i == 0 ? "pause" : NULL,
					      i == 0 ? "v" : value };
	}
	onced_fixture_send(fixture, letters, BESIDE + 1);
	nanosleep(&moment, NULL); /* the next one comes with another fetch */
}

START_TEST(a_partition_that_waits_does_not_hold_what_others_had)
{
	struct onced_options options = { .memory = "16MiB" };
	struct onced_fixture fixture;
	int64_t end_ms;
	int64_t before;
	struct onced onced;
	int number = 0;

	onced_fixture_init(&fixture, 2);
	onced_init(&onced, &fixture, &options);
	onced_fixture_put_file(&fixture, "pause");
	onced_start(&onced, NULL);
	end_ms = clock_ms() + SETTLE_MS;
	while (clock_ms() < end_ms)
		send_round(&fixture, number++);
	before = read_kib(&onced, "VmRSS:");
	for (int i = 0; i < ROUNDS; i++)
		send_round(&fixture, number++);
	printf("while it waits: %lld KiB, then %lld KiB\n", (long long)before,
	       (long long)read_kib(&onced, "VmRSS:"));
	ck_assert_int_lt(read_kib(&onced, "VmRSS:") - before, MOST_MORE_KIB);
	onced_fixture_remove_file(&fixture, "pause");
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, fixture.sent);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

START_TEST(too_little_memory_for_the_partitions_is_told)
{
	struct onced_options options = { .memory = "5MiB" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, 3);
	onced_init(&onced, &fixture, &options);
	ck_assert_int_eq(onced_command(&onced, "check", NULL), 1);
	onced_check_output(&onced, "too little for 3 partitions");
	onced_check_output(&onced, "write at least 6MiB");
	onced_start(&onced, NULL);
	onced_wait_for_log(&onced, "write at least 6MiB", WAIT_MS);
	onced_fixture_send_series(&fixture, 0, 30);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
}
END_TEST

/* ---- messages that unpack to far more than they are ---- */

/* They repeat each other: the database has to hold one. */
static void send_bombs(struct onced_fixture *fixture)
{
	char *value = malloc(BOMB_SIZE + 1);

	ck_assert_ptr_nonnull(value);
	memset(value, ' ', BOMB_SIZE);
	value[BOMB_SIZE] = '\0';
	kafka_fixture_compress(&fixture->kafka);
	for (int i = 0; i < BOMBS * BOMBED; i++) {
		struct letter letter = { i % BOMBED, "bomb", "bomb", NULL,
					 value };

		onced_fixture_send(fixture, &letter, 1);
	}
	free(value);
}

/* What is started has the limits of who starts it. */
static void start_with(struct onced *onced, int64_t bytes)
{
	struct rlimit ours;
	struct rlimit its;

	ck_assert_int_eq(getrlimit(RLIMIT_DATA, &ours), 0);
	its = ours;
	its.rlim_cur = (rlim_t)bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &its), 0);
	onced_start(onced, NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &ours), 0);
}

/* How often it had to be started, with so much memory, to get through. */
static int live_until_all_is_handled(struct onced *onced, int64_t bytes)
{
	struct onced_fixture *fixture = onced->fixture;
	int64_t end_ms = clock_ms() + BOMB_WAIT_MS;
	bool done = false;

	for (int lives = 1;; lives++) {
		start_with(onced, bytes);
		while (!done && !process_wait(&onced->process, 50)) {
			ck_assert_int_lt(clock_ms(), end_ms);
			done = pg_fixture_get_int64(
				       &fixture->pg,
				       "SELECT coalesce(sum(next_offset), 0) "
				       "FROM once.position") == fixture->sent;
		}
		if (done)
			return lives;
		ck_assert_int_lt(lives, 4);
	}
}

static int count_lives(const char *memory, int64_t bytes)
{
	struct onced_options options = { .memory = memory, .instance_id = "a" };
	struct onced_fixture fixture;
	struct onced onced;
	int lives;

	onced_fixture_init(&fixture, BOMBED);
	onced_init(&onced, &fixture, &options);
	onced_fixture_send_series(&fixture, 0, 100);
	send_bombs(&fixture);
	onced_fixture_send_series(&fixture, 100, 100);
	lives = live_until_all_is_handled(&onced, bytes);
	printf("%d lives, at most %lld KiB\n", lives,
	       (long long)read_kib(&onced, "VmHWM:"));
	onced_fixture_check_effects(&fixture, 201);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
	return lives;
}

START_TEST(messages_that_unpack_too_far_end_a_process_once_at_most)
{
	ck_assert_int_le(count_lives("64MiB", (int64_t)1536 * MIB), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tests = tcase_create("all");
	TCase *bombs = tcase_create("bombs");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(
		tests,
		a_backlog_in_many_partitions_takes_what_the_budget_allows);
	tcase_add_test(tests,
		       one_partition_has_the_budget_for_itself_and_no_more);
	tcase_add_test(tests,
		       a_partition_that_waits_does_not_hold_what_others_had);
	tcase_add_test(tests, too_little_memory_for_the_partitions_is_told);
	tcase_set_timeout(bombs, 120);
	tcase_add_test(bombs,
		       messages_that_unpack_too_far_end_a_process_once_at_most);
	suite_add_tcase(suite, bombs);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
