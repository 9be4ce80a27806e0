/*
 * test_insert.c - rows that all messages of a batch give for one table.
 */
#include "servers.h"
#include "stepper.h"
#include "suite.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

enum {
	BATCH = 500
};

/* ---- what handlers do ---- */

static enum once_verdict insert_line(const struct once_message *msg,
				     struct once_call *call)
{
	once_insert(call, "line (refund_no)",
		    ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg))));
	return ONCE_DONE;
}

static enum once_verdict insert_both(const struct once_message *msg,
				     struct once_call *call)
{
	if (is_value(msg, "line first"))
		return insert_line(msg, call);
	(void)insert_refund(msg, call);
	return insert_line(msg, call);
}

static const char count_sql[] =
	"SELECT count(*) FROM refund HAVING count(*) = $1::int";

/* Those of all messages up to this one. */
static struct once_param expected_rows(const struct once_message *msg,
				       char text[24])
{
	struct once_param param = { { text, 0 }, 0 };

	param.value.size = (size_t)snprintf(text, 24, "%lld",
					    (long long)once_offset(msg) + 1);
	return param;
}

static enum once_verdict insert_and_look(const struct once_message *msg,
					 struct once_call *call)
{
	const struct once_rows *rows;
	char text[24];

	(void)insert_refund(msg, call);
	if (is_value(msg, "v"))
		return ONCE_DONE;
	rows = once_exec(call, count_sql,
			 ONCE_PARAMS(expected_rows(msg, text)));
	if (rows == NULL)
		return ONCE_RETRY;
	return once_rows_count(rows) == 1 ? ONCE_DONE : ONCE_REJECT;
}

/* Whose rows these are it doesn't know. */
static enum once_verdict insert_and_ask(const struct once_message *msg,
					struct once_call *call)
{
	(void)insert_refund(msg, call);
	if (!is_value(msg, "ask"))
		return ONCE_DONE;
	if (once_exec(call, "SELECT 1", ONCE_NO_PARAMS) == NULL)
		return ONCE_REJECT;
	return ONCE_DONE;
}

static enum once_verdict insert_and_look_raw(const struct once_message *msg,
					     struct once_call *call)
{
	PGconn *conn;
	PGresult *res;
	bool found;
	char text[24];

	(void)insert_refund(msg, call);
	if (is_value(msg, "v"))
		return ONCE_DONE;
	conn = once_pgconn(call);
	if (conn == NULL)
		return ONCE_RETRY;
	(void)expected_rows(msg, text);
	res = PQexec(conn, "SELECT count(*) FROM refund");
	found = PQntuples(res) == 1 && strcmp(PQgetvalue(res, 0, 0), text) == 0;
	PQclear(res);
	(void)insert_line(msg, call);
	return found ? ONCE_DONE : ONCE_REJECT;
}

/* ---- the plain case ---- */

START_TEST(the_rows_of_a_batch_go_out_as_one_statement_a_table)
{
	mail_init(&mail, BATCH);
	mail_set_value(&mail, 3, NULL);
	run(insert_both, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), BATCH);
	ck_assert_int_eq(refunds(), BATCH);
	ck_assert_int_eq(count("SELECT count(*) FROM line"), BATCH);
	ck_assert_int_eq(count("SELECT count(*) FROM refund "
			       "WHERE number = 6 AND data = 'v'"),
			 BATCH - 1);
	ck_assert_int_eq(inserts(), 2);
	ck_assert_uint_eq(trial.stats.committed, 1);
	ck_assert_uint_eq(trial.stats.rolled_back, 0);
}
END_TEST

START_TEST(what_is_given_twice_is_inserted_once)
{
	mail_init(&mail, 100);
	for (size_t i = 50; i < 100; i++)
		mail_set_id(&mail, i, "m1");
	for (size_t i = 50; i < 100; i++)
		mail_set_biz(&mail, i, "b1");
	run(insert_refund, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 50);
	ck_assert_int_eq(refunds(), 50);
}
END_TEST

