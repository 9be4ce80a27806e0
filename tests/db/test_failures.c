/*
 * test_failures.c - statements that fail, and sessions that end: a message's
 * own failure is its own, everybody else's costs nobody an attempt.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct trial trial;
static struct mail mail;

static void set_up(void)
{
	struct once_route_options options = trial_route();

	options.timeout_ms = 500;
	trial_init(&trial, &options, 1);
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

/* ---- a message's own failure ---- */

static const char *statement;

static enum once_verdict send_it(void *self, const struct once_message *msg,
				 struct once_call *call)
{
	(void)self;
	(void)msg;
	once_send(call, statement, ONCE_NO_PARAMS);
	return ONCE_DONE;
}

static void run_with_poison_at(size_t at, size_t count)
{
	mail_init(&mail, count);
	mail_set_value(&mail, at, "poison");
	trial_run(&trial, &mail, ONCE_OK);
}

static void expect_failed(size_t at, const char *sqlstate)
{
	ck_ending(mail.items[at], ONCE_RETRY_ENDING);
	ck_assert_int_eq(mail.items[at].cause, ONCE_CAUSE_STATEMENT);
	ck_assert_str_eq(mail.items[at].sqlstate, sqlstate);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING),
			  mail.count - 1);
	ck_assert_int_eq(effects(), (int64_t)mail.count - 1);
}

START_TEST(one_poisoned_message_of_500_fails_alone) /* C40, C50 */
{
	statement = "SELECT 1/0";
	trial_poison = send_it;
	mail_init(&mail, 500);
	mail_set_value(&mail, 250, "poison");
	mail.items[250].attempt = 3;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[250], ONCE_DEAD_ENDING);
	ck_assert_str_eq(mail.items[250].sqlstate, "22012");
	ck_assert_str_eq(mail.items[250].reason, "division by zero");
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 499);
	ck_assert_int_eq(effects(), 499);
	ck_assert_uint_eq(trial.stats.committed, 1);
	ck_assert_uint_eq(trial.stats.rolled_back, 1);
}
END_TEST

START_TEST(many_poisoned_messages_cost_few_transactions)
{
	statement = "SELECT 1/0";
	trial_poison = send_it;
	mail_init(&mail, 256);
	for (size_t i = 0; i < 256; i += 64)
		mail_set_value(&mail, i, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_RETRY_ENDING), 4);
	ck_assert_int_eq(effects(), 252);
	ck_assert_uint_le(trial.stats.committed + trial.stats.rolled_back, 12);
}
END_TEST

START_TEST(all_messages_poisoned_end_all_the_same)
{
	statement = "SELECT 1/0";
	trial_poison = send_it;
	mail_init(&mail, 64);
	for (size_t i = 0; i < 64; i++)
		mail_set_value(&mail, i, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_RETRY_ENDING), 64);
	ck_assert_int_eq(effects(), 0);
}
END_TEST

START_TEST(a_statement_is_cut_off_at_the_routes_timeout)
{
	int64_t began = clock_ms();

	statement = "SELECT pg_sleep(30)";
	trial_poison = send_it;
	run_with_poison_at(1, 3);
	expect_failed(1, "57014");
	ck_assert_int_lt(clock_ms() - began, 5000);
}
END_TEST

/* It is asked for long: mostly it is others who make it fail. */
START_TEST(who_makes_every_repetition_fail_is_blamed_in_the_end)
{
	unsigned runs = 0;

	statement = "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '40001'; END $$";
	trial_poison = send_it;
	run_with_poison_at(2, 4);
	while (mail.items[2].ending == ONCE_PAUSED_ENDING && runs++ < 20) {
		ck_assert_int_eq(mail.items[2].cause, ONCE_CAUSE_LOCKED);
		ck_assert_uint_ge(trial.stats.repeated, 10);
		ck_assert_int_eq(effects(), 3);
		mail.items[2].ending = ONCE_PENDING_ENDING;
		trial_run(&trial, &mail, ONCE_OK);
	}
	ck_assert_uint_ge(runs, 5);
	expect_failed(2, "40001");
}
END_TEST

