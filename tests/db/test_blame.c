/*
 * test_blame.c - whose fault is it? A message pays only for what is its own:
 * not for a missing grant, not for somebody's lock, not for the server.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static struct trial trial;
static struct mail mail;
static struct once_strand strands[2];

static void set_up(void)
{
	static const int64_t zeros[] = { 0, 0 };
	static const char *const never[] = { "22", "23502", "23505", "23514" };
	struct once_route_options options = trial_route();

	options.timeout_ms = 5000;
	options.never = never;
	options.never_count = 4;
	trial_init(&trial, &options, 1);
	ck_assert_int_eq(once_session_create_positions(trial.session, "g", "t",
						       zeros, 2, &trial.err),
			 ONCE_OK);
	for (int32_t i = 0; i < 2; i++)
		strands[i] = (struct once_strand){ "g", "t", i, 0, 0, 0 };
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

/* The even ones on the one strand, the odd ones on the other. */
static void put_on_strands(size_t count)
{
	mail_init(&mail, count);
	for (size_t i = 0; i < count; i++) {
		mail.items[i].record.partition = (int32_t)(i % 2);
		mail_set_strand(&mail, i, &strands[i % 2]);
	}
}

/* ---- what the handler sends, or waits for ---- */

static const char *statement;

static enum once_verdict send_it(void *self, const struct once_message *msg,
				 struct once_call *call)
{
	(void)self;
	(void)msg;
	once_send(call, statement, ONCE_NO_PARAMS);
	return ONCE_DONE;
}

static enum once_verdict insert_it(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	(void)self;
	once_insert(call, statement, ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg))));
	return ONCE_DONE;
}

static enum once_verdict verdict;

static enum once_verdict wait_for_it(void *self, const struct once_message *msg,
				     struct once_call *call)
{
	(void)self;
	(void)msg;
	return once_exec(call, statement, ONCE_NO_PARAMS) == NULL ? verdict
								  : ONCE_DONE;
}

/* ---- the environment's fault ---- */

static const char *const missing[][3] = {
	{ "INSERT INTO nowhere VALUES (1)", "42P01", "create the table" },
	{ "SELECT no_column FROM effect", "42703", "add the column" },
	{ "SELECT nothing()", "42883", "create the function" },
	{ "CREATE TABLE nowhere.t ()", "3F000", "create the schema" },
	{ "SELECT * FROM pg_authid", "42501", "grant it" },
};

/* As an operator would run it: not as a superuser. */
static void become_ordinary(void)
{
	pg_fixture_run(&trial.pg,
		       "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE "
		       "rolname = 'ordinary') THEN CREATE ROLE ordinary; "
		       "END IF; END $$;"
		       "GRANT ALL ON effect TO ordinary");
}

static const char *as_ordinary(const char *sql)
{
	static char text[512];

	snprintf(text, sizeof(text),
		 "DO $$ BEGIN SET LOCAL ROLE ordinary; %s; END $$", sql);
	return text;
}

static void expect_held(size_t at, int i)
{
	ck_ending(mail.items[at], ONCE_PAUSED_ENDING);
	ck_assert_int_eq(mail.items[at].cause, ONCE_CAUSE_ENVIRONMENT);
	ck_assert_str_eq(mail.items[at].sqlstate, missing[i][1]);
	ck_assert_msg(strstr(mail.items[at].reason, missing[i][2]) != NULL,
		      "%s", mail.items[at].reason);
}

START_TEST(what_the_environment_lacks_holds_the_partition_and_costs_nothing)
{
	become_ordinary();
	statement = strcmp(missing[_i][1], "42501") == 0
			    ? as_ordinary("PERFORM FROM pg_authid")
			    : missing[_i][0];
	trial_poison = send_it;
	put_on_strands(6);
	mail_set_value(&mail, 2, "poison");
	mail.items[2].attempt = 3; /* the last one */
	trial_run(&trial, &mail, ONCE_OK);
	expect_held(2, _i);
	ck_ending(mail.items[4], ONCE_HELD_ENDING);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 4);
	ck_assert_int_eq(effects(), 4);
	ck_assert_int_eq(strands[0].next_offset, 1);
	ck_assert_uint_eq(strands[0].attempts, 0);
	ck_assert_int_eq(strands[1].next_offset, 6);
}
END_TEST

