/*
 * test_insert_values.c - what once_insert() makes of values: of any type, as
 * text and in binary, alone and among others.
 */
#include "servers.h"
#include "stepper.h"
#include "suite.h"

static const char types_sql[] =
	"CREATE TYPE mood AS ENUM ('sad', 'glad');"
	"CREATE DOMAIN small AS int CHECK (VALUE < 10);"
	"CREATE TABLE typed (id text, long varchar(3), padded char(4), "
	"amount numeric(6,2), at timestamptz, list int[], object jsonb, "
	"bits bit(3), feeling mood, little small, yes boolean, raw bytea, "
	"\"odd \"\"name\" uuid, four int, many int[])";
static const char typed_target[] =
	"typed (id, long, padded, amount, at, list, object, bits, feeling, "
	"little, yes, raw, \"odd \"\"name\")";

/* Those with a text format, each with what needs care. */
static enum once_verdict insert_typed(const struct once_message *msg,
				      struct once_call *call)
{
	const char *length = is_value(msg, "long") ? "abcd" : "abc";
	const char *small = is_value(msg, "large") ? "10" : "9";

	once_insert(
		call, typed_target,
		ONCE_PARAMS(ONCE_TEXT(bytes("NULL \\ \" ' {,}\t\n\303\244")),
			    ONCE_TEXT(bytes(length)), ONCE_TEXT(bytes("ab")),
			    ONCE_TEXT(bytes("1234.567")),
			    ONCE_TEXT(bytes("2024-02-29 12:00:00.5+02")),
			    ONCE_TEXT(bytes("{1,NULL,3}")),
			    ONCE_TEXT(bytes("{\"a\": [1, \"\\\"\"]}")),
			    ONCE_TEXT(bytes("101")), ONCE_TEXT(bytes("glad")),
			    ONCE_TEXT(bytes(small)), ONCE_TEXT(bytes(NULL)),
			    ONCE_TEXT(bytes("\\x00ff")),
			    ONCE_TEXT(bytes(
				    "0a0b0c0d-0000-0000-0000-000000000001"))));
	return ONCE_DONE;
}

/* One message goes as a plain INSERT, several as one over arrays. */
START_TEST(a_value_is_the_same_alone_and_among_others)
{
	pg_fixture_run(&trial.pg, types_sql);
	mail_init(&mail, 1);
	run(insert_typed, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	mail_fini(&mail);
	mail_init(&mail, 5);
	mail_set_id(&mail, 0, "other");
	mail_set_biz(&mail, 0, "other");
	run(insert_typed, ONCE_OK);
	ck_assert_uint_eq(trial.stats.rolled_back, 0);
	ck_assert_int_eq(count("SELECT count(*) FROM typed"), 6);
	ck_assert_int_eq(count("SELECT count(DISTINCT t) FROM typed AS t"), 1);
	ck_assert_int_eq(
		count("SELECT count(*) FROM typed WHERE yes IS NULL AND "
		      "id = E'NULL \\\\ \" '' {,}\\t\\n\303\244' AND "
		      "amount = 1234.57 AND list[2] IS NULL AND raw = "
		      "'\\x00ff'"),
		6);
}
END_TEST

START_TEST(what_no_column_takes_is_refused_and_not_cut)
{
	pg_fixture_run(&trial.pg, types_sql);
	mail_init(&mail, 7);
	mail_set_value(&mail, 3, "long");
	mail_set_value(&mail, 4, "large");
	run(insert_typed, ONCE_OK);
	ck_assert_str_eq(mail.items[3].sqlstate, "22001");
	ck_assert_str_eq(mail.items[4].sqlstate, "23514");
	ck_assert_int_eq(count("SELECT count(*) FROM typed"), 5);
}
END_TEST

/* An int, and an array of them, which can't be an array's element. */
static enum once_verdict insert_binary(const struct once_message *msg,
				       struct once_call *call)
{
	static const char four[] = { 0, 0, 0, 4 };
	static const char many[] = {
		0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0,
		0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0,  0, 4
	};
	const struct once_bytes number = { four, sizeof(four) };
	const struct once_bytes array = { many, sizeof(many) };
	const struct once_bytes none = { NULL, 0 };

	once_insert(call, "typed (four)", ONCE_PARAMS(ONCE_BINARY(number)));
	once_insert(
		call, "typed (id, many)",
		ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg)),
			    ONCE_BINARY(is_value(msg, "null") ? none : array)));
	return ONCE_DONE;
}

START_TEST(binary_values_have_the_columns_type)
{
	pg_fixture_run(&trial.pg, types_sql);
	pg_fixture_run(&trial.pg, "CREATE TRIGGER see AFTER INSERT ON typed "
				  "EXECUTE FUNCTION see()");
	mail_init(&mail, 10);
	mail_set_value(&mail, 9, "null");
	run(insert_binary, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 10);
	ck_assert_int_eq(count("SELECT count(*) FROM typed WHERE four = 4"),
			 10);
	ck_assert_int_eq(count("SELECT count(*) FROM typed WHERE many = '{4}'"),
			 9);
	ck_assert_int_eq(count("SELECT count(*) FROM typed "
			       "WHERE many IS NULL AND id = 'm9'"),
			 1);
	ck_assert_int_eq(inserts(), 11); /* arrays go one by one */
}
END_TEST

START_TEST(a_new_session_asks_for_the_types_again)
{
	mail_init(&mail, 4);
	run(insert_refund, ONCE_OK);
	ck_assert_int_eq(refunds(), 4);
	pg_fixture_run(&trial.pg, "TRUNCATE refund CASCADE;"
				  "ALTER TABLE refund DROP number;"
				  "ALTER TABLE refund ADD number interval;"
				  "TRUNCATE once.consume_log");
	ck_assert_int_eq(pg_fixture_end_sessions(&trial.pg, "trial"), 1);
	mail_again(&mail);
	run(insert_refund, ONCE_TRANSIENT); /* the old one's end */
	run(insert_refund, ONCE_OK);
	ck_assert_uint_eq(trial.stats.rolled_back, 0);
	ck_assert_int_eq(count("SELECT count(*) FROM refund "
			       "WHERE number = '6 s'"),
			 4);
}
END_TEST

/* The rows are refused by the types that the column had, all of them. */
START_TEST(a_column_of_another_type_is_no_messages_fault)
{
	mail_init(&mail, 4);
	run(insert_refund, ONCE_OK);
	pg_fixture_run(&trial.pg, "TRUNCATE refund CASCADE;"
				  "TRUNCATE insert_seen, once.consume_log;"
				  "ALTER TABLE refund DROP number;"
				  "ALTER TABLE refund ADD number interval");
	mail_again(&mail);
	run(insert_refund, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 4);
	ck_assert_int_eq(count("SELECT count(*) FROM refund "
			       "WHERE number = '6 s'"),
			 4);
	ck_assert_int_eq(inserts(), 1);
	ck_assert_uint_eq(trial.stats.repeated, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("insert_values");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, stepper_set_up, stepper_tear_down);
	tcase_add_test(tests, a_value_is_the_same_alone_and_among_others);
	tcase_add_test(tests, what_no_column_takes_is_refused_and_not_cut);
	tcase_add_test(tests, binary_values_have_the_columns_type);
	tcase_add_test(tests, a_new_session_asks_for_the_types_again);
	tcase_add_test(tests, a_column_of_another_type_is_no_messages_fault);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