START_TEST(a_handlers_wrong_statement_is_its_own_fault)
{
	static const char *const wrong[][2] = {
		{ "SELEKT", "42601" },
		{ "DO $$ BEGIN RAISE SQLSTATE 'XX000'; END $$", "XX000" },
		{ "VACUUM", "25001" },
	};

	statement = wrong[_i][0];
	trial_poison = send_it;
	run_with_poison_at(2, 5);
	expect_failed(2, wrong[_i][1]);
}
END_TEST

static enum once_verdict send_nul(void *self, const struct once_message *msg,
				  struct once_call *call)
{
	struct once_bytes value = { "a\0b", 3 };

	(void)self;
	(void)msg;
	once_send(call, "INSERT INTO effect (value) VALUES ($1)",
		  ONCE_PARAMS(ONCE_TEXT(value)));
	return ONCE_DONE;
}

START_TEST(a_text_parameter_with_a_nul_is_refused)
{
	trial_poison = send_nul;
	run_with_poison_at(1, 3);
	expect_failed(1, "22021");
}
END_TEST

static enum once_verdict hide_error(void *self, const struct once_message *msg,
				    struct once_call *call)
{
	(void)self;
	(void)msg;
	ck_assert_ptr_null(once_exec(call, "SELECT 1/0", ONCE_NO_PARAMS));
	ck_assert_str_eq(once_sqlstate(call), "22012");
	return ONCE_DONE;
}

START_TEST(done_after_an_error_that_was_seen_is_dead) /* C40 */
{
	trial_poison = hide_error;
	run_with_poison_at(1, 3);
	ck_ending(mail.items[1], ONCE_DEAD_ENDING);
	ck_assert_int_eq(mail.items[1].cause, ONCE_CAUSE_HIDDEN);
	ck_assert_int_eq(effects(), 2);
}
END_TEST

static enum once_verdict turn_it_down(void *self,
				      const struct once_message *msg,
				      struct once_call *call)
{
	(void)self;
	(void)msg;
	if (once_exec(call, "SELECT 1/0", ONCE_NO_PARAMS) != NULL)
		return ONCE_DONE;
	once_because(call, "no division today");
	return ONCE_REJECT;
}

START_TEST(a_handler_may_turn_an_error_into_a_verdict)
{
	trial_poison = turn_it_down;
	run_with_poison_at(1, 3);
	ck_ending(mail.items[1], ONCE_DEAD_ENDING);
	ck_assert_int_eq(mail.items[1].cause, ONCE_CAUSE_REJECTED);
	ck_assert_str_eq(mail.items[1].sqlstate, "22012");
	ck_assert_str_eq(mail.items[1].reason, "no division today");
}
END_TEST

/* The one before has queued what fails; who waits learns nothing of it. */
static enum once_verdict fail_then_wait(void *self,
					const struct once_message *msg,
					struct once_call *call)
{
	(void)self;
	if (once_offset(msg) == 1) {
		once_send(call, "SELECT 1/0", ONCE_NO_PARAMS);
		return ONCE_DONE;
	}
	if (once_exec(call, "SELECT 1", ONCE_NO_PARAMS) != NULL)
		return ONCE_DONE;
	ck_assert_str_eq(once_sqlstate(call), "");
	once_because(call, "not me");
	return ONCE_REJECT;
}