START_TEST(a_table_that_is_missing_for_collected_rows_holds_only_who_needs_it)
{
	statement = "nowhere (id)";
	trial_poison = insert_it;
	put_on_strands(20);
	mail_set_value(&mail, 6, "poison");
	mail_set_value(&mail, 8, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	expect_held(6, 0);
	ck_assert_int_eq(strands[0].next_offset, 5);
	ck_assert_int_eq(strands[1].next_offset, 20);
	ck_assert_int_eq(effects(), 13);
}
END_TEST

/* What the handler says that only passes on that something failed. */
START_TEST(a_retry_after_such_an_error_is_no_attempt_and_a_reject_is_final)
{
	statement = missing[0][0];
	trial_poison = wait_for_it;
	mail_init(&mail, 3);
	mail_set_value(&mail, 1, "poison");
	verdict = ONCE_RETRY;
	trial_run(&trial, &mail, ONCE_OK);
	expect_held(1, 0);
	verdict = ONCE_REJECT;
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[1], ONCE_DEAD_ENDING);
	ck_assert_int_eq(mail.items[1].cause, ONCE_CAUSE_REJECTED);
	ck_assert_str_eq(mail.items[1].sqlstate, "42P01");
}
END_TEST

START_TEST(a_partition_goes_on_when_what_was_missing_is_there)
{
	statement = missing[0][0];
	trial_poison = send_it;
	put_on_strands(4);
	mail_set_value(&mail, 0, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	expect_held(0, 0);
	pg_fixture_run(&trial.pg, "CREATE TABLE nowhere (n int)");
	mail.items[0].ending = ONCE_PENDING_ENDING;
	mail.items[2].ending = ONCE_PENDING_ENDING;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 4);
	ck_assert_int_eq(effects(), 4);
}
END_TEST

/* Put off to the COMMIT, where it is nobody's statement. */
static void defer(const char *body)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS "
		 "$$BEGIN IF NEW.value = 'late' THEN %s; END IF; "
		 "RETURN NULL; END$$;"
		 "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON effect "
		 "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
		 "EXECUTE FUNCTION late()",
		 body);
	pg_fixture_run(&trial.pg, sql);
}

START_TEST(what_is_missing_at_the_commit_holds_only_who_needs_it)
{
	defer("PERFORM FROM nowhere");
	put_on_strands(12);
	mail_set_value(&mail, 4, "late");
	trial_run(&trial, &mail, ONCE_OK);
	expect_held(4, 0);
	ck_assert_int_eq(strands[0].next_offset, 3);
	ck_assert_int_eq(strands[1].next_offset, 12);
	ck_assert_int_eq(effects(), 8);
}
END_TEST

/* ---- somebody's lock ---- */

static void limit_locks(void)
{
	pg_fixture_run(&trial.pg,
		       "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "
		       "lock_timeout = ''300ms''', current_database()); "
		       "END $$;"
		       "CREATE TABLE other (id text);");
	once_session_destroy(trial.session);
	trial.session = trial_open_session(&trial, NULL);
	pg_fixture_run(&trial.pg,
		       "BEGIN; LOCK TABLE other IN ACCESS EXCLUSIVE MODE");
}

