/*
 * test_handlers.c - the example handlers, loaded as onced loads them, on the
 * tables of their own SQL.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <dlfcn.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>

static struct trial trial;
static struct mail mail;
static struct once_route_options options;

static const struct once_handler *load(const char *name)
{
	char path[1024];
	void *library;
	void *handler;

	snprintf(path, sizeof(path), "%s/handlers/%s.so",
		 getenv("ONCE_TEST_BUILD"), name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	handler = dlsym(library, "once_handler");
	ck_assert_ptr_nonnull(handler);
	return handler;
}

static void create_tables(const char *name)
{
	char path[1024];
	char *sql;

	snprintf(path, sizeof(path), "%s/handlers/%s.sql",
		 getenv("ONCE_TEST_SOURCE"), name);
	sql = read_file(path);
	ck_assert_ptr_nonnull(sql);
	pg_fixture_run(&trial.pg, sql);
	free(sql);
}

static void set_up(const char *name, const char *biz_id,
		   const char *const *settings)
{
	options = trial_route();
	options.settings = settings;
	options.setting_count = settings != NULL;
	options.biz_id = biz_id;
	options.handler = load(name);
	trial_init(&trial, &options, 1);
	create_tables(name);
}

static void tear_down(void)
{
	mail_fini(&mail);
	trial_fini(&trial);
}

static int64_t count(const char *sql)
{
	return trial_count(&trial, sql);
}

static const char refund_of_one[] =
	"{\"refund_no\":\"R-1\",\"order_no\":\"4711\",\"sku\":\"A-1\","
	"\"quantity\":2,\"amount\":\"9.90\"}";
static const char refund_too_much[] =
	"{\"refund_no\":\"R-2\",\"order_no\":\"4711\",\"sku\":\"A-1\","
	"\"quantity\":1,\"amount\":\"90.20\"}";

static void set_up_refund_that(const char *writes)
{
	const char *const settings[] = { writes };

	set_up("refund", "refund:{json:/refund_no}", settings);
	pg_fixture_run(&trial.pg, "INSERT INTO orders VALUES ('4711', 100, 0);"
				  "INSERT INTO stock VALUES ('A-1', 5)");
}

static void set_up_refund(void)
{
	set_up_refund_that("write=send");
}

static void set_up_bulk_refund(void)
{
	set_up_refund_that("write=bulk");
}

START_TEST(a_refund_is_booked_once)
{
	mail_init(&mail, 4);
	for (size_t i = 0; i < 4; i++)
		mail_set_value(&mail, i, refund_of_one);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 1);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 3);
	ck_assert_int_eq(count("SELECT count(*) FROM refund WHERE amount = "
			       "9.90 AND currency = 'EUR'"),
			 1);
	ck_assert_int_eq(count("SELECT (refunded * 100)::int FROM orders"),
			 990);
	ck_assert_int_eq(count("SELECT quantity FROM stock"), 7);
}
END_TEST

START_TEST(a_refund_of_more_than_was_paid_fails_alone)
{
	mail_init(&mail, 2);
	mail_set_value(&mail, 0, refund_too_much);
	mail_set_value(&mail, 1, refund_of_one);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[1].sqlstate, "23514");
	ck_assert_int_eq(count("SELECT count(*) FROM refund"), 1);
	ck_assert_int_eq(count("SELECT quantity FROM stock"), 6);
}
END_TEST

static const char small_refund[] =
	"{\"refund_no\":\"R-%d\",\"order_no\":\"4711\",\"sku\":\"A-1\","
	"\"quantity\":1,\"amount\":\"0.50\"}";

START_TEST(refunds_of_one_order_add_up)
{
	char values[20][128];

	mail_init(&mail, 20);
	for (int i = 0; i < 20; i++) {
		snprintf(values[i], sizeof(values[i]), small_refund, i);
		mail_set_value(&mail, (size_t)i, values[i]);
	}
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 20);
	ck_assert_int_eq(count("SELECT (refunded * 100)::int FROM orders"),
			 1000);
	ck_assert_int_eq(count("SELECT quantity FROM stock"), 25);
	ck_assert_uint_eq(trial.stats.rolled_back, 0);
}
END_TEST

START_TEST(a_wrong_currency_is_refused_before_anything_is_handled)
{
	static const char *const settings[] = { "currency=Euro" };
	struct once_route *route = NULL;
	struct once_session *session = NULL;
	struct once_session_options session_options = { .route_count = 1 };

	mail_init(&mail, 1);
	options.settings = settings;
	options.setting_count = 1;
	ck_assert_int_eq(once_route_create(&options, &route, &trial.err),
			 ONCE_OK);
	session_options.routes = (const struct once_route *const[]){ route };
	ck_assert_int_eq(
		once_session_create(&session_options, &session, &trial.err),
		ONCE_CONFIG);
	ck_assert_str_eq(trial.err.text,
			 "handler \"refund\" of route \"trial\" refused to "
			 "open: currency \"Euro\" isn't three letters; write "
			 "currency=EUR");
	once_route_destroy(route);
}
END_TEST

static void set_up_stock(void)
{
	set_up("stock", NULL, NULL);
	pg_fixture_run(&trial.pg, "INSERT INTO stock VALUES ('A-1', 5)");
}

START_TEST(what_is_not_in_stock_is_rejected_in_words)
{
	mail_init(&mail, 3);
	mail_set_value(&mail, 0,
		       "{\"reservation_no\":\"1\",\"sku\":\"A-1\","
		       "\"quantity\":4}");
	mail_set_value(&mail, 1,
		       "{\"reservation_no\":\"2\",\"sku\":\"A-1\","
		       "\"quantity\":2}");
	mail_set_value(&mail, 2,
		       "{\"reservation_no\":\"3\",\"sku\":\"B-2\","
		       "\"quantity\":1}");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[1], ONCE_DEAD_ENDING);
	ck_ending(mail.items[2], ONCE_DEAD_ENDING);
	ck_assert_int_eq(mail.items[1].cause, ONCE_CAUSE_REJECTED);
	ck_assert_str_eq(mail.items[1].reason,
			 "there is not enough of \"A-1\"");
	ck_assert_str_eq(mail.items[2].reason, "nothing is known of \"B-2\"");
	ck_assert_int_eq(count("SELECT quantity FROM stock"), 1);
	ck_assert_int_eq(count("SELECT count(*) FROM reservation"), 1);
}
END_TEST

static void set_up_outcome(void)
{
	set_up("outcome", "{json:/request_no}", NULL);
}

START_TEST(ten_requests_get_one_payment_and_ten_answers) /* C90 */
{
	mail_init(&mail, 5);
	for (size_t i = 0; i < 5; i++)
		mail_set_value(&mail, i,
			       "{\"request_no\":\"Q-1\",\"amount\":\"12\"}");
	trial_run(&trial, &mail, ONCE_OK);
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 5);
	ck_assert_int_eq(count("SELECT count(*) FROM payment"), 1);
	ck_assert_int_eq(count("SELECT count(*) FROM reply, payment "
			       "WHERE answer = payment_no::text"),
			 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handlers");
	TCase *refund = tcase_create("refund");
	TCase *bulk = tcase_create("refund in bulk");
	TCase *stock = tcase_create("stock");
	TCase *outcome = tcase_create("outcome");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(refund, set_up_refund, tear_down);
	tcase_add_test(refund, a_refund_is_booked_once);
	tcase_add_test(refund, a_refund_of_more_than_was_paid_fails_alone);
	tcase_add_test(refund, refunds_of_one_order_add_up);
	tcase_add_test(refund,
		       a_wrong_currency_is_refused_before_anything_is_handled);
	suite_add_tcase(suite, refund);
	tcase_add_checked_fixture(bulk, set_up_bulk_refund, tear_down);
	tcase_add_test(bulk, a_refund_is_booked_once);
	tcase_add_test(bulk, a_refund_of_more_than_was_paid_fails_alone);
	tcase_add_test(bulk, refunds_of_one_order_add_up);
	suite_add_tcase(suite, bulk);
	tcase_add_checked_fixture(stock, set_up_stock, tear_down);
	tcase_add_test(stock, what_is_not_in_stock_is_rejected_in_words);
	suite_add_tcase(suite, stock);
	tcase_add_checked_fixture(outcome, set_up_outcome, tear_down);
	tcase_add_test(outcome, ten_requests_get_one_payment_and_ten_answers);
	suite_add_tcase(suite, outcome);
	return suite_run(suite);
}