START_TEST(a_table_comes_in_the_order_of_its_first_row)
{
	mail_init(&mail, 3);
	run(insert_both, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 3);
	mail_fini(&mail);
	mail_init(&mail, 1);
	mail_set_id(&mail, 0, "other");
	mail_set_biz(&mail, 0, "other");
	mail_set_value(&mail, 0, "line first"); /* and no refund */
	run(insert_both, ONCE_OK);
	ck_ending(mail.items[0], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[0].sqlstate, "23503");
	ck_assert_int_eq(count("SELECT count(*) FROM line"), 3);
}
END_TEST

static enum once_verdict insert_numbered(const struct once_message *msg,
					 struct once_call *call)
{
	char target[64];

	snprintf(target, sizeof(target), "refund /* %d */ (no)",
		 (int)once_offset(msg) % 100);
	once_insert(call, target, ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg))));
	return ONCE_DONE;
}

START_TEST(more_texts_than_are_remembered_lose_no_row)
{
	mail_init(&mail, BATCH);
	run(insert_numbered, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), BATCH);
	ck_assert_int_eq(refunds(), BATCH);
}
END_TEST

static enum once_verdict insert_large(const struct once_message *msg,
				      struct once_call *call)
{
	static char large[1 << 20];
	struct once_bytes data = { large, sizeof(large) };

	once_insert(
		call, "refund (no, data)",
		ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg)), ONCE_BINARY(data)));
	return ONCE_DONE;
}

START_TEST(rows_of_many_bytes_dont_wait_for_the_end)
{
	mail_init(&mail, 20);
	run(insert_large, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 20);
	ck_assert_int_eq(count("SELECT sum(length(data)) FROM refund"),
			 20 << 20);
	ck_assert_int_ge(inserts(), 5);
	ck_assert_uint_eq(trial.stats.committed, 1);
}
END_TEST

/* ---- who looks ---- */

START_TEST(who_waits_for_an_answer_finds_the_rows_of_those_before)
{
	mail_init(&mail, 20);
	mail_set_value(&mail, 7, "look");
	mail_set_value(&mail, 8, "look");
	mail_set_value(&mail, 19, "look");
	run(insert_and_look, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 20);
	ck_assert_int_eq(refunds(), 20);
	ck_assert_int_eq(inserts(), 3);
	ck_assert_uint_eq(trial.stats.committed, 1);
}
END_TEST

START_TEST(the_raw_session_finds_the_rows_of_those_before)
{
	mail_init(&mail, 20);
	mail_set_value(&mail, 7, "look");
	mail_set_value(&mail, 15, "look");
	run(insert_and_look_raw, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 20);
	ck_assert_int_eq(refunds(), 20);
	ck_assert_int_eq(count("SELECT count(*) FROM line"), 2);
}
END_TEST

START_TEST(who_waits_isnt_blamed_for_the_row_of_another)
{
	mail_init(&mail, 8);
	mail_set_value(&mail, 2, "poison");
	mail_set_value(&mail, 5, "ask");
	run(insert_and_ask, ONCE_OK);
	ck_ending(mail.items[2], ONCE_RETRY_ENDING);
	ck_ending(mail.items[5], ONCE_HANDLED_ENDING);
	mail_set_value(&mail, 2, "v");
	mail_again(&mail);
	run(insert_and_ask, ONCE_OK);
	ck_assert_int_eq(refunds(), 8);
}
END_TEST

/* ---- failures ---- */

START_TEST(the_one_bad_row_of_500_is_found)
{
	mail_init(&mail, BATCH);
	mail_set_value(&mail, 321, "poison");
	run(insert_both, ONCE_OK);
	ck_ending(mail.items[321], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[321].sqlstate, "22P02");
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), BATCH - 1);
	ck_assert_int_eq(refunds(), BATCH - 1);
	ck_assert_int_eq(count("SELECT count(*) FROM line"), BATCH - 1);
	ck_assert_uint_le(trial.stats.committed + trial.stats.rolled_back, 25);
}
END_TEST

START_TEST(the_row_that_breaks_a_rule_is_found_and_parked_in_the_end)
{
	pg_fixture_run(&trial.pg,
		       "INSERT INTO refund (no) VALUES ('m77')"); /* not ours */
	mail_init(&mail, 100);
	run(insert_refund, ONCE_OK);
	ck_ending(mail.items[77], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[77].sqlstate, "23505");
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 99);
	mail.items[77].attempt = 3;
	mail.items[77].ending = ONCE_PENDING_ENDING;
	run(insert_refund, ONCE_OK);
	ck_ending(mail.items[77], ONCE_DEAD_ENDING);
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked "
			       "WHERE sqlstate = '23505'"),
			 1);
	ck_assert_int_eq(refunds(), 100);
}
END_TEST

