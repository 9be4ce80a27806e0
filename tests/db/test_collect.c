/*
 * test_collect.c - rows that all messages of a batch give to one statement.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <stdio.h>
#include <string.h>

static struct trial trial;
static struct mail mail;

static const char collect_sql[] =
	"INSERT INTO bulk (id, number, data) SELECT id, number::int, data "
	"FROM unnest($1::text[], $2::text[], $3::bytea[]) "
	"AS b (id, number, data)";

static struct once_bytes text(const char *string)
{
	struct once_bytes bytes = { string,
				    string == NULL ? 0 : strlen(string) };

	return bytes;
}

static const char slow_sql[] =
	"INSERT INTO bulk (id) SELECT id FROM unnest($1::text[]) AS b (id) "
	"WHERE CASE WHEN id = 'm1' THEN pg_sleep(20) IS NOT NULL ELSE true END";
static const char missing_sql[] =
	"INSERT INTO not_there (id) SELECT unnest($1::text[])";
static const char part_sql[] =
	"INSERT INTO part (bulk_id) SELECT unnest($1::text[])";

static void collect_id(struct once_call *call, const char *sql,
		       const struct once_message *msg)
{
	once_collect(call, sql, ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg))));
}

static void collect_row(struct once_call *call, struct once_bytes id,
			struct once_bytes number, struct once_bytes value)
{
	once_collect(call, collect_sql,
		     ONCE_PARAMS(ONCE_TEXT(id), ONCE_TEXT(number),
				 ONCE_BINARY(value)));
}

static enum once_verdict collect(void *self, const struct once_message *msg,
				 struct once_call *call)
{
	struct once_bytes value = once_value(msg);
	struct once_bytes number =
		value.size == 6 ? text("six") : text("7"); /* "poison" */

	(void)self;
	if (is_text(value, "slow"))
		collect_id(call, slow_sql, msg);
	else if (is_text(value, "missing"))
		collect_id(call, missing_sql, msg);
	else if (is_text(value, "part"))
		collect_id(call, part_sql, msg);
	else
		collect_row(call, once_msg_id(msg), number, value);
	if (is_text(value, "two"))
		collect_row(call, text("another"), text("two"), value);
	if (is_text(value, "whole"))
		collect_id(call, part_sql, msg);
	return ONCE_DONE;
}

static const struct once_handler collector = { ONCE_HANDLER_ABI_FIELDS,
					       .name = "collector",
					       .handle = collect };

static void set_up(void)
{
	struct once_route_options options = trial_route();

	options.handler = &collector;
	options.timeout_ms = 500;
	trial_init(&trial, &options, 1);
	pg_fixture_run(&trial.pg, "CREATE TABLE bulk (id text PRIMARY KEY, "
				  "number int, data bytea); "
				  "CREATE TABLE part (bulk_id text "
				  "REFERENCES bulk)");
}

static void tear_down(void)
{
	mail_fini(&mail);
	trial_fini(&trial);
}

static int64_t rows(void)
{
	return trial_count(&trial, "SELECT count(*) FROM bulk");
}

START_TEST(five_hundred_rows_go_in_one_transaction)
{
	mail_init(&mail, 500);
	mail_set_value(&mail, 3, NULL);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 500);
	ck_assert_int_eq(rows(), 500);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM bulk "
					     "WHERE data IS NULL"),
			 1);
	ck_assert_uint_eq(trial.stats.committed, 1);
	ck_assert_uint_eq(trial.stats.rolled_back, 0);
}
END_TEST

START_TEST(the_one_bad_row_of_500_is_found)
{
	mail_init(&mail, 500);
	mail_set_value(&mail, 321, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[321], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[321].sqlstate, "22P02");
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 499);
	ck_assert_int_eq(rows(), 499);
	ck_assert_uint_le(trial.stats.committed + trial.stats.rolled_back, 25);
}
END_TEST

START_TEST(no_row_of_a_batch_that_failed_is_left_for_the_next)
{
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_RETRY_ENDING);
	mail_set_value(&mail, 0, "good");
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(rows(), 1);
}
END_TEST

START_TEST(what_is_given_twice_is_collected_once)
{
	mail_init(&mail, 100);
	for (size_t i = 50; i < 100; i++)
		mail_set_id(&mail, i, "m1");
	for (size_t i = 50; i < 100; i++)
		mail_set_biz(&mail, i, "b1");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 50);
	ck_assert_int_eq(rows(), 50);
}
END_TEST

START_TEST(a_message_that_gives_two_rows_fails_by_itself)
{
	mail_init(&mail, 20);
	mail_set_value(&mail, 3, "two"); /* its second one is bad */
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[3], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[3].sqlstate, "22P02");
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 19);
	ck_assert_int_eq(rows(), 19);
}
END_TEST

START_TEST(the_row_that_takes_too_long_is_found)
{
	mail_init(&mail, 4);
	for (size_t i = 0; i < 4; i++)
		mail_set_value(&mail, i, "slow"); /* m1 is */
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[1].sqlstate, "57014");
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 3);
	ck_assert_int_eq(rows(), 3);
}
END_TEST

START_TEST(a_table_that_isnt_there_holds_those_who_write_to_it)
{
	mail_init(&mail, 8);
	mail_set_value(&mail, 2, "missing");
	mail_set_value(&mail, 3, "missing");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[2], ONCE_PAUSED_ENDING);
	ck_ending(mail.items[3], ONCE_PAUSED_ENDING);
	ck_assert_str_eq(mail.items[3].sqlstate, "42P01");
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 6);
}
END_TEST

START_TEST(statements_run_in_the_order_of_their_first_rows)
{
	mail_init(&mail, 2);
	mail_set_value(&mail, 0, "part"); /* met first, and fails */
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_RETRY_ENDING);
	mail_set_value(&mail, 0, "whole");
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM part"), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("collect");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, five_hundred_rows_go_in_one_transaction);
	tcase_add_test(tests, the_one_bad_row_of_500_is_found);
	tcase_add_test(tests,
		       no_row_of_a_batch_that_failed_is_left_for_the_next);
	tcase_add_test(tests, what_is_given_twice_is_collected_once);
	tcase_add_test(tests, a_message_that_gives_two_rows_fails_by_itself);
	tcase_add_test(tests, the_row_that_takes_too_long_is_found);
	tcase_add_test(tests,
		       a_table_that_isnt_there_holds_those_who_write_to_it);
	tcase_add_test(tests, statements_run_in_the_order_of_their_first_rows);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