START_TEST(a_table_that_somebody_has_locked_is_waited_for_and_others_go_on)
{
	static const char *const statements[] = {
		"INSERT INTO other VALUES ('x')", "other (id)",
		"LOCK TABLE other IN SHARE MODE NOWAIT"
	};

	limit_locks();
	statement = statements[_i];
	trial_poison = _i == 1 ? insert_it : send_it;
	put_on_strands(12);
	mail_set_value(&mail, 4, "poison");
	mail_set_value(&mail, 6, "poison");
	mail.items[4].attempt = 3;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[4], ONCE_PAUSED_ENDING);
	ck_assert_int_eq(mail.items[4].cause, ONCE_CAUSE_LOCKED);
	ck_assert_str_eq(mail.items[4].sqlstate, "55P03");
	ck_assert_int_eq(strands[0].next_offset, 3);
	ck_assert_uint_eq(strands[0].attempts, 0);
	ck_assert_int_eq(strands[1].next_offset, 12);
	ck_assert_int_eq(effects(), 8);
	ck_assert_uint_le(trial.stats.rolled_back, 2);
	pg_fixture_run(&trial.pg, "ROLLBACK");
	for (size_t i = 4; i < 12; i += 2)
		mail.items[i].ending = ONCE_PENDING_ENDING;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(effects(), 12);
}
END_TEST

START_TEST(a_lock_on_our_own_tables_is_nobodys_attempt)
{
	limit_locks();
	pg_fixture_run(&trial.pg, "LOCK TABLE once.consume_log IN "
				  "EXCLUSIVE MODE");
	mail_init(&mail, 2);
	trial_run(&trial, &mail, ONCE_TRANSIENT);
	ck_assert_str_eq(trial.err.sqlstate, "55P03");
	ck_assert_uint_le(trial.stats.rolled_back, 1);
	pg_fixture_run(&trial.pg, "ROLLBACK");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(effects(), 2);
}
END_TEST

/* ---- what never gets better ---- */

START_TEST(what_never_gets_better_is_dead_at_once)
{
	static const char *const hopeless[][2] = {
		{ "SELECT 'abc'::numeric", "22P02" },
		{ "SELECT 1/0", "22012" },
		{ "INSERT INTO strict (id) VALUES (NULL)", "23502" },
		{ "INSERT INTO strict (id) VALUES (1)", "23505" },
		{ "INSERT INTO strict (id) VALUES (-1)", "23514" },
	};

	pg_fixture_run(&trial.pg, "CREATE TABLE strict (id int NOT NULL UNIQUE "
				  "CHECK (id > 0)); "
				  "INSERT INTO strict VALUES (1)");
	statement = hopeless[_i][0];
	trial_poison = send_it;
	mail_init(&mail, 3);
	mail_set_value(&mail, 1, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[1], ONCE_DEAD_ENDING);
	ck_assert_int_eq(mail.items[1].cause, ONCE_CAUSE_PERMANENT);
	ck_assert_str_eq(mail.items[1].sqlstate, hopeless[_i][1]);
	ck_assert_int_eq(effects(), 2);
}
END_TEST

START_TEST(a_parent_that_is_missing_may_still_come)
{
	pg_fixture_run(&trial.pg,
		       "CREATE TABLE parent (id int PRIMARY KEY); "
		       "CREATE TABLE child (id int REFERENCES parent)");
	statement = "INSERT INTO child VALUES (1)";
	trial_poison = send_it;
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_RETRY_ENDING);
	ck_assert_str_eq(mail.items[0].sqlstate, "23503");
}
END_TEST

START_TEST(a_list_of_what_never_gets_better_has_sqlstates_only)
{
	static const char *const wrong[] = { "2350", "22P0x", "" };
	struct once_route_options options = trial_route();
	struct once_route *route = NULL;

	mail_init(&mail, 0);
	options.never = &wrong[_i];
	options.never_count = 1;
	ck_assert_int_eq(once_route_create(&options, &route, &trial.err),
			 ONCE_INVALID);
	ck_assert_ptr_nonnull(strstr(trial.err.text, "is not an SQLSTATE"));
}
END_TEST

/* ---- the brake ---- */

static enum once_verdict turn_down(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	(void)self;
	(void)msg;
	once_because(call, "not today");
	return ONCE_REJECT;
}

