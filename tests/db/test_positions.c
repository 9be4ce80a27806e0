/*
 * test_positions.c - the row that says how far a partition is handled, moves
 * with what it says, and fences off whoever thinks otherwise.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <stdio.h>
#include <unistd.h>

static struct trial trial;
static struct mail mail;
static struct once_strand strand;

static void set_up(void)
{
	trial_init(&trial, NULL, 0);
	strand = (struct once_strand){ "g", "t", 0, 0, 0, 0 };
	mail_init(&mail, 3);
	for (size_t i = 0; i < 3; i++)
		mail_set_strand(&mail, i, &strand);
}

static void tear_down(void)
{
	mail_fini(&mail);
	trial_fini(&trial);
}

static void create(const int64_t *offsets, size_t count)
{
	ck_assert_msg(once_session_create_positions(trial.session, "g", "t",
						    offsets, count,
						    &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
}

static struct once_position get_position(const char *topic, int32_t partition)
{
	struct once_position position = { 0 };

	ck_assert_msg(once_session_read_position(trial.session, "g", topic,
						 partition, &position,
						 &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
	return position;
}

START_TEST(a_partition_without_a_row_has_no_position)
{
	static const int64_t offsets[] = { 5, -1, 7 };

	ck_assert_int_eq(get_position("t", 0).next_offset, -1);
	ck_assert_int_eq(get_position("t", 0).topic_known, 0);
	create(offsets, 3);
	ck_assert_int_eq(get_position("t", 0).next_offset, 5);
	ck_assert_int_eq(get_position("t", 1).next_offset, -1);
	ck_assert_int_eq(get_position("t", 1).topic_known, 1);
	ck_assert_int_eq(get_position("t", 2).next_offset, 7);
	ck_assert_int_eq(get_position("other", 0).topic_known, 0);
}
END_TEST

START_TEST(a_row_that_exists_stays)
{
	static const int64_t first[] = { 5 };
	static const int64_t second[] = { 1, 2 };

	create(first, 1);
	create(second, 2);
	ck_assert_int_eq(get_position("t", 0).next_offset, 5);
	ck_assert_int_eq(get_position("t", 1).next_offset, 2);
}
END_TEST

START_TEST(a_position_moves_with_its_messages_and_keeps_the_last_one)
{
	static const int64_t zero[] = { 0 };

	create(zero, 1);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(strand.next_offset, 3);
	ck_assert_int_eq(get_position("t", 0).next_offset, 3);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM once.position WHERE "
				     "anchor_offset = 2 AND anchor_time_ms = "
				     "1700000000002 AND length(anchor_hash) = "
				     "16"),
			 1);
}
END_TEST

/* C19: one offset is given twice, and its end told twice; the next one goes on.
 */
START_TEST(a_message_that_is_given_and_ended_twice_is_counted_once)
{
	static const int64_t zero[] = { 0 };

	create(zero, 1);
	mail.items[1].record.offset = 0;
	mail_set_id(&mail, 1, "m0");
	mail_set_biz(&mail, 1, "b0");
	mail.items[2].ending = ONCE_HANDLED_ENDING; /* not yet given */
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[1], ONCE_DUPLICATE_ENDING);
	ck_assert_int_eq(strand.next_offset, 1);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(trial.stats.committed, 0);
	mail.items[2].ending = ONCE_PENDING_ENDING;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[2], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(get_position("t", 0).next_offset, 3);
}
END_TEST

START_TEST(offsets_may_have_gaps)
{
	static const int64_t zero[] = { 0 };

	create(zero, 1);
	mail.items[0].record.offset = 10;
	mail.items[1].record.offset = 1000;
	mail.items[2].record.offset = INT64_C(5000000000);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(strand.next_offset, INT64_C(5000000001));
}
END_TEST

START_TEST(duplicates_move_the_position_too)
{
	static const int64_t zero[] = { 0 };

	create(zero, 1);
	trial_run(&trial, &mail, ONCE_OK);
	mail_again(&mail);
	for (size_t i = 0; i < 3; i++)
		mail.items[i].record.offset += 3;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 3);
	ck_assert_int_eq(get_position("t", 0).next_offset, 6);
}
END_TEST

