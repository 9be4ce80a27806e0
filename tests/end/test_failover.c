/*
 * test_failover.c - the database fails over to a real streaming replica that
 * lacks the last transactions. What they did is handled again, and once.
 */
#include "outage.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>

enum {
	PARTITIONS = 3,
	BEFORE = 300, /* messages that the standby knows of */
	LACKING = 300 /* and that it doesn't */
};

/* onced is told of both, and finds the one that takes writes by itself. */
struct pair {
	struct pg_server primary;
	struct pg_server standby;
	char conninfo[256];
	struct onced_fixture fixture;
	struct onced onced;
};

static void create_pair(struct pair *pair)
{
	outage_create_server(&pair->primary, NULL);
	outage_create_standby(&pair->standby, &pair->primary);
	snprintf(pair->conninfo, sizeof(pair->conninfo),
		 "host=127.0.0.1,127.0.0.1 port=%d,%d user=postgres "
		 "dbname=postgres target_session_attrs=read-write",
		 pair->primary.port, pair->standby.port);
	onced_fixture_init_at(&pair->fixture, PARTITIONS, pair->conninfo);
	/* Positions go back here, and Kafka hears of it later. */
	onced_fixture_without_monitor(&pair->fixture);
	onced_init(&pair->onced, &pair->fixture, NULL);
}

static void destroy_pair(struct pair *pair)
{
	onced_fixture_fini(&pair->fixture);
	pg_server_destroy(&pair->standby);
	pg_server_destroy(&pair->primary);
}

/* The test's database at one of the two. */
static PGconn *open_at(const struct pair *pair, const struct pg_server *server)
{
	char conninfo[256];
	PGconn *conn;

	snprintf(conninfo, sizeof(conninfo), "%s dbname=%s", server->conninfo,
		 pair->fixture.pg.database);
	conn = PQconnectdb(conninfo);
	ck_assert_msg(PQstatus(conn) == CONNECTION_OK, "%s",
		      PQerrorMessage(conn));
	return conn;
}

static int64_t ask(PGconn *conn, const char *sql)
{
	struct pg_fixture pg = { .conn = conn };

	return pg_fixture_get_int64(&pg, sql);
}

struct question {
	PGconn *conn;
	const char *sql;
	int64_t wanted;
};

static bool is_answered(void *arg)
{
	const struct question *question = arg;

	return ask(question->conn, question->sql) == question->wanted;
}

static void wait_for(PGconn *conn, const char *sql, int64_t wanted)
{
	struct question question = { conn, sql, wanted };

	ck_assert_msg(wait_until(is_answered, &question, OUTAGE_WAIT_MS),
		      "%s: is %lld", sql, (long long)ask(conn, sql));
}

static const char count_effects[] = "SELECT count(*) FROM effect";

/* Until the standby has what the primary has. */
static void let_it_catch_up(struct pair *pair)
{
	static const char position[] =
		"SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn";
	char sql[128];
	PGconn *conn = PQconnectdb(pair->standby.conninfo);

	snprintf(sql, sizeof(sql),
		 "SELECT (pg_last_wal_replay_lsn() - '0/0'::pg_lsn >= "
		 "%lld)::integer",
		 (long long)pg_fixture_get_int64(&pair->fixture.pg, position));
	wait_for(conn, sql, 1);
	PQfinish(conn);
}

/* A replay that is only paused would be ended by the promotion. */
static void cut_replication(struct pair *pair)
{
	struct pg_fixture pg = { .conn = PQconnectdb(pair->standby.conninfo) };

	pg_fixture_run(&pg, "ALTER SYSTEM SET primary_conninfo = ''");
	pg_fixture_run(&pg, "SELECT pg_reload_conf()");
	wait_for(pg.conn, "SELECT count(*) FROM pg_stat_wal_receiver", 0);
	PQfinish(pg.conn);
}

static void promote(struct pair *pair)
{
	PGconn *conn = PQconnectdb(pair->standby.conninfo);

	ck_assert_int_eq(ask(conn, "SELECT pg_promote()::integer"), 1);
	PQfinish(conn);
	pg_fixture_reconnect(&pair->fixture.pg);
}

static void send_and_wait(struct pair *pair, int64_t count)
{
	struct onced_fixture *fixture = &pair->fixture;

	onced_fixture_send_series(fixture, fixture->sent, count);
	onced_fixture_wait_for_all(fixture, OUTAGE_WAIT_MS);
}

static bool kafka_was_told(void *arg)
{
	struct onced_fixture *fixture = arg;

	for (int i = 0; i < PARTITIONS; i++) {
		int64_t end = kafka_fixture_get_end(&fixture->kafka, i);

		if (end > 0 &&
		    kafka_fixture_get_committed(&fixture->kafka, i) != end)
			return false;
	}
	return true;
}

static void wait_until_kafka_was_told(struct pair *pair)
{
	ck_assert(wait_until(kafka_was_told, &pair->fixture, OUTAGE_WAIT_MS));
}

static void fail_over(struct pair *pair)
{
	pg_server_kill(&pair->primary);
	onced_wait_until_not_ready(&pair->onced,
				   "can't work: ", OUTAGE_WAIT_MS);
	promote(pair);
}

/* 0: nothing is sent in the meantime, and no message tells of what is lacking;
 * 1: under load, which goes on. */
START_TEST(what_the_new_primary_lacks_is_handled_again)
{
	struct pair pair;
	PGconn *standby;

	create_pair(&pair);
	onced_start(&pair.onced, NULL);
	send_and_wait(&pair, BEFORE);
	let_it_catch_up(&pair);
	cut_replication(&pair);
	send_and_wait(&pair, LACKING);
	wait_until_kafka_was_told(&pair);
	standby = open_at(&pair, &pair.standby);
	ck_assert_int_eq(ask(standby, count_effects), BEFORE);
	PQfinish(standby);
	if (_i == 1)
		outage_send_for(&pair.fixture, 300);
	fail_over(&pair);
	if (_i == 1)
		outage_send_for(&pair.fixture, 300);
	outage_check_that_nothing_happened(&pair.onced);
	destroy_pair(&pair);
}
END_TEST

