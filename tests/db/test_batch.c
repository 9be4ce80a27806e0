/*
 * test_batch.c - the promise: one effect for each msg_id and each biz_id, in
 * few transactions, silently.
 */
#include "clock.h"
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SLOW_NS = 200000000
};

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

static int64_t effects(void)
{
	return trial_count(&trial, "SELECT count(*) FROM effect");
}

START_TEST(the_same_message_twice_takes_effect_once) /* C24 */
{
	mail_init(&mail, 1);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_DUPLICATE_ENDING);
	ck_assert_int_eq(mail.items[0].key_kind, ONCE_KEY_MSG_ID);
	ck_assert_int_eq(mail.items[0].stage, ONCE_STAGE_DATABASE);
	ck_assert_int_eq(effects(), 1);
	ck_assert_uint_eq(trial_calls, 1);
}
END_TEST

START_TEST(another_message_for_the_same_operation_is_a_duplicate) /* C27 */
{
	mail_init(&mail, 1);
	trial_run(&trial, &mail, ONCE_OK);
	mail_again(&mail);
	mail_set_id(&mail, 0, "sent again");
	mail.items[0].record.offset = 77;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_DUPLICATE_ENDING);
	ck_assert_int_eq(mail.items[0].key_kind, ONCE_KEY_BIZ_ID);
	ck_assert_int_eq(effects(), 1);
}
END_TEST

/* m0 was another operation's, so nothing of b1 has been done. */
START_TEST(what_repeats_a_conflict_by_its_other_key_is_new)
{
	mail_init(&mail, 1);
	trial_run(&trial, &mail, ONCE_OK);
	mail_fini(&mail);
	mail_init(&mail, 3);
	mail_set_biz(&mail, 0, "b1");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_CONFLICT_ENDING);
	ck_ending(mail.items[1], ONCE_HANDLED_ENDING);
	ck_ending(mail.items[2], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(effects(), 3);
}
END_TEST

/* m1 came for b0, which was done before: that says nothing of m1. */
START_TEST(what_repeats_a_duplicate_by_its_other_key_is_new)
{
	mail_init(&mail, 1);
	trial_run(&trial, &mail, ONCE_OK);
	mail_fini(&mail);
	mail_init(&mail, 2);
	mail_set_id(&mail, 0, "m1");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_DUPLICATE_ENDING);
	ck_ending(mail.items[1], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(effects(), 2);
}
END_TEST

START_TEST(a_batch_with_repetitions_is_one_transaction) /* C37 */
{
	char id[32];

	mail_init(&mail, 500);
	for (size_t i = 250; i < 500; i++) {
		snprintf(id, sizeof(id), "%c%zu", i % 2 ? 'm' : 'b', i - 250);
		if (i % 2)
			mail_set_id(&mail, i, id);
		else
			mail_set_biz(&mail, i, id);
	}
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(trial.stats.committed, 1);
	ck_assert_uint_eq(trial.stats.rolled_back, 0);
	ck_assert_int_eq(effects(), 250);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 250);
	/* The odd ones share a msg_id, but are for another operation. */
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 125);
	ck_assert_uint_eq(mail_count(&mail, ONCE_CONFLICT_ENDING), 125);
}
END_TEST

START_TEST(a_repetition_in_the_batch_is_told_with_its_key_and_stage)
{
	mail_init(&mail, 3);
	mail_set_id(&mail, 1, "m0");
	mail_set_biz(&mail, 1, "b0");
	mail_set_biz(&mail, 2, "b0");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[1], ONCE_DUPLICATE_ENDING);
	ck_assert_int_eq(mail.items[1].key_kind, ONCE_KEY_MSG_ID);
	ck_assert_int_eq(mail.items[1].stage, ONCE_STAGE_BATCH);
	ck_ending(mail.items[2], ONCE_DUPLICATE_ENDING);
	ck_assert_int_eq(mail.items[2].key_kind, ONCE_KEY_BIZ_ID);
}
END_TEST

