/*
 * test_verdicts.c - what a handler says, and what comes of it: for its message,
 * for those behind it, and for everybody else.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct trial trial;
static struct mail mail;
static enum once_verdict verdict;

static void set_up(void)
{
	trial_init(&trial, NULL, 0);
}

static void tear_down(void)
{
	mail_fini(&mail);
	trial_fini(&trial);
}

static enum once_verdict say(void *self, const struct once_message *msg,
			     struct once_call *call)
{
	(void)self;
	(void)msg;
	once_because(call, "it is %s", "Tuesday");
	return verdict;
}

static void run_poison(enum once_verdict said, unsigned attempt)
{
	verdict = said;
	trial_poison = say;
	mail_init(&mail, 3);
	mail_set_value(&mail, 1, "poison");
	mail.items[1].attempt = attempt;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[2], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"), 2);
	ck_assert_uint_eq(trial.stats.committed, 1);
	ck_assert_str_eq(mail.items[1].reason, "it is Tuesday");
}

static int64_t parked(void)
{
	return trial_count(&trial, "SELECT count(*) FROM once.parked");
}

START_TEST(a_retry_is_rolled_back_and_given_back)
{
	run_poison(ONCE_RETRY, 1);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_assert_int_eq(mail.items[1].cause, ONCE_CAUSE_ASKED);
	ck_assert_int_eq(parked(), 0);
}
END_TEST

START_TEST(the_last_attempt_is_parked_dead)
{
	run_poison(ONCE_RETRY, 3);
	ck_ending(mail.items[1], ONCE_DEAD_ENDING);
	ck_assert_int_eq(mail.items[1].cause, ONCE_CAUSE_ATTEMPTS);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM once.parked WHERE "
				     "attempts = 3 AND cause = 'attempts' AND "
				     "reason = 'it is Tuesday' AND value = "
				     "'poison' AND header_values[1] = 'm1'"),
			 1);
}
END_TEST

START_TEST(a_rejected_message_is_dead_at_once)
{
	run_poison(ONCE_REJECT, 1);
	ck_ending(mail.items[1], ONCE_DEAD_ENDING);
	ck_assert_int_eq(mail.items[1].cause, ONCE_CAUSE_REJECTED);
	ck_assert_int_eq(parked(), 1);
}
END_TEST

START_TEST(a_dead_message_claims_nothing)
{
	run_poison(ONCE_REJECT, 1);
	trial_poison = NULL;
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[1], ONCE_HANDLED_ENDING);
}
END_TEST

START_TEST(a_message_is_parked_once_however_often_it_dies) /* C68 */
{
	run_poison(ONCE_REJECT, 1);
	for (unsigned i = 2; i < 5; i++) {
		mail_again(&mail);
		mail.items[1].attempt = i;
		trial_run(&trial, &mail, ONCE_OK);
	}
	ck_assert_int_eq(
		trial_count(&trial, "SELECT attempts FROM once.parked"), 4);
	ck_assert_int_eq(parked(), 1);
}
END_TEST

/* The topic was deleted and made again. */
START_TEST(another_message_at_the_same_offset_is_parked_beside_the_first)
{
	run_poison(ONCE_REJECT, 1);
	mail_again(&mail);
	mail.items[1].record.time_ms += 1000;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(parked(), 2);
}
END_TEST

START_TEST(a_pause_counts_no_attempt)
{
	run_poison(ONCE_PAUSE, 3); /* the last one, had it been counted */
	ck_ending(mail.items[1], ONCE_PAUSED_ENDING);
	ck_assert_int_eq(parked(), 0);
}
END_TEST

static enum once_verdict say_nonsense(void *self,
				      const struct once_message *msg,
				      struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return (enum once_verdict)17;
}

/* Who dies later, idle or at work on others, didn't die of it. */
static const enum once_verdict each[] = { ONCE_DONE, ONCE_RETRY, ONCE_REJECT,
					  ONCE_PAUSE };

START_TEST(whatever_ends_an_attempt_nothing_is_left_in_hand)
{
	const struct once_instance instance = {
		"6f2c1d5e-8a44-4c0e-9d4b-0123456789ab", "group", "here", 1
	};
	const struct once_route *routes[] = { trial.routes[0] };
	const struct once_session_options options = {
		.conninfo = trial.pg.conninfo,
		.routes = routes,
		.route_count = 1,
		.instance = &instance,
	};
	struct once_session *session;

	ck_assert_int_eq(once_session_create(&options, &session, &trial.err),
			 ONCE_OK);
	verdict = each[_i];
	trial_poison = say;
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	ck_assert_int_eq(
		once_session_brace(session, &mail.items[0], &trial.err),
		ONCE_OK);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.in_hand"), 1);
	trial_run_by(&trial, session, &mail, ONCE_OK);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.in_hand"), 0);
	once_session_destroy(session);
}
END_TEST