START_TEST(who_waits_is_not_blamed_for_who_queued)
{
	trial_poison = fail_then_wait;
	mail_init(&mail, 4);
	mail_set_value(&mail, 1, "poison");
	mail_set_value(&mail, 2, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	expect_failed(1, "22012");
	ck_assert_str_eq(mail.items[2].reason, "");
}
END_TEST

static int64_t silent_backend;
static bool session_was_cut;

static enum once_verdict be_slow(void *self, const struct once_message *msg,
				 struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	usleep(1200000);
	return ONCE_DONE;
}

/* The server's clock runs while it waits for the rest of a statement. */
START_TEST(a_slow_handler_does_not_time_out_the_statements_before_it)
{
	static char value[20000];

	memset(value, 'x', sizeof(value) - 1);
	trial_poison = be_slow;
	mail_init(&mail, 3);
	mail_set_value(&mail, 0, value);
	mail_set_value(&mail, 1, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 2);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_assert_int_eq(mail.items[1].cause, ONCE_CAUSE_TIMEOUT);
}
END_TEST

/* While it thinks, another session claims the same key: it must not wait for
 * longer than the silent one is given. */
static enum once_verdict be_silent(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	char gone[160];

	(void)self;
	(void)msg;
	(void)call;
	snprintf(gone, sizeof(gone),
		 "SELECT count(*) FROM pg_stat_activity WHERE pid = %lld",
		 (long long)silent_backend);
	for (int i = 0; i < 100 && trial_count(&trial, gone) > 0; i++)
		usleep(100000);
	session_was_cut = trial_count(&trial, gone) == 0;
	return ONCE_DONE;
}

START_TEST(a_silent_handler_loses_its_session_and_only_its_own_message_fails)
{
	trial.limits.idle_ms = 500;
	trial_reopen(&trial, NULL);
	mail_init(&mail, 1);
	mail_set_id(&mail, 0, "connects");
	mail_set_biz(&mail, 0, "connects");
	trial_run(&trial, &mail, ONCE_OK);
	mail_fini(&mail);
	silent_backend = trial_backend(&trial);
	trial_poison = be_silent;
	run_with_poison_at(1, 4);
	ck_assert(session_was_cut);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_assert_int_eq(mail.items[1].cause, ONCE_CAUSE_TIMEOUT);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 3);
	ck_assert_int_eq(effects(), 4);
}
END_TEST

/* ---- a COMMIT that is refused ---- */

static void add_deferred_check(void)
{
	pg_fixture_run(&trial.pg,
		       "CREATE TABLE allowed (value text PRIMARY KEY);"
		       "INSERT INTO allowed VALUES ('v');"
		       "ALTER TABLE effect ADD FOREIGN KEY (value) REFERENCES "
		       "allowed DEFERRABLE INITIALLY DEFERRED");
}

START_TEST(a_refused_commit_is_the_fault_of_its_only_message) /* C35 */
{
	add_deferred_check();
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "forbidden");
	trial_run(&trial, &mail, ONCE_OK);
	expect_failed(0, "23503");
}
END_TEST

START_TEST(the_culprit_of_a_refused_commit_is_found_among_100)
{
	add_deferred_check();
	mail_init(&mail, 100);
	mail_set_value(&mail, 61, "forbidden");
	trial_run(&trial, &mail, ONCE_OK);
	expect_failed(61, "23503");
	ck_assert_uint_le(trial.stats.committed + trial.stats.rolled_back, 20);
}
END_TEST

START_TEST(two_culprits_of_a_refused_commit_are_found_among_100)
{
	add_deferred_check();
	mail_init(&mail, 100);
	mail_set_value(&mail, 0, "forbidden");
	mail_set_value(&mail, 99, "forbidden");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_RETRY_ENDING), 2);
	ck_assert_int_eq(effects(), 98);
}
END_TEST

/* ---- a session that ends ---- */

static enum once_verdict kill_session(void *self,
				      const struct once_message *msg,
				      struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	pg_fixture_end_sessions(&trial.pg, "trial");
	return ONCE_DONE;
}

START_TEST(a_session_that_dies_before_commit_has_done_nothing) /* C43 */
{
	trial_poison = kill_session;
	mail_init(&mail, 10);
	mail_set_value(&mail, 9, "poison");
	trial_run(&trial, &mail, ONCE_TRANSIENT);
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 10);
	ck_assert_int_eq(effects(), 0);
	trial_poison = NULL;
	trial_run(&trial, &mail, ONCE_OK); /* connects by itself */
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 10);
	ck_assert_int_eq(effects(), 10);
}
END_TEST