static int64_t parked(void)
{
	return trial_count(&trial, "SELECT count(*) FROM once.parked");
}

static void open_with_brake(unsigned halt_after_dead)
{
	struct once_route_options options = trial_route();

	once_session_destroy(trial.session);
	once_route_destroy(trial.routes[0]);
	options.halt_after_dead = halt_after_dead;
	ck_assert_int_eq(
		once_route_create(&options, &trial.routes[0], &trial.err),
		ONCE_OK);
	trial.session = trial_open_session(&trial, NULL);
}

/* Rejected, without a key, and with another payload under a known key. */
START_TEST(so_many_dead_in_a_row_halt_instead_of_parking_a_topic)
{
	open_with_brake(10);
	trial_poison = turn_down;
	put_on_strands(60);
	for (size_t i = 1; i < 60; i++) {
		if (_i == 0)
			mail_set_value(&mail, i, "poison");
		else if (_i == 1)
			mail_set_id(&mail, i, "");
		else
			mail_set_biz(&mail, i, "b0");
		if (_i == 2)
			mail_set_value(&mail, i, "other");
	}
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(parked(), 10);
	ck_assert_int_eq(effects(), 1);
	ck_ending(mail.items[11], ONCE_HALTED_ENDING);
	ck_ending(mail.items[12], ONCE_HALTED_ENDING);
	ck_assert_int_eq(mail.items[12].cause, ONCE_CAUSE_DEAD_ROW);
	ck_assert_ptr_nonnull(strstr(mail.items[12].reason, "halt_after_dead"));
	ck_assert_uint_eq(mail_count(&mail, ONCE_HELD_ENDING), 47);
	ck_assert_int_eq(strands[0].next_offset, 11);
	ck_assert_int_eq(strands[1].next_offset, 10);
}
END_TEST

START_TEST(a_handled_one_in_between_begins_the_row_anew)
{
	open_with_brake(10);
	trial_poison = turn_down;
	put_on_strands(60);
	for (size_t i = 0; i < 60; i++)
		if (i % 9 != 0)
			mail_set_value(&mail, i, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_eq(effects(), 7);
	ck_assert_int_eq(parked(), 53);
}
END_TEST

/* The first of the row are committed by another session. */
START_TEST(the_row_is_counted_over_all_sessions)
{
	struct once_session *other;

	open_with_brake(10);
	other = trial_open_session(&trial, NULL);
	trial_poison = turn_down;
	put_on_strands(14);
	for (size_t i = 0; i < 14; i++)
		mail_set_value(&mail, i, "poison");
	mail.count = 8;
	trial_run(&trial, &mail, ONCE_OK);
	mail.count = 14;
	trial_run_by(&trial, other, &mail, ONCE_OK);
	once_session_destroy(other);
	ck_assert_int_eq(parked(), 10);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HALTED_ENDING), 2);
}
END_TEST

/* ---- what looks like the server's fault ---- */

/* As a lane gives what isn't ended once more. */
static void give_again(void)
{
	bool is_first[2] = { true, true };

	for (size_t i = 0; i < mail.count; i++) {
		struct once_item *item = &mail.items[i];

		if (once_ending_is_final(item->ending))
			continue;
		item->ending = ONCE_PENDING_ENDING;
		item->attempt =
			is_first[i % 2] ? strands[i % 2].attempts + 1 : 1;
		is_first[i % 2] = false;
	}
}

/* The number of runs after which `what` gives that number. */
static unsigned run_until(unsigned most, const char *what, int64_t number)
{
	for (unsigned runs = 1; runs <= most; runs++) {
		enum once_status status =
			once_session_run(trial.session, mail.items, mail.count,
					 &trial.stats, &trial.err);

		ck_assert_msg(status == ONCE_OK || status == ONCE_TRANSIENT,
			      "%s", trial.err.text);
		give_again();
		if (trial_count(&trial, what) == number)
			return runs;
	}
	return most + 1;
}