/* 0: forward, 1: back, 2: away. */
START_TEST(a_position_moved_by_somebody_else_fences)
{
	static const int64_t zero[] = { 0 };
	static const char *const moves[] = {
		"UPDATE once.position SET next_offset = 2",
		"UPDATE once.position SET next_offset = 0",
		"DELETE FROM once.position",
	};

	create(zero, 1);
	strand.next_offset = 1;
	for (size_t i = 0; i < 3; i++)
		mail.items[i].record.offset++;
	pg_fixture_run(&trial.pg, moves[_i]);
	trial_run(&trial, &mail, ONCE_FENCED);
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 3);
	ck_assert_int_eq(strand.next_offset, 1);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"), 0);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.consume_log"),
		0);
}
END_TEST

/* It would undo what others rely on: that everything before it is ended. */
START_TEST(a_position_never_moves_back)
{
	static const int64_t ten[] = { 10 };

	create(ten, 1);
	strand.next_offset = 10;
	trial_run(&trial, &mail, ONCE_BUG);
	ck_assert_int_eq(get_position("t", 0).next_offset, 10);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"), 0);
}
END_TEST

static void run_rival(struct once_session *rival)
{
	struct mail theirs;
	struct once_strand their_strand = { "g", "t", 0, 0, 0, 0 };

	mail_init(&theirs, 3);
	for (size_t i = 0; i < 3; i++)
		mail_set_strand(&theirs, i, &their_strand);
	trial_run_by(&trial, rival, &theirs, ONCE_OK);
	mail_fini(&theirs);
}

START_TEST(of_two_owners_of_a_partition_one_is_fenced)
{
	static const int64_t zero[] = { 0 };
	struct once_session *rival = trial_open_session(&trial, NULL);

	create(zero, 1);
	run_rival(rival);
	trial_run(&trial, &mail, ONCE_FENCED);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"), 3);
	once_session_destroy(rival);
}
END_TEST

static enum once_verdict ask_again(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_RETRY;
}

START_TEST(attempts_are_counted_in_the_database)
{
	static const int64_t zero[] = { 0 };

	create(zero, 1);
	trial_poison = ask_again;
	mail_set_value(&mail, 1, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_ending(mail.items[2], ONCE_HELD_ENDING);
	ck_assert_uint_eq(strand.attempts, 1);
	ck_assert_uint_eq(get_position("t", 0).attempts, 1);

	mail.items[1].attempt = 2;
	mail.items[1].ending = ONCE_PENDING_ENDING;
	mail.items[2].ending = ONCE_PENDING_ENDING;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_assert_uint_eq(get_position("t", 0).attempts, 2);
	ck_assert_int_eq(get_position("t", 0).next_offset, 1);

	mail_set_value(&mail, 1, "v");
	mail.items[1].attempt = 3;
	mail.items[1].ending = ONCE_PENDING_ENDING;
	mail.items[2].ending = ONCE_PENDING_ENDING;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[2], ONCE_HANDLED_ENDING);
	ck_assert_uint_eq(get_position("t", 0).attempts, 0);
	ck_assert_int_eq(get_position("t", 0).next_offset, 3);
}
END_TEST

/* ---- another log under the same name ---- */

static void begin_with_coordinates(void)
{
	struct once_route_options route = trial_route();

	trial_fini(&trial);
	route.msg_id = "coordinates";
	route.biz_id = NULL;
	trial_init(&trial, &route, 1);
	for (size_t i = 0; i < 3; i++)
		mail_set_strand(&mail, i, NULL);
}

static void run_in_log(int32_t generation)
{
	mail_again(&mail);
	for (size_t i = 0; i < 3; i++)
		mail.items[i].record.log_generation = generation;
	trial_run(&trial, &mail, ONCE_OK);
}

START_TEST(the_same_coordinates_in_another_log_are_another_message)
{
	begin_with_coordinates();
	for (int32_t generation = 0; generation < 3; generation++) {
		run_in_log(generation);
		ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 3);
		run_in_log(generation);
		ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 3);
	}
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"), 9);
}
END_TEST

static enum once_verdict reject(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_REJECT;
}

START_TEST(the_same_coordinates_in_another_log_are_parked_beside)
{
	begin_with_coordinates();
	trial_poison = reject;
	mail_set_value(&mail, 1, "poison");
	for (int32_t generation = 0; generation < 2; generation++) {
		run_in_log(generation);
		run_in_log(generation);
	}
	trial_poison = NULL;
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM once.parked "
					     "WHERE message_offset = 1"),
			 2);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM once.parked "
					     "WHERE log_generation = 1 "
					     "AND msg_id = 't:0:1@1'"),
			 1);
}
END_TEST

