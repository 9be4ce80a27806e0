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

static enum once_verdict collect(void *self, const struct once_message *msg,
				 struct once_call *call)
{
	struct once_bytes value = once_value(msg);
	struct once_bytes number =
		value.size == 6 ? text("six") : text("7"); /* "poison" */

	(void)self;
	once_collect(call, collect_sql,
		     ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg)), ONCE_TEXT(number),
				 ONCE_BINARY(value)));
	return ONCE_DONE;
}

static const struct once_handler collector = { ONCE_HANDLER_ABI_FIELDS,
					       .name = "collector",
					       .handle = collect };

static void set_up(void)
{
	struct once_route_options options = trial_route();

	options.handler = &collector;
	trial_init(&trial, &options, 1);
	pg_fixture_run(&trial.pg, "CREATE TABLE bulk (id text PRIMARY KEY, "
				  "number int, data bytea)");
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
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
