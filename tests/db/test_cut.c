/*
 * test_cut.c - a batch that has had its time, or is waited for, is cut between
 * two calls: what was called is committed, and of the rest there is no trace.
 */
#include "cutter.h"
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <stdio.h>
#include <time.h>

enum {
	MAX_TIME_MS = 20,
	SLOW_NS = 30000000,
	MESSAGES = 6
};

static struct trial trial;
static struct mail mail;
static struct once_strand strands[2];
static unsigned allowed; /* calls, until somebody is in a hurry */

static int is_hurried(void *arg)
{
	(void)arg;
	return trial_calls >= allowed;
}

/* As the trial says by now. */
static void open_session(void)
{
	trial.hurry = is_hurried;
	once_session_destroy(trial.session);
	trial.session = trial_open_session(&trial, NULL);
}

static void put_in_strand(int number, size_t from, size_t to)
{
	strands[number] = (struct once_strand){ .group = "group",
						.topic = "t",
						.partition = number };
	for (size_t i = from; i < to; i++) {
		mail.items[i].record.partition = number;
		mail.items[i].record.offset = (int64_t)(i - from);
		mail_set_strand(&mail, i, &strands[number]);
	}
}

/* Partition 0 has the first `split` messages, and partition 1 the others. */
static void init_mail(size_t split)
{
	static const int64_t starts[] = { 0, 0 };

	mail_init(&mail, MESSAGES);
	ck_assert_int_eq(once_session_create_positions(trial.session, "group",
						       "t", starts, 2,
						       &trial.err),
			 ONCE_OK);
	put_in_strand(0, 0, split);
	put_in_strand(1, split, MESSAGES);
}

static void set_up(void)
{
	trial_init(&trial, NULL, 0);
	allowed = UINT32_MAX;
}

static void tear_down(void)
{
	mail_fini(&mail);
	trial_fini(&trial);
}

static int64_t effects(void)
{
	return trial_count(&trial, "SELECT count(*) FROM effect");
}

static int64_t claims(void)
{
	return trial_count(&trial, "SELECT count(*) FROM once.consume_log");
}

static int64_t position(int partition)
{
	return trial_count(&trial,
			   partition == 0
				   ? "SELECT next_offset FROM once.position "
				     "WHERE partition = 0"
				   : "SELECT next_offset FROM once.position "
				     "WHERE partition = 1");
}

/* All that came is done once, and the strands are where the rows are. */
static void check_all(void)
{
	ck_assert_int_eq(
		trial_count(&trial,
			    "SELECT count(DISTINCT msg_id) FROM effect"),
		effects());
	ck_assert_int_eq(effects(), claims());
	ck_assert_int_eq(position(0), strands[0].next_offset);
	ck_assert_int_eq(position(1), strands[1].next_offset);
}

static enum once_verdict dawdle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	struct timespec time = { 0, SLOW_NS };

	(void)self;
	(void)msg;
	(void)call;
	nanosleep(&time, NULL);
	return ONCE_DONE;
}

START_TEST(calls_end_with_their_time_and_what_was_called_is_committed)
{
	trial.max_time_ms = MAX_TIME_MS;
	open_session();
	init_mail(MESSAGES);
	for (size_t i = 0; i < MESSAGES; i++)
		mail_set_value(&mail, i, "poison");
	trial_poison = dawdle;
	for (size_t i = 0; i < MESSAGES; i++) {
		ck_ending(mail.items[i], ONCE_PENDING_ENDING);
		trial_run(&trial, &mail, ONCE_OK);
		ck_ending(mail.items[i], ONCE_HANDLED_ENDING);
		ck_assert_uint_eq(trial.stats.committed, 1);
		ck_assert_uint_eq(trial.stats.rolled_back, 0);
		ck_assert_int_eq(position(0), (int64_t)i + 1);
		check_all();
	}
	ck_assert_uint_eq(trial_calls, MESSAGES);
}
END_TEST