static const char attempts_sql[] =
	"SELECT attempts FROM once.position WHERE partition = 0";
static const char dead_sql[] =
	"SELECT count(*) FROM once.parked WHERE state = 'dead' "
	"AND attempts = 3";

static const char *const outages[][2] = {
	{ "53400", "" },
	{ "53200", "" },
	{ "25006", "" },
	{ "57P03", "" },
	{ "08006", "" },
	{ "58030", "" },
	{ "XX001", "" },
	{ "26000", "" },
	{ "57P01", "SELECT pg_terminate_backend(pg_backend_pid())" },
};

static const char *raise(const char *sqlstate, const char *sql)
{
	static char text[128];

	if (sql[0] != '\0')
		return sql;
	snprintf(text, sizeof(text),
		 "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '%s'; END $$", sqlstate);
	return text;
}

START_TEST(who_alone_fails_like_an_outage_while_others_commit_pays_for_it)
{
	statement = raise(outages[_i][0], outages[_i][1]);
	trial_poison = send_it;
	put_on_strands(10);
	mail_set_value(&mail, 4, "poison");
	ck_assert_uint_le(run_until(2, "SELECT count(*) FROM effect", 7), 2);
	ck_assert_int_eq(strands[1].next_offset, 10);
	ck_assert_uint_eq(strands[0].attempts, 0);
	ck_assert_uint_le(run_until(3, attempts_sql, 1), 3);
	ck_assert_uint_le(run_until(24, dead_sql, 1), 24);
	ck_assert_uint_le(run_until(2, "SELECT count(*) FROM effect", 9), 2);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM once.parked "
					     "WHERE cause = 'attempts'"),
			 1);
}
END_TEST

START_TEST(who_fails_like_an_outage_at_the_commit_pays_for_it)
{
	defer("RAISE EXCEPTION SQLSTATE '53200'");
	put_on_strands(12);
	mail_set_value(&mail, 4, "late");
	ck_assert_uint_le(run_until(20, attempts_sql, 1), 20);
	ck_assert_int_eq(strands[0].next_offset, 3);
	ck_assert_int_eq(strands[1].next_offset, 12);
}
END_TEST

START_TEST(two_that_fail_like_an_outage_do_not_hide_behind_each_other)
{
	statement = outages[8][1];
	trial_poison = send_it;
	put_on_strands(10);
	mail_set_value(&mail, 4, "poison");
	mail_set_value(&mail, 5, "poison");
	ck_assert_uint_le(run_until(80,
				    "SELECT count(*) FROM once.parked WHERE "
				    "state = 'dead'",
				    2),
			  80);
	ck_assert_uint_le(run_until(2, "SELECT count(*) FROM effect", 8), 2);
}
END_TEST

START_TEST(who_is_alone_is_asked_five_times)
{
	statement = raise("53200", "");
	trial_poison = send_it;
	put_on_strands(1);
	mail_set_value(&mail, 0, "poison");
	ck_assert_uint_eq(run_until(5, attempts_sql, 1), 6);
	ck_assert_uint_le(run_until(2, attempts_sql, 1), 2);
}
END_TEST

/* For all of both strands: it is the server. */
START_TEST(an_outage_for_all_is_nobodys_attempt)
{
	static const char *const all[] = { "53200", "53100", "57P01" };

	statement = raise(all[_i], _i == 2 ? outages[8][1] : "");
	trial_poison = send_it;
	put_on_strands(6);
	for (size_t i = 0; i < 6; i++)
		mail_set_value(&mail, i, "poison");
	(void)run_until(_i == 1 ? 40 : 8, dead_sql, 1);
	ck_assert_uint_eq(strands[0].attempts, 0);
	ck_assert_uint_eq(strands[1].attempts, 0);
	trial_poison = NULL;
	ck_assert_uint_le(run_until(3, "SELECT count(*) FROM effect", 6), 3);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 6);
}
END_TEST

