/*
 * test_transaction.c - handlers that end the transaction, or leave the session
 * in a state that isn't theirs to leave. Such a message is dead; not one of the
 * others is lost or handled twice, and the session goes on.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <libpq-fe.h>
#include <stdio.h>

enum {
	COUNT = 10,
	POISONED = 5
};

static struct trial trial;
static struct mail mail;

static void set_up(void)
{
	trial_init(&trial, NULL, 0);
	mail_init(&mail, COUNT);
	mail_set_value(&mail, POISONED, "poison");
}

static void tear_down(void)
{
	mail_fini(&mail);
	trial_fini(&trial);
}

static void expect_one_dead(enum once_cause cause)
{
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[POISONED], ONCE_DEAD_ENDING);
	ck_assert_msg(mail.items[POISONED].cause == cause, "%s: %s",
		      once_cause_word(mail.items[POISONED].cause),
		      mail.items[POISONED].reason);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), COUNT - 1);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"),
			 COUNT - 1);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.consume_log"),
		COUNT - 1);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.parked"), 1);
}

/* And all that were handled are known to be. */
static void expect_duplicates(void)
{
	mail_again(&mail);
	trial_poison = NULL;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), COUNT - 1);
	ck_ending(mail.items[POISONED], ONCE_HANDLED_ENDING);
}

/* ---- with statements ---- */

static const char *statement;

static enum once_verdict send_it(void *self, const struct once_message *msg,
				 struct once_call *call)
{
	(void)self;
	(void)msg;
	once_send(call, statement, ONCE_NO_PARAMS);
	return ONCE_DONE;
}

/* clang-format off */
static const char *const endings[] = {
	"COMMIT",
	"commit;",
	"END",
	"ABORT",
	"ROLLBACK",
	"ROLLBACK AND CHAIN",
	"COMMIT AND CHAIN",
	"BEGIN",
	"START TRANSACTION",
	"PREPARE TRANSACTION 'x'",
	"  \t\r\n\f;; COMMIT",
	"-- a comment\nCOMMIT",
	"-- a comment\rCOMMIT",
	"--\r--\n\rCOMMIT",
	"/* a /* nested */ comment */COMMIT",
	"/**//***/ /*/ */ COMMIT",
	"/* -- */ -- /*\n COMMIT/**/",
	"COMMIT/**/",
	"COMMIT--",
	"DO $$ BEGIN COMMIT; END $$",
	"CALL end_it()",
	"DEALLOCATE ALL",
	"DISCARD ALL",
	"EXECUTE once_1",
};
/* clang-format on */

START_TEST(a_statement_that_ends_the_transaction_kills_its_message_alone)
{
	pg_fixture_run(&trial.pg, "CREATE PROCEDURE end_it() LANGUAGE plpgsql "
				  "AS 'BEGIN COMMIT; END'");
	statement = endings[_i];
	trial_poison = send_it;
	expect_one_dead(ONCE_CAUSE_TRANSACTION);
	expect_duplicates();
}
END_TEST

START_TEST(two_statements_in_one_text_are_refused)
{
	statement = "SELECT 1; COMMIT";
	trial_poison = send_it;
	mail.items[POISONED].attempt = 3;
	expect_one_dead(ONCE_CAUSE_ATTEMPTS);
	ck_assert_str_eq(mail.items[POISONED].sqlstate, "42601");
	expect_duplicates();
}
END_TEST

/* clang-format off */
static const char *const harmless[] = {
	"SET CONSTRAINTS ALL IMMEDIATE",
	"SAVEPOINT mine",
	"SELECT 'COMMIT'",
	"/* COMMIT */ SELECT 1",
	"-- COMMIT",
	"",
	"DECLARE c CURSOR FOR SELECT 1",
};
/* clang-format on */

START_TEST(a_harmless_statement_does_no_harm)
{
	statement = harmless[_i];
	trial_poison = send_it;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), COUNT);
	ck_assert_uint_eq(trial.stats.committed, 1);
}
END_TEST

/* ---- with the raw session ---- */

static const char *const *scripts;

static enum once_verdict run_raw(void *self, const struct once_message *msg,
				 struct once_call *call)
{
	PGconn *conn = once_pgconn(call);

	(void)self;
	(void)msg;
	if (conn == NULL)
		return ONCE_RETRY;
	for (const char *const *at = scripts; *at != NULL; at++)
		PQclear(PQexec(conn, *at));
	return ONCE_DONE;
}

/* clang-format off */
static const char *const raw_endings[][5] = {
	{ "COMMIT" },
	{ "ROLLBACK" },
	{ "COMMIT AND CHAIN" },
	{ "ROLLBACK AND CHAIN" },
	{ "ROLLBACK", "BEGIN" },
	{ "COMMIT", "BEGIN" },
	{ "COMMIT; BEGIN" },
	{ "SAVEPOINT s", "ROLLBACK", "BEGIN", "INSERT INTO effect VALUES (9)" },
	{ "SELECT 1/0", "ROLLBACK", "BEGIN" },
	{ "PREPARE TRANSACTION 'x'", "BEGIN" },
	{ "DEALLOCATE ALL" },
};
/* clang-format on */