/* Of claims that were taken back: rows that were inserted and deleted. */
START_TEST(what_a_slow_handler_has_no_time_for_is_claimed_in_vain_once)
{
	static const char deleted[] =
		"SELECT count(*) FROM change WHERE what = 'DELETE'";

	trial.max_time_ms = MAX_TIME_MS;
	open_session();
	init_mail(MESSAGES);
	pg_fixture_run(
		&trial.pg,
		"CREATE TABLE change (what text);"
		"CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql "
		"AS $$BEGIN INSERT INTO public.change VALUES (TG_OP); "
		"RETURN NULL; END$$;"
		"CREATE TRIGGER see AFTER INSERT OR DELETE "
		"ON once.consume_log FOR EACH ROW EXECUTE FUNCTION see()");
	for (size_t i = 0; i < MESSAGES; i++)
		mail_set_value(&mail, i, "poison");
	trial_poison = dawdle;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(trial_count(&trial, deleted), MESSAGES - 1);
	while (mail_count(&mail, ONCE_PENDING_ENDING) > 0)
		trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(trial_count(&trial, deleted), MESSAGES - 1);
	check_all();
}
END_TEST

static void name_anew(unsigned round)
{
	char name[32];

	for (size_t i = 0; i < mail.count; i++) {
		snprintf(name, sizeof(name), "%u.%zu", round, i);
		mail_set_id(&mail, i, name);
		mail_set_biz(&mail, i, name);
	}
	mail_again(&mail);
}

/* Twice as many each time that they took less than half of it. */
START_TEST(a_handler_that_is_slow_no_more_gets_whole_batches_again)
{
	unsigned round = 0;

	trial.max_time_ms = 10 * MAX_TIME_MS;
	open_session();
	trial_poison = dawdle;
	mail_init(&mail, 100);
	for (size_t i = 0; i < 10; i++)
		mail_set_value(&mail, i, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_gt(mail_count(&mail, ONCE_PENDING_ENDING), 0);
	for (size_t i = 0; i < 10; i++)
		mail_set_value(&mail, i, "v");
	do {
		name_anew(round);
		trial_run(&trial, &mail, ONCE_OK);
	} while ((trial.stats.committed > 1 ||
		  mail_count(&mail, ONCE_PENDING_ENDING) > 0) &&
		 round++ < 30);
	ck_assert_uint_eq(trial.stats.committed, 1);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), mail.count);
}
END_TEST

static enum once_verdict send_slow(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	(void)self;
	(void)msg;
	once_send(call, "SELECT pg_sleep(0.03)", NULL, 0);
	return ONCE_DONE;
}

/* Its calls are short, and the transaction isn't. */
START_TEST(statements_that_take_long_make_the_next_batches_smaller)
{
	trial.max_time_ms = MAX_TIME_MS;
	open_session();
	init_mail(MESSAGES);
	for (size_t i = 0; i < MESSAGES; i++)
		mail_set_value(&mail, i, "poison");
	trial_poison = send_slow;
	trial_run(&trial, &mail, ONCE_OK);
	mail_fini(&mail);
	mail_init(&mail, MESSAGES);
	name_anew(1);
	for (size_t i = 0; i < MESSAGES; i++)
		mail_set_value(&mail, i, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 1);
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), MESSAGES - 1);
}
END_TEST

/* Nobody waits for them, and nobody takes them for done. */
START_TEST(what_was_not_called_is_new_to_whoever_comes_first)
{
	struct once_session *other;
	struct mail late;

	allowed = 2;
	open_session();
	init_mail(MESSAGES);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 2);
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), MESSAGES - 2);
	check_all();

	mail_init(&late, MESSAGES);
	allowed = UINT32_MAX;
	other = trial_open_session(&trial, NULL);
	trial_run_by(&trial, other, &late, ONCE_OK);
	once_session_destroy(other);
	ck_assert_uint_eq(mail_count(&late, ONCE_DUPLICATE_ENDING), 2);
	ck_assert_uint_eq(mail_count(&late, ONCE_HANDLED_ENDING), MESSAGES - 2);
	mail_fini(&late);

	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING),
			  MESSAGES - 2);
	ck_assert_int_eq(position(0), MESSAGES);
	check_all();
}
END_TEST