START_TEST(a_number_that_is_no_verdict_is_dead)
{
	mail_init(&mail, 2);
	mail_set_value(&mail, 0, "poison");
	trial_poison = say_nonsense;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_DEAD_ENDING);
	ck_assert_int_eq(mail.items[0].cause, ONCE_CAUSE_VERDICT);
	ck_assert_ptr_nonnull(strstr(mail.items[0].reason, "17"));
	ck_ending(mail.items[1], ONCE_HANDLED_ENDING);
}
END_TEST

START_TEST(where_the_first_is_rolled_back_the_second_runs)
{
	verdict = ONCE_RETRY;
	trial_poison = say;
	mail_init(&mail, 2);
	mail_set_value(&mail, 0, "poison");
	mail_set_id(&mail, 1, "m0");
	mail_set_biz(&mail, 1, "b0");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_RETRY_ENDING);
	ck_ending(mail.items[1], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"), 1);
}
END_TEST

/* ---- strands ---- */

START_TEST(later_ones_of_a_strand_wait_and_other_strands_go_on)
{
	struct once_strand strands[2] = { { "g", "t", 0, 0, 0, 0 },
					  { "g", "t", 1, 0, 0, 0 } };
	static const int64_t zero[] = { 0, 0 };

	verdict = ONCE_RETRY;
	trial_poison = say;
	mail_init(&mail, 8);
	for (size_t i = 0; i < 8; i++) {
		mail.items[i].record.partition = (int32_t)(i % 2);
		mail.items[i].record.offset = (int64_t)(i / 2);
		mail_set_strand(&mail, i, &strands[i % 2]);
	}
	mail_set_value(&mail, 2, "poison");
	ck_assert_int_eq(once_session_create_positions(trial.session, "g", "t",
						       zero, 2, &trial.err),
			 ONCE_OK);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[2], ONCE_RETRY_ENDING);
	ck_ending(mail.items[4], ONCE_HELD_ENDING);
	ck_ending(mail.items[6], ONCE_HELD_ENDING);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 5);
	ck_assert_int_eq(strands[0].next_offset, 1);
	ck_assert_int_eq(strands[1].next_offset, 4);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT next_offset FROM once.position "
				     "WHERE partition = 0"),
			 1);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT next_offset FROM once.position "
				     "WHERE partition = 1"),
			 4);
}
END_TEST

START_TEST(a_dead_one_lets_its_strand_go_on)
{
	struct once_strand strand = { "g", "t", 0, 0, 0, 0 };
	static const int64_t zero[] = { 0 };

	verdict = ONCE_REJECT;
	trial_poison = say;
	mail_init(&mail, 3);
	for (size_t i = 0; i < 3; i++)
		mail_set_strand(&mail, i, &strand);
	mail_set_value(&mail, 2, "poison");
	ck_assert_int_eq(once_session_create_positions(trial.session, "g", "t",
						       zero, 1, &trial.err),
			 ONCE_OK);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 2);
	ck_ending(mail.items[2], ONCE_DEAD_ENDING);
	ck_assert_int_eq(strand.next_offset, 3);
}
END_TEST

/* ---- results ---- */

static enum once_verdict pay(void *self, const struct once_message *msg,
			     struct once_call *call)
{
	static const char sql[] = "INSERT INTO effect (msg_id) VALUES ($1) "
				  "RETURNING 'paid as ' || msg_id";
	const struct once_rows *rows =
		once_exec(call, sql, ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg))));

	(void)self;
	ck_assert_ptr_nonnull(rows);
	once_set_result(call, once_rows_get(rows, 0, 0));
	once_send(call, "INSERT INTO reply VALUES ($1)",
		  ONCE_PARAMS(ONCE_TEXT(once_rows_get(rows, 0, 0))));
	return ONCE_DONE;
}

static enum once_verdict answer_again(void *self,
				      const struct once_message *msg,
				      struct once_bytes result,
				      struct once_call *call)
{
	(void)self;
	(void)msg;
	once_send(call, "INSERT INTO reply VALUES ($1)",
		  ONCE_PARAMS(ONCE_TEXT(result)));
	return ONCE_DONE;
}

static const struct once_handler payer = { ONCE_HANDLER_ABI_FIELDS,
					   .name = "payer", .handle = pay,
					   .duplicate = answer_again };

static void set_up_payer(void)
{
	struct once_route_options options = trial_route();

	options.handler = &payer;
	trial_init(&trial, &options, 1);
	pg_fixture_run(&trial.pg, "CREATE TABLE reply (answer text)");
}