START_TEST(a_raw_session_that_ended_the_transaction_is_found_out)
{
	scripts = raw_endings[_i];
	trial_poison = run_raw;
	expect_one_dead(ONCE_CAUSE_TRANSACTION);
	expect_duplicates();
}
END_TEST

START_TEST(a_raw_session_left_failed_hides_an_error)
{
	static const char *const script[] = { "SELECT 1/0", NULL };

	scripts = script;
	trial_poison = run_raw;
	expect_one_dead(ONCE_CAUSE_HIDDEN);
	expect_duplicates();
}
END_TEST

/* clang-format off */
static const char *const copies[][2] = {
	{ "COPY effect FROM STDIN" },
	{ "COPY (SELECT generate_series(1, 100000)) TO STDOUT" },
};
/* clang-format on */

static enum once_verdict start_copy(void *self, const struct once_message *msg,
				    struct once_call *call)
{
	PGconn *conn = once_pgconn(call);

	(void)self;
	(void)msg;
	PQclear(PQexec(conn, scripts[0]));
	return ONCE_DONE;
}

START_TEST(a_copy_left_open_kills_its_message_alone)
{
	scripts = copies[_i];
	trial_poison = start_copy;
	expect_one_dead(ONCE_CAUSE_TRANSACTION);
	expect_duplicates();
}
END_TEST

static enum once_verdict reset_session(void *self,
				       const struct once_message *msg,
				       struct once_call *call)
{
	PGconn *conn = once_pgconn(call);

	(void)self;
	(void)msg;
	PQreset(conn);
	PQclear(PQexec(conn, "BEGIN"));
	return ONCE_DONE;
}

START_TEST(a_reconnect_inside_the_transaction_is_no_success) /* C43 */
{
	trial_poison = reset_session;
	expect_one_dead(ONCE_CAUSE_TRANSACTION);
	expect_duplicates();
}
END_TEST

START_TEST(what_a_raw_session_copies_is_committed_with_the_claim)
{
	static const char *const script[] = { "CREATE TABLE made AS SELECT 1",
					      "SAVEPOINT s", "SELECT 1/0",
					      "ROLLBACK TO s", NULL };

	scripts = script;
	trial_poison = run_raw;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), COUNT);
	ck_assert_uint_eq(trial.stats.committed, 1);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM made"), 1);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.commit_guard"),
		0);
}
END_TEST

static enum once_verdict fail_and_retry(void *self,
					const struct once_message *msg,
					struct once_call *call)
{
	PGconn *conn = once_pgconn(call);

	(void)self;
	(void)msg;
	PQclear(PQexec(conn, "SELECT 1/0"));
	return ONCE_RETRY;
}

START_TEST(a_raw_session_left_failed_may_ask_for_a_retry)
{
	trial_poison = fail_and_retry;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[POISONED], ONCE_RETRY_ENDING);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), COUNT - 1);
}
END_TEST

static enum once_verdict save(void *self, const struct once_message *msg,
			      struct once_call *call)
{
	(void)self;
	if (once_offset(msg) == POISONED - 2)
		once_send(call, "SAVEPOINT s", ONCE_NO_PARAMS);
	if (once_offset(msg) == POISONED)
		PQclear(PQexec(once_pgconn(call), "ROLLBACK TO s"));
	return ONCE_DONE;
}

START_TEST(nobody_rolls_back_to_the_savepoint_of_another_message)
{
	for (size_t i = 0; i < COUNT; i++)
		mail_set_value(&mail, i, "poison");
	trial_poison = save;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[POISONED], ONCE_DEAD_ENDING);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"),
			 (int64_t)mail_count(&mail, ONCE_HANDLED_ENDING));
}
END_TEST

static enum once_verdict be_immediate_and_raw(void *self,
					      const struct once_message *msg,
					      struct once_call *call)
{
	(void)self;
	(void)msg;
	once_send(call, "SET CONSTRAINTS ALL IMMEDIATE", ONCE_NO_PARAMS);
	PQclear(PQexec(once_pgconn(call), "SELECT 1"));
	return ONCE_DONE;
}

START_TEST(immediate_constraints_do_not_keep_from_the_raw_session)
{
	trial_poison = be_immediate_and_raw;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), COUNT);
}
END_TEST

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *suite = suite_create("transaction");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(
		tests,
		a_statement_that_ends_the_transaction_kills_its_message_alone,
		0, LENGTH(endings));
	tcase_add_test(tests, two_statements_in_one_text_are_refused);
	tcase_add_loop_test(tests, a_harmless_statement_does_no_harm, 0,
			    LENGTH(harmless));
	tcase_add_loop_test(
		tests, a_raw_session_that_ended_the_transaction_is_found_out, 0,
		LENGTH(raw_endings));
	tcase_add_test(tests, a_raw_session_left_failed_hides_an_error);
	tcase_add_test(tests, a_raw_session_left_failed_may_ask_for_a_retry);
	tcase_add_loop_test(tests, a_copy_left_open_kills_its_message_alone, 0,
			    LENGTH(copies));
	tcase_add_test(tests, a_reconnect_inside_the_transaction_is_no_success);
	tcase_add_test(tests,
		       what_a_raw_session_copies_is_committed_with_the_claim);
	tcase_add_test(tests,
		       nobody_rolls_back_to_the_savepoint_of_another_message);
	tcase_add_test(tests,
		       immediate_constraints_do_not_keep_from_the_raw_session);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