/* 1 and 5 repeat 0 and 4; 3 repeats 2, and is an operation's second message. */
START_TEST(repetitions_in_the_batch_are_right_on_both_sides_of_the_cut)
{
	init_mail(MESSAGES);
	mail_set_id(&mail, 1, "m0");
	mail_set_biz(&mail, 1, "b0");
	mail_set_biz(&mail, 3, "b2");
	mail_set_id(&mail, 5, "m4");
	mail_set_biz(&mail, 5, "b4");
	for (unsigned calls = 1; calls <= 3; calls++) {
		allowed = calls;
		open_session();
		trial_run(&trial, &mail, ONCE_OK);
		ck_ending(mail.items[2 * calls - 2], ONCE_HANDLED_ENDING);
		ck_ending(mail.items[2 * calls - 1], ONCE_DUPLICATE_ENDING);
		ck_assert_int_eq(mail.items[2 * calls - 1].stage,
				 ONCE_STAGE_BATCH);
		ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING),
				  MESSAGES - 2 * calls);
		ck_assert_int_eq(position(0), 2 * calls);
		check_all();
	}
}
END_TEST

START_TEST(each_strand_of_the_batch_moves_as_far_as_it_was_called)
{
	allowed = 4;
	open_session();
	init_mail(3);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(position(0), 3);
	ck_assert_int_eq(position(1), 1);
	check_all();
	allowed = UINT32_MAX;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), MESSAGES);
	ck_assert_int_eq(position(1), 3);
	check_all();
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

/* 1 fails and holds up 2; the first try is rolled back, so the third call is
 * that of 0 again, and the last one. */
START_TEST(what_was_decided_of_a_message_before_the_cut_is_committed)
{
	allowed = 3;
	open_session();
	init_mail(3);
	mail_set_value(&mail, 1, "poison");
	trial_poison = ask_again;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_ending(mail.items[2], ONCE_HELD_ENDING);
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 3);
	ck_assert_int_eq(position(0), 1);
	ck_assert_uint_eq(strands[0].attempts, 1);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT attempts FROM once.position "
				     "WHERE partition = 0"),
			 1);
	check_all();
}
END_TEST

/* With a row of its own, which must not be there for one that wasn't called. */
START_TEST(messages_that_stand_aside_are_parked_up_to_the_cut)
{
	struct once_route_options route = trial_route();

	trial_fini(&trial);
	route.order = ONCE_ORDER_NONE;
	route.first_delay_ms = 60000;
	route.max_delay_ms = 60000;
	trial_init(&trial, &route, 1);
	allowed = 3;
	open_session();
	init_mail(MESSAGES);
	mail_set_value(&mail, 1, "poison");
	mail_set_value(&mail, 4, "poison");
	trial_poison = ask_again;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[1], ONCE_WAITING_ENDING);
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 4);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.parked"), 1);
	ck_assert_int_eq(position(0), 2);
	allowed = UINT32_MAX;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_WAITING_ENDING), 2);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.parked"), 2);
	ck_assert_int_eq(position(0), MESSAGES);
	check_all();
}
END_TEST

static enum once_verdict insert_row(void *self, const struct once_message *msg,
				    struct once_call *call)
{
	(void)self;
	trial_calls++;
	once_insert(call, "effect (msg_id, value)",
		    ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg)),
				ONCE_TEXT(once_value(msg))));
	return ONCE_DONE;
}

static const struct once_handler inserting = { ONCE_HANDLER_ABI_FIELDS,
					       .name = "inserting",
					       .handle = insert_row };