/* Lines of our session's process in the server's log. */
static unsigned lines_logged(int64_t backend)
{
	const char *path = servers_find_log(SERVER_PG);
	char *log = path == NULL ? NULL : read_file(path);
	char wanted[32];
	unsigned lines = 0;

	snprintf(wanted, sizeof(wanted), "[%lld]", (long long)backend);
	for (char *at = log; at != NULL && (at = strstr(at, wanted)); at++)
		lines++;
	free(log);
	return lines;
}

START_TEST(a_thousand_duplicates_leave_no_line_in_the_log) /* C34, C41 */
{
	mail_init(&mail, 1000);
	trial_run(&trial, &mail, ONCE_OK);
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 1000);
	ck_assert_uint_eq(lines_logged(trial_backend(&trial)), 0);
}
END_TEST

START_TEST(duplicates_burn_no_number_of_a_sequence) /* C39 */
{
	static const char sequences[] =
		"SELECT coalesce(sum(last_value), 0) FROM pg_sequences "
		"WHERE schemaname = 'once'";
	int64_t before;

	mail_init(&mail, 1000);
	trial_run(&trial, &mail, ONCE_OK);
	before = trial_count(&trial, sequences);
	for (int i = 0; i < 20; i++) {
		mail_again(&mail);
		trial_run(&trial, &mail, ONCE_OK);
	}
	ck_assert_int_eq(trial_count(&trial, sequences), before);
	ck_assert_int_eq(effects(), 1000);
}
END_TEST

START_TEST(no_identity_of_the_schema_is_narrower_than_bigint) /* C39 */
{
	mail_init(&mail, 1);
	ck_assert_int_eq(
		trial_count(&trial,
			    "SELECT count(*) FROM information_schema.columns "
			    "WHERE table_schema = 'once' AND data_type <> "
			    "'bigint' AND (is_identity = 'YES' OR "
			    "column_default LIKE 'nextval%')"),
		0);
}
END_TEST

START_TEST(another_payload_under_a_known_operation_is_a_conflict) /* C29 */
{
	mail_init(&mail, 1);
	trial_run(&trial, &mail, ONCE_OK);
	mail_again(&mail);
	mail_set_id(&mail, 0, "other");
	mail_set_value(&mail, 0, "other");
	mail.items[0].record.offset = 5;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_CONFLICT_ENDING);
	ck_assert_int_eq(mail.items[0].cause, ONCE_CAUSE_CONFLICT);
	ck_assert_int_eq(effects(), 1);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM once.parked WHERE "
				     "message_offset = 5 AND state = 'dead' "
				     "AND cause = 'conflict' AND value = "
				     "'other' AND fingerprint <> "
				     "original_fingerprint"),
			 1);
}
END_TEST

START_TEST(the_same_msg_id_for_another_operation_is_a_conflict)
{
	mail_init(&mail, 1);
	trial_run(&trial, &mail, ONCE_OK);
	mail_again(&mail);
	mail_set_biz(&mail, 0, "another");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_CONFLICT_ENDING);
	ck_assert_int_eq(mail.items[0].key_kind, ONCE_KEY_MSG_ID);
}
END_TEST

static void rename_all(void)
{
	for (size_t i = 0; i < mail.count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "new %zu", i);
		mail_set_id(&mail, i, name);
		mail_set_biz(&mail, i, name);
	}
}

/* A look at many is one transaction; if they are new after all, those are as
 * small as ever. */