START_TEST(an_idle_session_that_was_killed_costs_one_transient) /* C45 */
{
	mail_init(&mail, 2);
	ck_assert_int_eq(once_session_connect(trial.session, &trial.err),
			 ONCE_OK);
	kill_session(NULL, NULL, NULL);
	trial_run(&trial, &mail, ONCE_TRANSIENT);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(effects(), 2);
}
END_TEST

/* In the second one nothing tells but the failures that it causes. */
static const char *const read_only[] = { "SET TRANSACTION READ ONLY",
					 "SELECT stop_writing()" };

START_TEST(a_handler_that_makes_its_transaction_read_only_is_found)
{
	pg_fixture_run(&trial.pg, "CREATE FUNCTION stop_writing() RETURNS text "
				  "LANGUAGE sql AS $$ SELECT set_config("
				  "'transaction_read_only', 'on', true) $$");
	mail_init(&mail, 20);
	statement = read_only[_i];
	trial_poison = send_it;
	mail_set_value(&mail, 7, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[7], ONCE_DEAD_ENDING);
	ck_assert_str_eq(mail.items[7].reason,
			 "the handler made the transaction read-only");
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 19);
	ck_assert_int_eq(effects(), 19);
}
END_TEST

/* Takes a row that the test has changed since the statement was prepared. */
static enum once_verdict return_all(void *self, const struct once_message *msg,
				    struct once_call *call)
{
	(void)self;
	(void)msg;
	once_send(call, "SELECT * FROM effect", ONCE_NO_PARAMS);
	return ONCE_DONE;
}

START_TEST(an_altered_table_is_no_messages_fault)
{
	trial_poison = return_all;
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	pg_fixture_run(&trial.pg, "ALTER TABLE effect ADD more text");
	mail_again(&mail);
	mail_set_id(&mail, 0, "next");
	mail_set_biz(&mail, 0, "next");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_assert_uint_eq(trial.stats.repeated, 1);
}
END_TEST

/* A parameter of a prepared statement keeps the type that its column had. */
START_TEST(a_column_of_another_type_is_no_messages_fault)
{
	mail_init(&mail, 3);
	trial_run(&trial, &mail, ONCE_OK);
	pg_fixture_run(&trial.pg, "TRUNCATE effect, once.consume_log;"
				  "ALTER TABLE effect ALTER value TYPE int "
				  "USING 0");
	mail_set_value(&mail, 0, "1");
	mail_set_value(&mail, 1, "one");
	mail_set_value(&mail, 2, "3");
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[1].sqlstate, "22P02");
	ck_ending(mail.items[2], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(trial_count(&trial, "SELECT sum(value) FROM effect"),
			 4);
	ck_assert_uint_eq(trial.stats.repeated, 1);
}
END_TEST

/* Values that the column takes since it was widened. */
START_TEST(a_column_that_takes_more_is_no_messages_fault)
{
	static const struct timespec a_while = { 2, 100000000 };

	pg_fixture_run(&trial.pg, "ALTER TABLE effect ALTER value TYPE int "
				  "USING 0");
	mail_init(&mail, 3);
	for (size_t i = 0; i < 3; i++)
		mail_set_value(&mail, i, "7");
	trial_run(&trial, &mail, ONCE_OK);
	pg_fixture_run(&trial.pg, "TRUNCATE effect, once.consume_log;"
				  "ALTER TABLE effect ALTER value TYPE bigint");
	nanosleep(&a_while, NULL); /* it is trusted for so long */
	mail_set_value(&mail, 1, "3000000000");
	mail_set_value(&mail, 2, "two");
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[1], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[2], ONCE_RETRY_ENDING);
	ck_assert_int_eq(trial_count(&trial, "SELECT sum(value) FROM effect"),
			 3000000007);
	ck_assert_uint_eq(trial.stats.repeated, 1);
}
END_TEST

