/*
 * test_durability.c - durability: kafka. A commit waits for no disk, so a crash
 * of the database takes the last ones back: claims, effects and positions
 * together. Kafka is read again from there.
 */
#include "outage.h"
#include "servers.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>

enum {
	PARTITIONS = 3,
	CRASHES = 20,
	LOAD_MS = 150, /* before each of them */
	SECONDS = 150
};

static const char *const forgetful[] = { "wal_buffers = 64MB",
					 "autovacuum = off", NULL };

struct scene {
	struct pg_server server;
	struct onced_fixture fixture;
	struct onced onced;
	pid_t wal_writer;
};

/* The process that writes what no commit waits for stands still, as if the
 * crash always came before its turn. */
static void stop_wal_writer(struct scene *scene)
{
	scene->wal_writer = (pid_t)pg_fixture_get_int64(
		&scene->fixture.pg, "SELECT pid FROM pg_stat_activity "
				    "WHERE backend_type = 'walwriter'");
	ck_assert_int_eq(kill(scene->wal_writer, SIGSTOP), 0);
}

static void set_scene(struct scene *scene)
{
	struct onced_options options = { .database = "  durability: kafka\n" };

	outage_create_server(&scene->server, forgetful);
	onced_fixture_init_at(&scene->fixture, PARTITIONS,
			      scene->server.conninfo);
	onced_init(&scene->onced, &scene->fixture, &options);
	stop_wal_writer(scene);
	onced_start(&scene->onced, NULL);
	onced_wait_until_ready(&scene->onced, OUTAGE_WAIT_MS);
}

static void clear_scene(struct scene *scene)
{
	kill(scene->wal_writer, SIGCONT);
	onced_fixture_fini(&scene->fixture);
	pg_server_destroy(&scene->server);
}

static void crash_and_start(struct scene *scene)
{
	process_signal(&scene->server.process, SIGQUIT);
	kill(scene->wal_writer, SIGKILL);
	pg_server_crash(&scene->server);
	outage_start_server(&scene->server);
	pg_fixture_reconnect(&scene->fixture.pg);
	stop_wal_writer(scene);
}

/* Messages that ended, by the positions, the claims and the effects, which must
 * say the same. */
static int64_t count_ended(struct scene *scene)
{
	static const char agree[] =
		"SELECT (claims = effects AND claims = passed)::integer FROM "
		"(SELECT (SELECT count(*) FROM once.consume_log) AS claims, "
		"(SELECT count(*) FROM effect) AS effects, "
		"(SELECT sum(next_offset) FROM once.position) AS passed) AS x";
	struct pg_fixture *pg = &scene->fixture.pg;

	ck_assert_int_eq(pg_fixture_get_int64(pg, agree), 1);
	return pg_fixture_get_int64(pg, "SELECT count(*) FROM effect");
}

/* What the crash took back, seen while onced can't do it again yet. */
static int64_t crash_unseen(struct scene *scene)
{
	struct onced *onced = &scene->onced;
	int64_t before;
	int64_t after;

	process_signal(&onced->process, SIGSTOP);
	before = count_ended(scene);
	crash_and_start(scene);
	after = count_ended(scene);
	process_signal(&onced->process, SIGCONT);
	ck_assert_int_le(after, before);
	return before - after;
}

START_TEST(what_crashes_of_the_database_take_back_is_done_again_and_once)
{
	struct scene scene;
	int64_t lost = 0;

	set_scene(&scene);
	for (int i = 0; i < CRASHES; i++) {
		outage_send_for(&scene.fixture, LOAD_MS);
		if (i % 2 == 0)
			lost += crash_unseen(&scene);
		else
			crash_and_start(&scene);
	}
	printf("%lld messages were taken back\n", (long long)lost);
	ck_assert_msg(lost > 0, "no crash took anything back");
	outage_check_that_nothing_happened(&scene.onced);
	ck_assert_int_eq(count_ended(&scene), scene.fixture.sent);
	clear_scene(&scene);
}
END_TEST

static bool kafka_was_told(void *arg)
{
	struct onced_fixture *fixture = arg;

	for (int i = 0; i < PARTITIONS; i++)
		if (kafka_fixture_get_committed(&fixture->kafka, i) !=
		    kafka_fixture_get_end(&fixture->kafka, i))
			return false;
	return true;
}

/* Kafka's offsets are ahead then: a partition without a row would start there.
 * The process that remembers where it began is killed, too. */
START_TEST(a_crash_after_the_first_start_leaves_the_positions_rows)
{
	struct scene scene;

	set_scene(&scene);
	onced_fixture_send_series(&scene.fixture, 0, 300);
	onced_fixture_wait_for_all(&scene.fixture, OUTAGE_WAIT_MS);
	ck_assert(wait_until(kafka_was_told, &scene.fixture, OUTAGE_WAIT_MS));
	onced_kill(&scene.onced);
	crash_and_start(&scene);
	ck_assert_int_eq(pg_fixture_get_int64(&scene.fixture.pg,
					      "SELECT count(*) FROM "
					      "once.position"),
			 PARTITIONS);
	ck_assert_int_lt(count_ended(&scene), 300);
	onced_start(&scene.onced, NULL);
	outage_check_that_nothing_happened(&scene.onced);
	clear_scene(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("durability");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_set_timeout(tests, SECONDS);
	tcase_add_test(
		tests,
		what_crashes_of_the_database_take_back_is_done_again_and_once);
	tcase_add_test(tests,
		       a_crash_after_the_first_start_leaves_the_positions_rows);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