START_TEST(rows_that_were_collected_are_those_of_the_calls_that_were_made)
{
	struct once_route_options route = trial_route();

	trial_fini(&trial);
	route.handler = &inserting;
	trial_init(&trial, &route, 1);
	allowed = 4;
	open_session();
	init_mail(MESSAGES);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(effects(), 4);
	check_all();
	allowed = UINT32_MAX;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(effects(), MESSAGES);
	check_all();
}
END_TEST

static void take(int partition)
{
	struct once_position position;

	ck_assert_int_eq(once_session_take_position(trial.session, "group", "t",
						    partition, &position,
						    &trial.err),
			 ONCE_OK);
	strands[partition].tenure = position.tenure;
}

START_TEST(the_prefilter_is_told_of_what_was_called_and_of_nothing_else)
{
	static const struct once_prefilter_options local = {
		.local_max_bytes = 1 << 20,
		.retention_ms = -1,
	};
	struct mail late;

	ck_assert_int_eq(
		once_prefilter_create(&local, &trial.prefilter, &trial.err),
		ONCE_OK);
	allowed = 2;
	open_session();
	init_mail(MESSAGES);
	take(0);
	trial_run(&trial, &mail, ONCE_OK);
	allowed = UINT32_MAX;
	mail_init(&late, MESSAGES);
	trial_run_by(&trial, trial.session, &late, ONCE_OK);
	for (size_t i = 0; i < MESSAGES; i++) {
		ck_ending(late.items[i],
			  i < 2 ? ONCE_DUPLICATE_ENDING : ONCE_HANDLED_ENDING);
		if (i < 2)
			ck_assert_int_eq(late.items[i].stage, ONCE_STAGE_LOCAL);
	}
	mail_fini(&late);
	check_all();
}
END_TEST

/* A cut transaction, its COMMIT carried out or not, and nobody told. */
START_TEST(a_cut_transaction_is_settled_like_any_other)
{
	struct cutter cutter = { .only = "m0" };

	cutter_start(&cutter, &trial.pg);
	init_mail(MESSAGES);
	trial.hurry = is_hurried;
	once_session_destroy(trial.session);
	trial.session = trial_open_session(&trial, cutter.conninfo);
	allowed = 3;
	*cutter.cut = _i == 0 ? CUT_BEFORE_COMMIT : CUT_AFTER_COMMIT;
	trial_run(&trial, &mail, ONCE_UNKNOWN);
	ck_assert_int_eq(once_session_settle(trial.session, mail.items,
					     mail.count, &trial.err),
			 ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING),
			  _i == 0 ? 0 : 3);
	check_all();
	allowed = UINT32_MAX;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), MESSAGES);
	check_all();
	cutter_stop(&cutter);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cut");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(
		tests,
		calls_end_with_their_time_and_what_was_called_is_committed);
	tcase_add_test(
		tests,
		what_a_slow_handler_has_no_time_for_is_claimed_in_vain_once);
	tcase_add_test(tests,
		       a_handler_that_is_slow_no_more_gets_whole_batches_again);
	tcase_add_test(tests,
		       statements_that_take_long_make_the_next_batches_smaller);
	tcase_add_test(tests,
		       what_was_not_called_is_new_to_whoever_comes_first);
	tcase_add_test(
		tests,
		repetitions_in_the_batch_are_right_on_both_sides_of_the_cut);
	tcase_add_test(tests,
		       each_strand_of_the_batch_moves_as_far_as_it_was_called);
	tcase_add_test(
		tests,
		what_was_decided_of_a_message_before_the_cut_is_committed);
	tcase_add_test(tests,
		       messages_that_stand_aside_are_parked_up_to_the_cut);
	tcase_add_test(
		tests,
		rows_that_were_collected_are_those_of_the_calls_that_were_made);
	tcase_add_test(
		tests,
		the_prefilter_is_told_of_what_was_called_and_of_nothing_else);
	tcase_add_loop_test(tests, a_cut_transaction_is_settled_like_any_other,
			    0, 2);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