START_TEST(no_row_of_a_message_that_failed_is_left_for_the_next)
{
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	run(insert_refund, ONCE_OK);
	ck_ending(mail.items[0], ONCE_RETRY_ENDING);
	ck_assert_int_eq(refunds(), 0);
	mail_set_value(&mail, 0, "good");
	mail_again(&mail);
	run(insert_refund, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(refunds(), 1);
}
END_TEST

static enum once_verdict insert_and_reject(const struct once_message *msg,
					   struct once_call *call)
{
	(void)insert_refund(msg, call);
	return is_value(msg, "reject") ? ONCE_REJECT : ONCE_DONE;
}

START_TEST(what_a_rejected_message_gave_isnt_inserted)
{
	mail_init(&mail, 10);
	mail_set_value(&mail, 4, "reject");
	run(insert_and_reject, ONCE_OK);
	ck_ending(mail.items[4], ONCE_DEAD_ENDING);
	ck_assert_uint_eq(trial.stats.rolled_back, 1);
	ck_assert_int_eq(refunds(), 9);
	ck_assert_int_eq(count("SELECT count(*) FROM refund WHERE no = 'm4'"),
			 0);
}
END_TEST

static enum once_verdict insert_nul(const struct once_message *msg,
				    struct once_call *call)
{
	struct once_bytes nul = { "a\0b", 3 };
	struct once_bytes no = is_value(msg, "nul") ? nul : once_msg_id(msg);

	once_insert(call, "refund (no)", ONCE_PARAMS(ONCE_TEXT(no)));
	return ONCE_DONE;
}

START_TEST(a_nul_byte_in_a_text_fails_its_message_at_once)
{
	mail_init(&mail, 100);
	mail_set_value(&mail, 60, "nul");
	run(insert_nul, ONCE_OK);
	ck_ending(mail.items[60], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[60].sqlstate, "22021");
	ck_assert_int_eq(refunds(), 99);
	ck_assert_uint_eq(trial.stats.rolled_back, 1); /* nothing is halved */
}
END_TEST

static enum once_verdict insert_missing(const struct once_message *msg,
					struct once_call *call)
{
	if (!is_value(msg, "missing"))
		return insert_refund(msg, call);
	once_insert(call, "not_there (no)",
		    ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg))));
	return ONCE_DONE;
}

START_TEST(a_table_that_isnt_there_holds_those_who_write_to_it)
{
	mail_init(&mail, 8);
	mail_set_value(&mail, 0, "missing");
	mail_set_value(&mail, 1, "missing");
	run(insert_missing, ONCE_OK);
	ck_ending(mail.items[0], ONCE_PAUSED_ENDING);
	ck_ending(mail.items[1], ONCE_PAUSED_ENDING);
	ck_assert_str_eq(mail.items[1].sqlstate, "42P01");
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 6);
	ck_assert_int_eq(inserts(), 2); /* of two and of four messages */
	pg_fixture_run(&trial.pg,
		       "CREATE TABLE not_there (no text);"
		       "CREATE TRIGGER see AFTER INSERT ON not_there "
		       "EXECUTE FUNCTION see()");
	mail_again(&mail);
	run(insert_missing, ONCE_OK);
	ck_ending(mail.items[1], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(count("SELECT count(*) FROM not_there"), 2);
	ck_assert_int_eq(count("SELECT count(*) FROM insert_seen "
			       "WHERE name = 'not_there'"),
			 1);
}
END_TEST

START_TEST(the_row_that_takes_too_long_is_found)
{
	pg_fixture_run(&trial.pg,
		       "CREATE FUNCTION sleep() RETURNS trigger "
		       "LANGUAGE plpgsql AS "
		       "$$BEGIN PERFORM pg_sleep(20); RETURN NEW; END$$;"
		       "CREATE TRIGGER sleep BEFORE INSERT ON refund "
		       "FOR EACH ROW WHEN (NEW.no = 'm1') "
		       "EXECUTE FUNCTION sleep()");
	mail_init(&mail, 4);
	run(insert_refund, ONCE_OK);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[1].sqlstate, "57014");
	ck_assert_int_eq(refunds(), 3);
}
END_TEST