START_TEST(of_known_ones_a_transaction_may_hold_many_and_of_new_ones_not)
{
	struct once_session *session;

	trial.max_messages = 5;
	session = trial_open_session(&trial, NULL);
	mail_init(&mail, 20);
	trial_run_by(&trial, session, &mail, ONCE_OK);
	ck_assert_uint_eq(trial.stats.committed, 4);
	mail_again(&mail);
	trial_run_by(&trial, session, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 20);
	mail_again(&mail);
	trial_run_by(&trial, session, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 20);
	ck_assert_uint_eq(trial.stats.committed, 1);
	mail_again(&mail);
	for (size_t at = 1; at < mail.count; at++) {
		mail_set_id(&mail, at, "m0");
		mail_set_biz(&mail, at, "b0");
	}
	trial_run_by(&trial, session, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 20);
	ck_assert_uint_eq(trial.stats.rolled_back, 0);
	mail_again(&mail);
	rename_all();
	trial_run_by(&trial, session, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 20);
	ck_assert_uint_ge(trial.stats.committed, 4);
	ck_assert_int_eq(effects(), 40);
	once_session_destroy(session);
}
END_TEST

/* As many that the session stops to look for known ones half way. */
START_TEST(however_many_new_ones_come_behind_known_ones_transactions_are_small)
{
	enum {
		MOST = 2,
		COUNT = 64
	};
	struct once_session *session;

	trial.max_messages = MOST;
	session = trial_open_session(&trial, NULL);
	mail_init(&mail, COUNT);
	trial_run_by(&trial, session, &mail, ONCE_OK);
	mail_again(&mail);
	trial_run_by(&trial, session, &mail, ONCE_OK);
	rename_all();
	mail_again(&mail);
	trial_run_by(&trial, session, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), COUNT);
	ck_assert_int_le(trial_count(&trial,
				     "SELECT max(n) FROM (SELECT count(*) AS n "
				     "FROM effect GROUP BY xmin::text) AS t"),
			 MOST);
	once_session_destroy(session);
}
END_TEST

static enum once_verdict ask_again(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_RETRY;
}

/* Many may be in a transaction, for they are known; then there is nothing to do
 * with them, for one before them waits. */
START_TEST(those_that_are_held_part_no_batch)
{
	struct once_strand strand = { "g", "t", 0, 0, 0, 0 };
	struct once_session *session;
	const int64_t zero = 0;

	trial.max_messages = 2;
	trial_poison = ask_again;
	session = trial_open_session(&trial, NULL);
	ck_assert_int_eq(once_session_create_positions(session, "g", "t", &zero,
						       1, &trial.err),
			 ONCE_OK);
	mail_init(&mail, 32);
	trial_run_by(&trial, session, &mail, ONCE_OK);
	mail_again(&mail);
	trial_run_by(&trial, session, &mail, ONCE_OK);
	mail_again(&mail);
	for (size_t i = 0; i < mail.count; i++)
		mail_set_strand(&mail, i, &strand);
	mail_set_id(&mail, 0, "new");
	mail_set_biz(&mail, 0, "new");
	mail_set_value(&mail, 0, "poison");
	trial_run_by(&trial, session, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_RETRY_ENDING);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HELD_ENDING), 31);
	ck_assert_uint_eq(trial.stats.rolled_back, 1);
	once_session_destroy(session);
}
END_TEST

/* Each operation was sent by two messages, and all of it comes again. */
START_TEST(known_ones_that_repeat_each_other_are_one_transaction)
{
	mail_init(&mail, 40);
	for (size_t i = 0; i < 40; i += 2) {
		char biz[24];

		snprintf(biz, sizeof(biz), "b%zu", i);
		mail_set_biz(&mail, i + 1, biz);
	}
	trial_run(&trial, &mail, ONCE_OK);
	for (int i = 0; i < 2; i++) { /* the second one is sifted */
		mail_again(&mail);
		trial_run(&trial, &mail, ONCE_OK);
		ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 40);
		ck_assert_int_eq(mail.items[0].key_kind, ONCE_KEY_MSG_ID);
		ck_assert_int_eq(mail.items[1].key_kind, ONCE_KEY_BIZ_ID);
		ck_assert_uint_eq(trial.stats.rolled_back, 0);
	}
}
END_TEST

/* The batch before it, all of it known, makes the session look before it
 * claims. */