/* The partitions' rows are lacking too, and Kafka's offsets are ahead. */
START_TEST(partitions_that_the_new_primary_never_knew_are_read_from_their_start)
{
	struct pair pair;

	create_pair(&pair);
	let_it_catch_up(&pair);
	cut_replication(&pair);
	onced_start(&pair.onced, NULL);
	send_and_wait(&pair, LACKING);
	wait_until_kafka_was_told(&pair);
	fail_over(&pair);
	ck_assert_int_eq(pg_fixture_get_int64(&pair.fixture.pg, count_effects),
			 0);
	outage_check_that_nothing_happened(&pair.onced);
	destroy_pair(&pair);
}
END_TEST

struct told {
	struct kafka_fixture *kafka;
	int64_t offset;
};

static bool is_told(void *arg)
{
	const struct told *told = arg;

	return kafka_fixture_get_committed(told->kafka, 0) == told->offset;
}

/* Its offset is a report; one that is ahead would be a false one. */
START_TEST(kafka_is_told_that_the_position_is_an_older_one)
{
	static const struct letter letters[] = {
		{ 0, "m0", "b0", NULL, "v0" },
		{ 0, "m1", "b1", "hang", "v1" },
	};
	struct pair pair;
	struct told told = { &pair.fixture.kafka, 1 };

	create_pair(&pair);
	onced_start(&pair.onced, NULL);
	onced_fixture_send(&pair.fixture, &letters[0], 1);
	onced_fixture_wait_for_all(&pair.fixture, OUTAGE_WAIT_MS);
	let_it_catch_up(&pair);
	cut_replication(&pair);
	onced_fixture_send(&pair.fixture, &letters[1], 1);
	wait_until_kafka_was_told(&pair);
	onced_fixture_put_file(&pair.fixture, "hang");
	fail_over(&pair);
	ck_assert_msg(wait_until(is_told, &told, OUTAGE_WAIT_MS),
		      "the committed offset is still ahead");
	onced_fixture_remove_file(&pair.fixture, "hang");
	outage_check_that_nothing_happened(&pair.onced);
	destroy_pair(&pair);
}
END_TEST

/* Where there is one address only, as behind a proxy that points to the wrong
 * server. */
START_TEST(a_standby_is_waited_out_until_it_is_promoted)
{
	struct onced_options options = { 0 };
	struct pair pair;
	char conninfo[256];

	create_pair(&pair);
	let_it_catch_up(&pair);
	snprintf(conninfo, sizeof(conninfo), "%s dbname=%s",
		 pair.standby.conninfo, pair.fixture.pg.database);
	options.conninfo = conninfo;
	onced_init(&pair.onced, &pair.fixture, &options);
	onced_fixture_send_series(&pair.fixture, 0, BEFORE);
	onced_start(&pair.onced, NULL);
	onced_wait_until_not_ready(&pair.onced, "read-only", OUTAGE_WAIT_MS);
	pg_server_kill(&pair.primary);
	promote(&pair);
	outage_check_that_nothing_happened(&pair.onced);
	destroy_pair(&pair);
}
END_TEST

/* An operator goes on behind what the new primary lacks, with SQL of his own;
 * then its producer sends it again. Redis still has its marks. */
START_TEST(what_was_lost_and_passed_by_hand_is_new_when_it_is_sent_again)
{
	const struct onced_options options = {
		.prefilter = onced_both_prefilters(),
	};
	struct pair pair;

	create_pair(&pair);
	onced_init(&pair.onced, &pair.fixture, &options);
	onced_start(&pair.onced, NULL);
	send_and_wait(&pair, BEFORE);
	let_it_catch_up(&pair);
	cut_replication(&pair);
	send_and_wait(&pair, LACKING);
	ck_assert_int_eq(onced_stop(&pair.onced), 0);
	pg_server_kill(&pair.primary);
	promote(&pair);
	pg_fixture_run(&pair.fixture.pg,
		       "INSERT INTO once.position (group_name, topic, "
		       "partition, next_offset) SELECT group_name, topic, "
		       "partition, 200 FROM once.position ON CONFLICT "
		       "(group_name, topic, partition) DO UPDATE SET "
		       "next_offset = excluded.next_offset, "
		       "anchor_offset = NULL, anchor_hash = NULL");
	onced_fixture_send_series(&pair.fixture, BEFORE, LACKING);
	onced_start(&pair.onced, NULL);
	onced_fixture_wait_for_all(&pair.fixture, OUTAGE_WAIT_MS);
	onced_fixture_check_effects(&pair.fixture, BEFORE + LACKING);
	ck_assert_int_eq(onced_get_metric(&pair.onced,
					  "onced_prefilter_unproven_total",
					  NULL),
			 LACKING);
	ck_assert_int_eq(onced_stop(&pair.onced), 0);
	destroy_pair(&pair);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failover");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA) | NEED(REDIS));
	tcase_add_loop_test(tests, what_the_new_primary_lacks_is_handled_again,
			    0, 2);
	tcase_add_test(
		tests,
		partitions_that_the_new_primary_never_knew_are_read_from_their_start);
	tcase_add_test(tests, kafka_is_told_that_the_position_is_an_older_one);
	tcase_add_test(tests, a_standby_is_waited_out_until_it_is_promoted);
	tcase_add_test(
		tests,
		what_was_lost_and_passed_by_hand_is_new_when_it_is_sent_again);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