static struct once_session *open_as(const struct once_instance *instance)
{
	const struct once_route *route = trial.routes[0];
	struct once_session_options options = {
		.conninfo = trial.pg.conninfo,
		.application_name = "instance",
		.routes = &route,
		.route_count = 1,
		.instance = instance,
	};
	struct once_session *session = NULL;

	ck_assert_int_eq(once_session_create(&options, &session, &trial.err),
			 ONCE_OK);
	return session;
}

static unsigned brace(struct once_session *session, int32_t generation)
{
	struct once_item *item = &mail.items[0];

	item->record.log_generation = generation;
	ck_assert_msg(once_session_brace(session, item, &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
	return item->crashes;
}

START_TEST(a_crash_counts_for_the_message_of_its_own_log_alone)
{
	static const struct once_instance dead = {
		"1deadead-0000-4000-8000-000000000000", "g", "here", 1
	};
	static const struct once_instance living = {
		"2a11fe00-0000-4000-8000-000000000000", "g", "here", 2
	};
	struct once_session *session = open_as(&dead);

	ck_assert_uint_eq(brace(session, 0), 0);
	once_session_destroy(session); /* without a word */
	pg_fixture_run(&trial.pg,
		       "DO $$ BEGIN WHILE once.is_alive('1deadead-0000-4000-"
		       "8000-000000000000') LOOP PERFORM pg_sleep(0.01); "
		       "END LOOP; END $$");
	session = open_as(&living);
	ck_assert_uint_eq(brace(session, 0), 1);
	ck_assert_uint_eq(brace(session, 1), 0);
	once_session_destroy(session);
}
END_TEST

static int has_crashed(const char *host, int pid)
{
	const struct once_instance asking = {
		"3a5c1f00-0000-4000-8000-000000000000", "g", host, pid
	};
	int crashed = -1;

	ck_assert_msg(once_group_has_crashed(trial.pg.conninfo, &asking,
					     &crashed, &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
	return crashed;
}

/* Two that run here: we, and one whose number nobody has. */
START_TEST(a_group_knows_of_a_crash_for_a_day_and_until_it_is_taken_up)
{
	struct once_instance running = { "1deadead-0000-4000-8000-000000000000",
					 "g", "here", (int)getpid() };
	static const int64_t zero[] = { 0 };
	struct once_session *session;

	ck_assert_int_eq(has_crashed("here", 1), 0);
	create(zero, 1);
	session = open_as(&running);
	ck_assert_uint_eq(brace(session, 0), 0);
	ck_assert_int_eq(has_crashed("here", 1), 0);
	/* Its sessions go on for a moment, and so it is of our number, */
	ck_assert_int_eq(has_crashed("here", (int)getpid()), 1);
	ck_assert_int_eq(has_crashed("elsewhere", (int)getpid()), 0);
	/* or of none. */
	pg_fixture_run(&trial.pg, "UPDATE once.instance SET pid = 2147483647");
	ck_assert_int_eq(has_crashed("here", 1), 1);
	ck_assert_int_eq(has_crashed("elsewhere", 1), 0);
	once_session_destroy(session); /* without a word */
	pg_fixture_run(&trial.pg,
		       "DO $$ BEGIN WHILE once.is_alive('1deadead-0000-4000-"
		       "8000-000000000000') LOOP PERFORM pg_sleep(0.01); "
		       "END LOOP; END $$");
	ck_assert_int_eq(has_crashed("elsewhere", 1), 1);
	pg_fixture_run(&trial.pg, "UPDATE once.instance SET seen_at = now() - "
				  "interval '2 days'");
	ck_assert_int_eq(has_crashed("here", 1), 0);
	pg_fixture_run(&trial.pg,
		       "UPDATE once.position SET holder = (SELECT id FROM "
		       "once.instance)");
	ck_assert_int_eq(has_crashed("here", 1), 1);
	pg_fixture_run(&trial.pg,
		       "UPDATE once.instance SET group_name = 'other'");
	ck_assert_int_eq(has_crashed("here", 1), 0);
}
END_TEST

static void seek_to_four(const unsigned char *another_log)
{
	static const int64_t four[] = { 4 };
	struct once_seek_options options = {
		.conninfo = trial.pg.conninfo,
		.group = "g",
		.topic = "t",
		.offsets = four,
		.count = 1,
		.another_log = another_log,
		.person = "test",
		.subject = "t",
	};

	ck_assert_msg(once_seek(&options, NULL, NULL, &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
}

START_TEST(only_a_person_who_says_so_begins_another_log)
{
	static const int64_t zero[] = { 0 };
	static const unsigned char yes[] = { 1 };

	create(zero, 1);
	trial_run(&trial, &mail, ONCE_OK);
	seek_to_four(NULL);
	ck_assert_int_eq(get_position("t", 0).log_generation, 0);
	ck_assert_int_eq(once_session_disown_log(trial.session, "g", "t", 0, 4,
						 &trial.err),
			 ONCE_OK);
	ck_assert_int_eq(get_position("t", 0).disowned, 1);
	seek_to_four(NULL);
	ck_assert_int_eq(get_position("t", 0).disowned, 0);
	ck_assert_int_eq(get_position("t", 0).log_generation, 1);
	seek_to_four(NULL);
	ck_assert_int_eq(get_position("t", 0).log_generation, 1);
	seek_to_four(yes);
	ck_assert_int_eq(get_position("t", 0).log_generation, 2);
}
END_TEST

START_TEST(a_position_set_by_the_function_is_written_down)
{
	static const int64_t zero[] = { 0 };

	create(zero, 1);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT once.set_position('g', 't', 0, 9)"),
		3);
	ck_assert_int_eq(get_position("t", 0).next_offset, 9);
	ck_assert_int_eq(get_position("t", 0).anchor.offset, -1);
	ck_assert_int_eq(get_position("t", 0).log_generation, 0);
	ck_assert_int_eq(trial_count(&trial, "SELECT once.set_position('g', "
					     "'t', 0, 1, true)"),
			 9);
	ck_assert_int_eq(get_position("t", 0).log_generation, 1);
	pg_fixture_run(&trial.pg, "SELECT once.set_position('g', 't', 7, 2)");
	ck_assert_int_eq(get_position("t", 7).next_offset, 2);
	ck_assert_int_eq(
		trial_count(&trial,
			    "SELECT count(*) FROM once.audit WHERE "
			    "command = 'set_position' AND rows_changed = 1 "
			    "AND person = session_user AND subject LIKE "
			    "'group g, topic t, partition %'"),
		3);
}
END_TEST

START_TEST(the_function_sets_no_position_under_a_running_process)
{
	static const struct once_instance living = {
		"2a11fe00-0000-4000-8000-000000000000", "g", "here", 2
	};
	static const int64_t zero[] = { 0 };
	struct once_session *session = open_as(&living);

	create(zero, 1);
	ck_assert_uint_eq(brace(session, 0), 0);
	pg_fixture_run(&trial.pg,
		       "DO $$ BEGIN PERFORM once.set_position('g', 't', 0, 9); "
		       "EXCEPTION WHEN object_in_use THEN NULL; END $$");
	ck_assert_int_eq(get_position("t", 0).next_offset, 0);
	once_session_destroy(session);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("positions");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, a_partition_without_a_row_has_no_position);
	tcase_add_test(
		tests,
		a_group_knows_of_a_crash_for_a_day_and_until_it_is_taken_up);
	tcase_add_test(tests, a_row_that_exists_stays);
	tcase_add_test(
		tests,
		a_position_moves_with_its_messages_and_keeps_the_last_one);
	tcase_add_test(tests,
		       a_message_that_is_given_and_ended_twice_is_counted_once);
	tcase_add_test(tests, offsets_may_have_gaps);
	tcase_add_test(tests, duplicates_move_the_position_too);
	tcase_add_loop_test(tests, a_position_moved_by_somebody_else_fences, 0,
			    3);
	tcase_add_test(tests, a_position_never_moves_back);
	tcase_add_test(tests, of_two_owners_of_a_partition_one_is_fenced);
	tcase_add_test(tests, attempts_are_counted_in_the_database);
	tcase_add_test(tests,
		       the_same_coordinates_in_another_log_are_another_message);
	tcase_add_test(tests,
		       the_same_coordinates_in_another_log_are_parked_beside);
	tcase_add_test(tests,
		       a_crash_counts_for_the_message_of_its_own_log_alone);
	tcase_add_test(tests, only_a_person_who_says_so_begins_another_log);
	tcase_add_test(tests, a_position_set_by_the_function_is_written_down);
	tcase_add_test(tests,
		       the_function_sets_no_position_under_a_running_process);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
