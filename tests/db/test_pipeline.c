/*
 * test_pipeline.c - much in both directions at once. A pipeline hangs when both
 * sides write and neither reads; it must not, whatever is sent.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct trial trial;
static struct mail mail;

static void set_up(void)
{
	trial_init(&trial, NULL, 0);
}

static void tear_down(void)
{
	mail_fini(&mail);
	trial_fini(&trial);
}

static void run_poison(once_handle_f *poison)
{
	trial_poison = poison;
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	trial_run(&trial, &mail, ONCE_OK);
}

static enum once_verdict ask_much(void *self, const struct once_message *msg,
				  struct once_call *call)
{
	(void)self;
	(void)msg;
	for (int i = 0; i < 2000; i++)
		once_send(call, "SELECT repeat('x', 100000)", ONCE_NO_PARAMS);
	return ONCE_DONE;
}

START_TEST(two_thousand_answers_of_100_kb_do_not_hang)
{
	run_poison(ask_much);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
}
END_TEST

static enum once_verdict echo_much(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	size_t size = 1000000;
	char *data = malloc(size);
	struct once_bytes value = { data, size };

	(void)self;
	(void)msg;
	ck_assert_ptr_nonnull(data);
	memset(data, 'x', size);
	for (int i = 0; i < 300; i++)
		once_send(call, "SELECT $1::text || $1::text",
			  ONCE_PARAMS(ONCE_TEXT(value)));
	free(data);
	return ONCE_DONE;
}

START_TEST(much_in_both_directions_does_not_hang)
{
	run_poison(echo_much);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
}
END_TEST

static enum once_verdict send_huge(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	size_t size = 50000000;
	char *data = calloc(1, size);
	struct once_bytes value = { data, size };
	const struct once_rows *rows;

	(void)self;
	(void)msg;
	ck_assert_ptr_nonnull(data);
	for (int i = 0; i < 50; i++) /* 2.5 GB: more than libpq can hold */
		once_send(call, "SELECT length($1::bytea)",
			  ONCE_PARAMS(ONCE_BINARY(value)));
	rows = once_exec(call, "SELECT length($1::bytea)",
			 ONCE_PARAMS(ONCE_BINARY(value)));
	free(data);
	ck_assert_ptr_nonnull(rows);
	ck_assert(is_text(once_rows_get(rows, 0, 0), "50000000"));
	return ONCE_DONE;
}

START_TEST(parameters_of_50_mb_go_through)
{
	run_poison(send_huge);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
}
END_TEST

static enum once_verdict fail_first(void *self, const struct once_message *msg,
				    struct once_call *call)
{
	(void)self;
	(void)msg;
	once_send(call, "SELECT 1/0", ONCE_NO_PARAMS);
	return ask_much(self, msg, call);
}

START_TEST(a_failure_before_a_full_pipeline_ends_it)
{
	run_poison(fail_first);
	ck_ending(mail.items[0], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[0].sqlstate, "22012");
}
END_TEST

static enum once_verdict kill_when_full(void *self,
					const struct once_message *msg,
					struct once_call *call)
{
	for (int i = 0; i < 1000; i++)
		once_send(call, "SELECT repeat('x', 100000)", ONCE_NO_PARAMS);
	pg_fixture_end_sessions(&trial.pg, "trial");
	return ask_much(self, msg, call);
}

START_TEST(a_session_killed_with_a_full_pipeline_is_noticed)
{
	trial_poison = kill_when_full;
	mail_init(&mail, 2);
	mail_set_value(&mail, 1, "poison");
	trial_run(&trial, &mail, ONCE_TRANSIENT);
	trial_poison = NULL;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"), 2);
}
END_TEST

static enum once_verdict send_texts(void *self, const struct once_message *msg,
				    struct once_call *call)
{
	char sql[64];

	(void)self;
	(void)msg;
	for (int i = 0; i < 300; i++) {
		snprintf(sql, sizeof(sql), "SELECT %d", i);
		once_send(call, sql, ONCE_NO_PARAMS);
	}
	return ONCE_DONE;
}

START_TEST(more_statement_texts_than_are_remembered_still_run)
{
	run_poison(send_texts);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	mail_again(&mail);
	mail_set_id(&mail, 0, "next");
	mail_set_biz(&mail, 0, "next");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"), 2);
}
END_TEST

/* Rows stay until the call ends, whatever else is asked. */
static enum once_verdict keep_rows(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	const struct once_rows *first =
		once_exec(call, "SELECT 'first', NULL, ''", ONCE_NO_PARAMS);

	(void)self;
	(void)msg;
	for (int i = 0; i < 100; i++)
		ck_assert_ptr_nonnull(
			once_exec(call, "SELECT 'other'", ONCE_NO_PARAMS));
	ck_assert_uint_eq(once_rows_count(first), 1);
	ck_assert(is_text(once_rows_get(first, 0, 0), "first"));
	ck_assert_ptr_null(once_rows_get(first, 0, 1).data);
	ck_assert(is_text(once_rows_get(first, 0, 2), ""));
	ck_assert_ptr_null(once_rows_get(first, 0, 3).data);
	ck_assert_ptr_null(once_rows_get(first, 1, 0).data);
	return ONCE_DONE;
}

START_TEST(rows_stay_until_the_call_ends)
{
	run_poison(keep_rows);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
}
END_TEST

START_TEST(a_value_of_50_mb_is_parked_whole)
{
	size_t size = 50000000;
	char *value = malloc(size);

	ck_assert_ptr_nonnull(value);
	memset(value, '\xff', size);
	mail_init(&mail, 1);
	mail.items[0].attempt = 3; /* its effect wants UTF-8, and fails */
	mail.items[0].record.value.data = value;
	mail.items[0].record.value.size = size;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_DEAD_ENDING);
	ck_assert_str_eq(mail.items[0].sqlstate, "22021");
	ck_assert_int_eq(
		trial_count(&trial, "SELECT length(value) FROM once.parked"),
		50000000);
	free(value);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pipeline");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, two_thousand_answers_of_100_kb_do_not_hang);
	tcase_add_test(tests, much_in_both_directions_does_not_hang);
	tcase_add_test(tests, parameters_of_50_mb_go_through);
	tcase_add_test(tests, a_failure_before_a_full_pipeline_ends_it);
	tcase_add_test(tests, a_session_killed_with_a_full_pipeline_is_noticed);
	tcase_add_test(tests,
		       more_statement_texts_than_are_remembered_still_run);
	tcase_add_test(tests, rows_stay_until_the_call_ends);
	tcase_add_test(tests, a_value_of_50_mb_is_parked_whole);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