static enum once_verdict call_odd(void *self, const struct once_message *msg,
				  struct once_call *call)
{
	(void)self;
	(void)msg;
	once_send(call, "SELECT odd()", ONCE_NO_PARAMS);
	return ONCE_DONE;
}

/* It isn't the statement that doesn't fit, and so it isn't tried again. */
START_TEST(a_function_that_finds_a_type_wrong_is_its_messages_fault)
{
	pg_fixture_run(&trial.pg,
		       "CREATE FUNCTION odd() RETURNS void LANGUAGE plpgsql AS "
		       "$$BEGIN RAISE datatype_mismatch; END$$");
	trial_poison = call_odd;
	for (int i = 0; i < 2; i++) {
		mail_init(&mail, 1);
		mail_set_value(&mail, 0, "poison");
		trial_run(&trial, &mail, ONCE_OK);
		ck_ending(mail.items[0], ONCE_RETRY_ENDING);
		ck_assert_str_eq(mail.items[0].sqlstate, "42804");
		ck_assert_uint_eq(trial.stats.repeated, 0);
		mail_fini(&mail);
	}
	mail_init(&mail, 0);
}
END_TEST

START_TEST(a_claim_that_is_cut_off_is_no_messages_fault)
{
	mail_init(&mail, 2);
	trial.limits.answer_ms = 100;
	trial.limits.lock_ms = -1;
	trial_reopen(&trial, NULL);
	pg_fixture_run(&trial.pg, "BEGIN; LOCK TABLE once.consume_log IN "
				  "EXCLUSIVE MODE");
	trial_run(&trial, &mail, ONCE_TRANSIENT);
	ck_assert_str_eq(trial.err.sqlstate, "57014");
	pg_fixture_run(&trial.pg, "ROLLBACK");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(effects(), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failures");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, one_poisoned_message_of_500_fails_alone);
	tcase_add_test(tests, many_poisoned_messages_cost_few_transactions);
	tcase_add_test(tests, all_messages_poisoned_end_all_the_same);
	tcase_add_test(tests, a_statement_is_cut_off_at_the_routes_timeout);
	tcase_add_test(tests,
		       who_makes_every_repetition_fail_is_blamed_in_the_end);
	tcase_add_loop_test(tests, a_handlers_wrong_statement_is_its_own_fault,
			    0, 3);
	tcase_add_test(tests, a_text_parameter_with_a_nul_is_refused);
	tcase_add_test(tests, done_after_an_error_that_was_seen_is_dead);
	tcase_add_test(tests, a_handler_may_turn_an_error_into_a_verdict);
	tcase_add_test(tests, who_waits_is_not_blamed_for_who_queued);
	tcase_add_test(
		tests,
		a_slow_handler_does_not_time_out_the_statements_before_it);
	tcase_add_test(
		tests,
		a_silent_handler_loses_its_session_and_only_its_own_message_fails);
	tcase_add_test(tests,
		       a_refused_commit_is_the_fault_of_its_only_message);
	tcase_add_test(tests,
		       the_culprit_of_a_refused_commit_is_found_among_100);
	tcase_add_test(tests,
		       two_culprits_of_a_refused_commit_are_found_among_100);
	tcase_add_test(tests,
		       a_session_that_dies_before_commit_has_done_nothing);
	tcase_add_test(tests,
		       an_idle_session_that_was_killed_costs_one_transient);
	tcase_add_loop_test(
		tests, a_handler_that_makes_its_transaction_read_only_is_found,
		0, 2);
	tcase_add_test(tests, an_altered_table_is_no_messages_fault);
	tcase_add_test(tests, a_column_of_another_type_is_no_messages_fault);
	tcase_add_test(tests, a_column_that_takes_more_is_no_messages_fault);
	tcase_add_test(
		tests,
		a_function_that_finds_a_type_wrong_is_its_messages_fault);
	tcase_add_test(tests, a_claim_that_is_cut_off_is_no_messages_fault);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