/* The server's process dies without a word, and nobody knows on which. */
static enum once_verdict die_unseen(void *self, const struct once_message *msg,
				    struct once_call *call)
{
	struct pg_conn *conn = once_pgconn(call);

	(void)self;
	(void)msg;
	shutdown(PQsocket(conn), SHUT_RDWR);
	return ONCE_DONE;
}

START_TEST(a_session_that_ends_without_a_word_is_its_messages_in_the_end)
{
	trial_poison = die_unseen;
	put_on_strands(40);
	mail_set_value(&mail, 20, "poison");
	ck_assert_uint_le(run_until(40, attempts_sql, 1), 40);
	ck_assert_int_eq(strands[1].next_offset, 40);
	ck_assert_uint_le(run_until(24, dead_sql, 1), 24);
	ck_assert_uint_le(run_until(2, "SELECT count(*) FROM effect", 39), 2);
}
END_TEST

START_TEST(a_parked_one_that_ends_its_session_is_dead_in_the_end)
{
	struct once_item item;
	int64_t due_ms;
	unsigned runs = 0;

	statement = outages[8][1];
	trial_poison = wait_for_it;
	verdict = ONCE_REJECT;
	statement = "SELECT 1/0";
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	pg_fixture_run(&trial.pg, "UPDATE once.parked SET state = 'waiting', "
				  "retry_at = now(), attempts = 0");
	statement = outages[8][1];
	trial_poison = send_it;
	while (trial_count(&trial, dead_sql) == 0 && runs++ < 20)
		ck_assert_int_eq(once_session_run_waiting(trial.session, &item,
							  &trial.stats, &due_ms,
							  &trial.err),
				 ONCE_OK);
	ck_assert_uint_le(runs, 12);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM once.parked "
					     "WHERE cause = 'attempts'"),
			 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("blame");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(
		tests,
		what_the_environment_lacks_holds_the_partition_and_costs_nothing,
		0, 5);
	tcase_add_test(
		tests,
		a_table_that_is_missing_for_collected_rows_holds_only_who_needs_it);
	tcase_add_test(
		tests,
		a_retry_after_such_an_error_is_no_attempt_and_a_reject_is_final);
	tcase_add_test(tests,
		       a_partition_goes_on_when_what_was_missing_is_there);
	tcase_add_test(tests,
		       what_is_missing_at_the_commit_holds_only_who_needs_it);
	tcase_add_loop_test(
		tests,
		a_table_that_somebody_has_locked_is_waited_for_and_others_go_on,
		0, 3);
	tcase_add_test(tests, a_lock_on_our_own_tables_is_nobodys_attempt);
	tcase_add_loop_test(tests, what_never_gets_better_is_dead_at_once, 0,
			    5);
	tcase_add_test(tests, a_parent_that_is_missing_may_still_come);
	tcase_add_loop_test(tests,
			    a_list_of_what_never_gets_better_has_sqlstates_only,
			    0, 3);
	tcase_add_loop_test(
		tests, so_many_dead_in_a_row_halt_instead_of_parking_a_topic, 0,
		3);
	tcase_add_test(tests, a_handled_one_in_between_begins_the_row_anew);
	tcase_add_test(tests, the_row_is_counted_over_all_sessions);
	tcase_add_loop_test(
		tests,
		who_alone_fails_like_an_outage_while_others_commit_pays_for_it,
		0, 9);
	tcase_add_test(tests,
		       who_fails_like_an_outage_at_the_commit_pays_for_it);
	tcase_add_test(
		tests,
		two_that_fail_like_an_outage_do_not_hide_behind_each_other);
	tcase_add_test(tests, who_is_alone_is_asked_five_times);
	tcase_add_loop_test(tests, an_outage_for_all_is_nobodys_attempt, 0, 3);
	tcase_add_test(
		tests,
		a_session_that_ends_without_a_word_is_its_messages_in_the_end);
	tcase_add_test(tests,
		       a_parked_one_that_ends_its_session_is_dead_in_the_end);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