/* In batches of _i: three in one, the rest each alone. */
START_TEST(the_same_request_ten_times_gets_the_first_answer) /* C33, C90 */
{
	static const size_t sizes[] = { 10, 1, 3 };
	size_t size = sizes[_i];

	mail_init(&mail, size);
	for (size_t i = 0; i < size; i++) {
		mail_set_id(&mail, i, "m0");
		mail_set_biz(&mail, i, "b0");
	}
	for (size_t done = 0; done < 10; done += size) {
		mail_again(&mail);
		trial_run(&trial, &mail, ONCE_OK);
	}
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"), 1);
	ck_assert_int_ge(trial_count(&trial, "SELECT count(*) FROM reply WHERE "
					     "answer = 'paid as m0'"),
			 10);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM reply WHERE "
					     "answer <> 'paid as m0'"),
			 0);
}
END_TEST

START_TEST(whichever_key_hits_the_answer_is_the_first_one) /* C33 */
{
	mail_init(&mail, 4);
	for (size_t i = 0; i < 4; i++)
		mail_set_biz(&mail, i, i < 2 ? "b0" : "b2");
	mail_set_id(&mail, 3, "m2");
	trial_run(&trial, &mail, ONCE_OK);
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(mail.items[1].key_kind, ONCE_KEY_BIZ_ID);
	ck_assert_int_eq(mail.items[3].key_kind, ONCE_KEY_MSG_ID);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM reply WHERE "
					     "answer = 'paid as m0'"),
			 4);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM reply WHERE "
					     "answer = 'paid as m2'"),
			 4);
}
END_TEST

static enum once_verdict keep_much(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	char *much = calloc(1, ONCE_RESULT_MAX + 1);
	bool fits = is_text(once_value(msg), "fits");
	struct once_bytes result = { much, ONCE_RESULT_MAX + !fits };

	(void)self;
	ck_assert_ptr_nonnull(much);
	once_set_result(call, result);
	free(much);
	return ONCE_DONE;
}

static const struct once_handler keeper = { ONCE_HANDLER_ABI_FIELDS,
					    .name = "keeper",
					    .handle = keep_much };

START_TEST(a_result_of_more_than_a_mebibyte_is_refused)
{
	struct once_route_options options = trial_route();

	trial_fini(&trial);
	options.handler = &keeper;
	options.max_attempts = 1;
	trial_init(&trial, &options, 1);
	mail_init(&mail, 2);
	mail_set_value(&mail, 0, "fits");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[1], ONCE_DEAD_ENDING);
	ck_assert_str_eq(mail.items[1].sqlstate, "54000");
	ck_assert_ptr_nonnull(strstr(mail.items[1].reason, "1 MiB"));
}
END_TEST

START_TEST(a_result_is_kept_with_its_claim)
{
	static const char sql[] = "SELECT count(*) FROM once.consume_log "
				  "WHERE result = 'paid as m0'";

	mail_init(&mail, 1);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(trial_count(&trial, sql), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verdicts");
	TCase *said = tcase_create("said");
	TCase *results = tcase_create("results");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(said, set_up, tear_down);
	tcase_add_test(said, a_retry_is_rolled_back_and_given_back);
	tcase_add_test(said, the_last_attempt_is_parked_dead);
	tcase_add_test(said, a_rejected_message_is_dead_at_once);
	tcase_add_test(said, a_dead_message_claims_nothing);
	tcase_add_test(said, a_message_is_parked_once_however_often_it_dies);
	tcase_add_test(
		said,
		another_message_at_the_same_offset_is_parked_beside_the_first);
	tcase_add_test(said, a_pause_counts_no_attempt);
	tcase_add_loop_test(
		said, whatever_ends_an_attempt_nothing_is_left_in_hand, 0, 4);
	tcase_add_test(said, a_number_that_is_no_verdict_is_dead);
	tcase_add_test(said, where_the_first_is_rolled_back_the_second_runs);
	tcase_add_test(said,
		       later_ones_of_a_strand_wait_and_other_strands_go_on);
	tcase_add_test(said, a_dead_one_lets_its_strand_go_on);
	suite_add_tcase(suite, said);
	tcase_add_checked_fixture(results, set_up_payer, tear_down);
	tcase_add_loop_test(results,
			    the_same_request_ten_times_gets_the_first_answer, 0,
			    3);
	tcase_add_test(results, whichever_key_hits_the_answer_is_the_first_one);
	tcase_add_test(results, a_result_of_more_than_a_mebibyte_is_refused);
	tcase_add_test(results, a_result_is_kept_with_its_claim);
	suite_add_tcase(suite, results);
	return suite_run(suite);
}