START_TEST(among_known_ones_each_is_told_as_ever)
{
	mail_init(&mail, 4);
	trial_run(&trial, &mail, ONCE_OK);
	mail_again(&mail);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 4);
	mail_again(&mail);
	mail_set_id(&mail, 1, "sent again");
	mail_set_value(&mail, 2, "other");
	mail_set_id(&mail, 3, "new");
	mail_set_biz(&mail, 3, "new");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_DUPLICATE_ENDING);
	ck_assert_int_eq(mail.items[0].key_kind, ONCE_KEY_MSG_ID);
	ck_ending(mail.items[1], ONCE_DUPLICATE_ENDING);
	ck_assert_int_eq(mail.items[1].key_kind, ONCE_KEY_BIZ_ID);
	ck_ending(mail.items[2], ONCE_CONFLICT_ENDING);
	ck_ending(mail.items[3], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(effects(), 5);
}
END_TEST

START_TEST(null_and_empty_values_are_two_things) /* C62 */
{
	mail_init(&mail, 2);
	mail_set_value(&mail, 0, NULL);
	mail_set_value(&mail, 1, "");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 2);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM effect WHERE "
				     "msg_id = 'm0' AND value IS NULL"),
			 1);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM effect WHERE "
				     "msg_id = 'm1' AND value = ''"),
			 1);
	/* and two payloads: the one isn't a re-send of the other */
	mail_again(&mail);
	mail_set_value(&mail, 0, "");
	mail_set_value(&mail, 1, NULL);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_CONFLICT_ENDING), 2);
}
END_TEST

START_TEST(two_scopes_do_not_know_each_other)
{
	struct once_route_options options[2] = { trial_route(), trial_route() };

	options[1].scope = "group/other";
	mail_init(&mail, 2);
	trial_fini(&trial);
	trial_init(&trial, options, 2);
	mail_set_id(&mail, 1, "m0");
	mail_set_biz(&mail, 1, "b0");
	mail.items[1].route = 1;
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 2);
	ck_assert_uint_eq(trial.stats.committed, 1);
}
END_TEST

START_TEST(a_json_key_on_a_tombstone_is_a_bad_key) /* C62 */
{
	struct once_route_options options[2] = { trial_route(), trial_route() };

	options[0].biz_id = "{json:/no}";
	options[1].biz_id = "{json:/no}";
	options[1].on_bad_key = ONCE_BAD_KEY_HALT;
	mail_init(&mail, 2);
	trial_fini(&trial);
	trial_init(&trial, options, 2);
	mail_set_value(&mail, 0, NULL);
	mail_set_value(&mail, 1, NULL);
	mail.items[1].route = 1;
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_DEAD_ENDING);
	ck_assert_int_eq(mail.items[0].cause, ONCE_CAUSE_BAD_KEY);
	ck_ending(mail.items[1], ONCE_HALTED_ENDING);
	ck_assert_uint_eq(trial_calls, 0);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM once.parked WHERE "
				     "cause = 'bad_key' AND value IS NULL AND "
				     "msg_id = 'm0'"),
			 1);
}
END_TEST

START_TEST(a_conflict_that_is_to_be_skipped_is_not_parked)
{
	struct once_route_options options = trial_route();

	options.on_conflict = ONCE_CONFLICT_SKIP;
	mail_init(&mail, 2);
	trial_fini(&trial);
	trial_init(&trial, &options, 1);
	mail_set_biz(&mail, 1, "b0");
	mail_set_value(&mail, 1, "other");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[1], ONCE_CONFLICT_ENDING);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.parked"), 0);
}
END_TEST

static enum once_verdict dawdle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	static const struct timespec a_while = { 0, SLOW_NS };

	(void)self;
	(void)msg;
	(void)call;
	nanosleep(&a_while, NULL);
	return ONCE_DONE;
}

static void make_slow(const char *event, const char *table)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "CREATE OR REPLACE FUNCTION dawdle() RETURNS trigger "
		 "LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(%f); "
		 "RETURN NULL; END $$; "
		 "CREATE %s AFTER INSERT ON %s %s FOR EACH ROW "
		 "EXECUTE FUNCTION dawdle()",
		 SLOW_NS / 1e9, event, table,
		 strstr(event, "CONSTRAINT") == NULL
			 ? ""
			 : "DEFERRABLE INITIALLY DEFERRED");
	pg_fixture_run(&trial.pg, sql);
}