static enum once_verdict insert_none(const struct once_message *msg,
				     struct once_call *call)
{
	if (!is_value(msg, "none"))
		return insert_refund(msg, call);
	once_insert(call, "refund", ONCE_NO_PARAMS);
	return ONCE_DONE;
}

START_TEST(a_row_without_values_is_refused)
{
	mail_init(&mail, 3);
	mail_set_value(&mail, 1, "none");
	run(insert_none, ONCE_OK);
	ck_ending(mail.items[1], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[1].sqlstate, "54023");
	ck_assert_int_eq(refunds(), 2);
}
END_TEST

/* ---- all in one ---- */

/* Sent, inserted, collected, asked and raw, in one call. */
static enum once_verdict do_everything(const struct once_message *msg,
				       struct once_call *call)
{
	static const char send_sql[] =
		"INSERT INTO effect (msg_id, value) VALUES ($1, 'sent')";
	static const char collect_sql[] =
		"INSERT INTO effect (msg_id, value) "
		"SELECT unnest($1::text[]), 'collected'";
	static const char exec_sql[] =
		"SELECT 1 FROM refund AS r JOIN effect AS e ON msg_id = no "
		"WHERE no = $1";
	struct once_bytes id = once_msg_id(msg);
	const struct once_rows *rows;

	once_send(call, send_sql, ONCE_PARAMS(ONCE_TEXT(id)));
	(void)insert_refund(msg, call);
	once_collect(call, collect_sql, ONCE_PARAMS(ONCE_TEXT(id)));
	rows = once_exec(call, exec_sql, ONCE_PARAMS(ONCE_TEXT(id)));
	if (rows == NULL)
		return ONCE_RETRY;
	if (once_rows_count(rows) != 2 || once_pgconn(call) == NULL)
		return ONCE_REJECT;
	return insert_line(msg, call);
}

START_TEST(all_ways_to_write_go_together)
{
	mail_init(&mail, 10);
	mail_set_value(&mail, 6, "poison");
	run(do_everything, ONCE_OK);
	ck_ending(mail.items[6], ONCE_RETRY_ENDING);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 9);
	ck_assert_int_eq(refunds(), 9);
	ck_assert_int_eq(count("SELECT count(*) FROM effect"), 18);
	ck_assert_int_eq(count("SELECT count(*) FROM line"), 9);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("insert");
	TCase *tests = tcase_create("all");
	TCase *hasty = tcase_create("hasty");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, stepper_set_up, stepper_tear_down);
	tcase_add_test(tests,
		       the_rows_of_a_batch_go_out_as_one_statement_a_table);
	tcase_add_test(tests, what_is_given_twice_is_inserted_once);
	tcase_add_test(tests, a_table_comes_in_the_order_of_its_first_row);
	tcase_add_test(tests, more_texts_than_are_remembered_lose_no_row);
	tcase_add_test(tests, rows_of_many_bytes_dont_wait_for_the_end);
	tcase_add_test(tests,
		       who_waits_for_an_answer_finds_the_rows_of_those_before);
	tcase_add_test(tests, the_raw_session_finds_the_rows_of_those_before);
	tcase_add_test(tests, who_waits_isnt_blamed_for_the_row_of_another);
	tcase_add_test(tests, the_one_bad_row_of_500_is_found);
	tcase_add_test(
		tests,
		the_row_that_breaks_a_rule_is_found_and_parked_in_the_end);
	tcase_add_test(tests,
		       no_row_of_a_message_that_failed_is_left_for_the_next);
	tcase_add_test(tests, what_a_rejected_message_gave_isnt_inserted);
	tcase_add_test(tests, a_nul_byte_in_a_text_fails_its_message_at_once);
	tcase_add_test(tests,
		       a_table_that_isnt_there_holds_those_who_write_to_it);
	tcase_add_test(tests, a_row_without_values_is_refused);
	tcase_add_test(tests, all_ways_to_write_go_together);
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(hasty, stepper_set_up_hasty,
				  stepper_tear_down);
	tcase_add_test(hasty, the_row_that_takes_too_long_is_found);
	suite_add_tcase(suite, hasty);
	return suite_run(suite);
}