static int64_t sum_of_stages(const struct once_run_stats *stats)
{
	return stats->keys_ns + stats->prefilter_ns + stats->claim_ns +
	       stats->handler_ns + stats->commit_ns;
}

/* One message; its stages took no longer than all of it. */
static void time_one(void)
{
	int64_t began_ns;

	mail_fini(&mail);
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	pg_fixture_run(&trial.pg, "TRUNCATE once.consume_log");
	began_ns = clock_ns();
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_int_le(sum_of_stages(&trial.stats), clock_ns() - began_ns);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
}

static void check_that_it_is_slow(const int64_t *stage_ns)
{
	time_one();
	ck_assert_int_ge(*stage_ns, SLOW_NS);
}

START_TEST(time_is_counted_for_the_stage_that_it_was_spent_in)
{
	const struct once_run_stats *stats = &trial.stats;

	mail_init(&mail, 0);
	time_one();
	ck_assert_int_gt(stats->keys_ns, 0);
	ck_assert_int_gt(stats->claim_ns, 0);
	ck_assert_int_gt(stats->handler_ns, 0);
	ck_assert_int_gt(stats->commit_ns, 0);

	trial_poison = dawdle;
	check_that_it_is_slow(&stats->handler_ns);
	trial_poison = NULL;
	make_slow("TRIGGER slow", "effect");
	check_that_it_is_slow(&stats->handler_ns);
	pg_fixture_run(&trial.pg, "DROP TRIGGER slow ON effect");
	make_slow("CONSTRAINT TRIGGER slow", "effect");
	check_that_it_is_slow(&stats->commit_ns);
	pg_fixture_run(&trial.pg, "DROP TRIGGER slow ON effect");
	make_slow("TRIGGER slow", "once.consume_log");
	check_that_it_is_slow(&stats->claim_ns);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("batch");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, the_same_message_twice_takes_effect_once);
	tcase_add_test(tests,
		       another_message_for_the_same_operation_is_a_duplicate);
	tcase_add_test(tests, what_repeats_a_conflict_by_its_other_key_is_new);
	tcase_add_test(tests, what_repeats_a_duplicate_by_its_other_key_is_new);
	tcase_add_test(tests, a_batch_with_repetitions_is_one_transaction);
	tcase_add_test(
		tests,
		a_repetition_in_the_batch_is_told_with_its_key_and_stage);
	tcase_add_test(tests, a_thousand_duplicates_leave_no_line_in_the_log);
	tcase_add_test(tests, duplicates_burn_no_number_of_a_sequence);
	tcase_add_test(tests,
		       no_identity_of_the_schema_is_narrower_than_bigint);
	tcase_add_test(tests,
		       another_payload_under_a_known_operation_is_a_conflict);
	tcase_add_test(tests,
		       the_same_msg_id_for_another_operation_is_a_conflict);
	tcase_add_test(
		tests,
		of_known_ones_a_transaction_may_hold_many_and_of_new_ones_not);
	tcase_add_test(
		tests,
		however_many_new_ones_come_behind_known_ones_transactions_are_small);
	tcase_add_test(tests,
		       known_ones_that_repeat_each_other_are_one_transaction);
	tcase_add_test(tests, those_that_are_held_part_no_batch);
	tcase_add_test(tests, among_known_ones_each_is_told_as_ever);
	tcase_add_test(tests, null_and_empty_values_are_two_things);
	tcase_add_test(tests, two_scopes_do_not_know_each_other);
	tcase_add_test(tests, a_json_key_on_a_tombstone_is_a_bad_key);
	tcase_add_test(tests, a_conflict_that_is_to_be_skipped_is_not_parked);
	tcase_add_test(tests,
		       time_is_counted_for_the_stage_that_it_was_spent_in);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
