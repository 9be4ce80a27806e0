/*
 * test_prefilter.c - a prefilter saves work and decides nothing: whatever it
 * knows, or thinks it knows, a message ends as it would have without it.
 */
#include "marked.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct marked marked;
static struct trial *const trial = &marked.trial;

static void set_up(void)
{
	marked_init(&marked, NULL, NULL);
}

static void tear_down(void)
{
	marked_fini(&marked);
}

static int64_t count_effects(void)
{
	return trial_count(trial, "SELECT count(*) FROM effect");
}

/* ---- what it saves ---- */

START_TEST(a_duplicate_is_stopped_before_the_log_is_asked)
{
	ck_ending(*marked_give(&marked, "m1", "b1", "v"), ONCE_HANDLED_ENDING);
	pg_fixture_run(&trial->pg, "DELETE FROM once.consume_log");
	ck_stopped_by(marked_give(&marked, "m1", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_MSG_ID);
	ck_stopped_by(marked_give(&marked, "m2", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_BIZ_ID);
	ck_assert_int_eq(count_effects(), 1);
	ck_assert_int_eq(
		trial_count(trial, "SELECT next_offset FROM once.position"), 3);
}
END_TEST

START_TEST(a_route_without_operations_is_filtered_by_its_messages)
{
	struct once_route_options route = trial_route();

	marked_fini(&marked);
	route.biz_id = NULL;
	marked_init(&marked, &route, NULL);
	ck_ending(*marked_give(&marked, "m1", NULL, "v"), ONCE_HANDLED_ENDING);
	pg_fixture_run(&trial->pg, "DELETE FROM once.consume_log");
	ck_stopped_by(marked_give(&marked, "m1", NULL, "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_MSG_ID);
	ck_stopped_by(marked_give(&marked, "m1", NULL, "other"),
		      ONCE_CONFLICT_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_MSG_ID);
}
END_TEST

/* C29, in the prefilter */
START_TEST(another_payload_is_a_conflict_with_both_fingerprints)
{
	ck_ending(*marked_give(&marked, "m1", "b1", "v"), ONCE_HANDLED_ENDING);
	ck_stopped_by(marked_give(&marked, "m2", "b1", "other"),
		      ONCE_CONFLICT_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_BIZ_ID);
	ck_assert_int_eq(
		trial_count(trial,
			    "SELECT count(*) FROM once.parked AS p, "
			    "once.consume_log AS l WHERE p.cause = 'conflict' "
			    "AND p.original_fingerprint = l.fingerprint "
			    "AND p.fingerprint <> l.fingerprint"),
		1);
	ck_assert_int_eq(count_effects(), 1);
}
END_TEST

START_TEST(a_duplicate_that_the_database_found_is_known_from_then_on)
{
	marked_give(&marked, "m1", "b1", "v");
	pg_fixture_run(&trial->pg,
		       "INSERT INTO once.consume_log (consumer_id, msg_id, "
		       "biz_id, topic, partition, message_offset, fingerprint) "
		       "SELECT consumer_id, 'm9', 'b9', topic, partition, 99, "
		       "fingerprint FROM once.consume_log");
	ck_stopped_by(marked_give(&marked, "m2", "b9", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_DATABASE,
		      ONCE_KEY_BIZ_ID);
	ck_stopped_by(marked_give(&marked, "m2", "b9", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_BIZ_ID);
	ck_stopped_by(marked_give(&marked, "m9", "b9", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_MSG_ID);
}
END_TEST

START_TEST(a_restart_is_not_blind)
{
	marked_give(&marked, "m1", "b1", "v");
	marked_restart(&marked, NULL);
	pg_fixture_run(&trial->pg, "DELETE FROM once.consume_log");
	ck_stopped_by(marked_give(&marked, "m1", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_MSG_ID);
	ck_stopped_by(marked_give(&marked, "m2", "b1", "other"),
		      ONCE_CONFLICT_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_BIZ_ID);
}
END_TEST

/* ---- what it never does ---- */

/* The position comes past it in the end, so a mark of it would be believed. */
static void expect_it_dies_and_leaves_no_mark(void)
{
	for (int i = 0; i < 2; i++)
		ck_ending(*marked_give(&marked, "m1", "b1", "poison"),
			  ONCE_RETRY_ENDING);
	ck_ending(*marked_give(&marked, "m1", "b1", "poison"),
		  ONCE_DEAD_ENDING);
	trial_poison = NULL;
	ck_ending(*marked_give(&marked, "m2", "b1", "poison"),
		  ONCE_HANDLED_ENDING);
	ck_assert_int_eq(count_effects(), 1);
}

static enum once_verdict break_the_commit(void *self,
					  const struct once_message *msg,
					  struct once_call *call)
{
	(void)self;
	(void)msg;
	once_send(call, "INSERT INTO late VALUES (1), (1)", ONCE_NO_PARAMS);
	return ONCE_DONE;
}

/* C35 */
START_TEST(a_commit_that_fails_marks_nothing)
{
	pg_fixture_run(&trial->pg, "CREATE TABLE late (n integer UNIQUE "
				   "DEFERRABLE INITIALLY DEFERRED)");
	trial_poison = break_the_commit;
	expect_it_dies_and_leaves_no_mark();
}
END_TEST

static enum once_verdict say_retry(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_RETRY;
}

START_TEST(a_call_that_was_rolled_back_marks_nothing)
{
	trial_poison = say_retry;
	expect_it_dies_and_leaves_no_mark();
}
END_TEST

/* As a crash of the server does to transactions that no disk has seen, or a
 * failover to those that no standby has: they are gone, with their steps and
 * the sessions. */
static void lose_the_last_transactions(int64_t back_to)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "DELETE FROM once.consume_log; DELETE FROM effect; "
		 "UPDATE once.position SET next_offset = %lld, "
		 "steps = steps - 1; "
		 "SELECT pg_terminate_backend(%lld)",
		 (long long)back_to, (long long)trial_backend(trial));
	pg_fixture_run(&trial->pg, sql);
}

START_TEST(a_mark_of_a_transaction_that_the_database_lost_proves_nothing)
{
	const struct once_item *item;

	marked_give(&marked, "m1", "b1", "v");
	lose_the_last_transactions(0);
	(void)marked_give_expect(&marked, "m2", "b1", "v", ONCE_TRANSIENT);
	marked_take(&marked);
	item = marked_give(&marked, "m2", "b1", "v");
	ck_ending(*item, ONCE_HANDLED_ENDING);
	ck_assert_uint_eq(item->unproven, 1u << ONCE_STAGE_LOCAL);
	ck_assert_int_eq(count_effects(), 1);
}
END_TEST

static enum once_verdict say_reject(void *self, const struct once_message *msg,
				    struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_REJECT;
}

/* The position comes past the mark's offset a second time, but the message that
 * stands there ends otherwise. */
START_TEST(a_position_that_came_by_again_proves_nothing)
{
	marked_give(&marked, "m1", "b1", "poison");
	lose_the_last_transactions(0);
	(void)marked_give_expect(&marked, "m1", "b1", "v", ONCE_TRANSIENT);
	marked_take(&marked);
	trial_poison = say_reject;
	ck_ending(*marked_give(&marked, "m1", "b1", "poison"),
		  ONCE_DEAD_ENDING);
	ck_assert_int_eq(marked.strand.next_offset, 1);
	trial_poison = NULL;
	ck_ending(*marked_give(&marked, "m2", "b1", "poison"),
		  ONCE_HANDLED_ENDING);
	ck_assert_int_eq(count_effects(), 1);
}
END_TEST

START_TEST(a_seek_over_a_mark_does_not_prove_it)
{
	static const int64_t nine = 9;
	struct once_seek_options seek = {
		.group = "g",
		.topic = "t",
		.offsets = &nine,
		.count = 1,
		.person = "test",
		.subject = "t",
	};

	marked_give(&marked, "m1", "b1", "v");
	lose_the_last_transactions(0);
	seek.conninfo = trial->pg.conninfo;
	ck_assert_msg(once_seek(&seek, NULL, NULL, &trial->err) == ONCE_OK,
		      "%s", trial->err.text);
	(void)marked_give_expect(&marked, "m2", "b1", "v", ONCE_TRANSIENT);
	marked_take(&marked);
	ck_assert_int_eq(marked.strand.next_offset, 9);
	ck_ending(*marked_give(&marked, "m2", "b1", "v"), ONCE_HANDLED_ENDING);
}
END_TEST

/* Whatever SQL does it: as an operator writes it, and as one who copies rows
 * with all that stands in them. */
static const char *const by_hand[] = {
	"INSERT INTO once.position (group_name, topic, partition, next_offset) "
	"VALUES ('g', 't', 0, 9) ON CONFLICT (group_name, topic, partition) "
	"DO UPDATE SET next_offset = excluded.next_offset, attempts = 0, "
	"updated_at = now(), anchor_offset = NULL",
	"UPDATE once.position SET next_offset = 9",
	"UPDATE once.position SET next_offset = 4; "
	"UPDATE once.position SET next_offset = 9",
	"DELETE FROM once.position; "
	"INSERT INTO once.position (group_name, topic, partition, next_offset) "
	"VALUES ('g', 't', 0, 9)",
	"CREATE TABLE kept AS SELECT * FROM once.position; "
	"UPDATE kept SET next_offset = 9; TRUNCATE once.position; "
	"INSERT INTO once.position SELECT * FROM kept",
	"SELECT once.set_position('g', 't', 0, 9)",
};

enum {
	LOST = 5
};

static void give_all(char tag, enum once_ending expected)
{
	char id[LOST][8];
	char biz[LOST][8];

	for (int i = 0; i < LOST; i++) {
		snprintf(id[i], sizeof(id[i]), "%c%d", tag, i);
		snprintf(biz[i], sizeof(biz[i]), "b%d", i);
		ck_ending(*marked_give(&marked, id[i], biz[i], "v"), expected);
	}
}

START_TEST(a_position_set_by_hand_proves_no_mark_of_a_lost_transaction)
{
	give_all('m', ONCE_HANDLED_ENDING);
	lose_the_last_transactions(0);
	pg_fixture_run(&trial->pg, by_hand[_i]);
	(void)marked_give_expect(&marked, "x", "x", "v", ONCE_TRANSIENT);
	marked_take(&marked);
	ck_assert_int_eq(marked.strand.next_offset, 9);
	give_all('n', ONCE_HANDLED_ENDING);
	ck_assert_int_eq(count_effects(), LOST);
}
END_TEST

/* What the database has come past before stays proved. */
START_TEST(a_position_set_by_hand_ends_its_tenure_where_it_stood)
{
	give_all('m', ONCE_HANDLED_ENDING);
	pg_fixture_run(&trial->pg, by_hand[_i]);
	(void)marked_give_expect(&marked, "x", "x", "v", ONCE_FENCED);
	marked_take(&marked);
	ck_assert_int_eq(marked.strand.next_offset, 9);
	ck_assert_int_eq(trial_count(trial,
				     "SELECT count(*) FROM once.tenure "
				     "WHERE from_offset = 0 AND topic = 't' "
				     "AND coalesce(to_offset, 5) = 5"),
			 1);
	ck_assert_int_eq(count_effects(), LOST);
}
END_TEST

/* What another reader, or nobody, did with message 0 since: it was rejected. */
static void come_by_without_effect(const char *tenure)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "UPDATE once.position SET next_offset = 1, steps = steps + 1, "
		 "tenure = %s",
		 tenure);
	pg_fixture_run(&trial->pg, sql);
}

/* Two strands, and nothing is said of ours: its message is paused. */
static void pause_beside_another_partition(void)
{
	static const int64_t zeros[] = { -1, 0 };
	struct once_strand beside = { "g", "t", 1, 0, 0, 0 };
	struct mail mail;

	ck_assert_int_eq(once_session_create_positions(trial->session, "g", "t",
						       zeros, 2, &trial->err),
			 ONCE_OK);
	mail_init(&mail, 2);
	mail_set_strand(&mail, 0, &marked.strand);
	mail.items[0].record.offset = marked.strand.next_offset;
	mail_set_value(&mail, 0, "poison");
	mail_set_strand(&mail, 1, &beside);
	mail.items[1].record.partition = 1;
	mail.items[1].record.offset = 0;
	trial_run(trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_PAUSED_ENDING);
	ck_ending(mail.items[1], ONCE_HANDLED_ENDING);
	mail_fini(&mail);
}

static enum once_verdict say_pause(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_PAUSE;
}

START_TEST(a_strand_that_did_not_move_proves_nothing)
{
	marked_give(&marked, "lost", "lost", "v");
	lose_the_last_transactions(0);
	(void)marked_give_expect(&marked, "x", "x", "v", ONCE_TRANSIENT);
	trial_poison = say_pause;
	pause_beside_another_partition();
	trial_poison = NULL;
	marked_take(&marked);
	ck_assert_int_eq(marked.strand.next_offset, 0);
	ck_ending(*marked_give(&marked, "lost", "lost", "v"),
		  ONCE_HANDLED_ENDING);
}
END_TEST

/* Ours was lost, another one has come by, and its position is, by chance, the
 * one that we remember. */
START_TEST(who_goes_on_in_a_tenure_that_has_ended_is_fenced)
{
	marked_give(&marked, "lost", "lost", "v");
	lose_the_last_transactions(0);
	(void)marked_give_expect(&marked, "x", "x", "v", ONCE_TRANSIENT);
	pg_fixture_run(&trial->pg,
		       "SELECT once.begin_tenure('g', 't', 0, NULL)");
	come_by_without_effect("tenure");
	(void)marked_give_expect(&marked, "x", "x", "v", ONCE_FENCED);
	marked_take(&marked);
	ck_ending(*marked_give(&marked, "lost", "lost", "v"),
		  ONCE_HANDLED_ENDING);
}
END_TEST

/* Our taking is lost with all that came after it; so the position has the
 * tenure before, whose reader's marks are of messages that we end otherwise. */
START_TEST(a_tenure_that_the_database_lost_proves_nothing_of_the_one_before)
{
	struct once_strand ours;

	ours = marked.strand;
	marked_take(&marked);
	marked_give(&marked, "lost", "lost", "poison");
	lose_the_last_transactions(0);
	(void)marked_give_expect(&marked, "x", "x", "v", ONCE_TRANSIENT);
	/* what was to be: the mark's tenure goes on, and we have another */
	ours.tenure = 4711;
	ours.next_offset = 0;
	marked.strand = ours;
	trial_poison = say_reject;
	(void)marked_give_expect(&marked, "lost", "lost", "poison",
				 ONCE_FENCED);
	marked_take(&marked);
	ck_ending(*marked_give(&marked, "lost", "lost", "poison"),
		  ONCE_DEAD_ENDING);
	trial_poison = NULL;
	ck_ending(*marked_give(&marked, "again", "lost", "poison"),
		  ONCE_HANDLED_ENDING);
}
END_TEST

/* As a program does that reads positions and doesn't take them. */
START_TEST(who_moves_without_a_tenure_proves_nothing_of_another_one)
{
	marked_give(&marked, "lost", "lost", "poison");
	lose_the_last_transactions(0);
	(void)marked_give_expect(&marked, "x", "x", "v", ONCE_TRANSIENT);
	marked.strand.tenure = 0;
	marked.strand.next_offset = 0;
	trial_poison = say_reject;
	ck_ending(*marked_give(&marked, "lost", "lost", "poison"),
		  ONCE_DEAD_ENDING);
	trial_poison = NULL;
	ck_ending(*marked_give(&marked, "again", "lost", "poison"),
		  ONCE_HANDLED_ENDING);
}
END_TEST

START_TEST(a_message_outside_of_any_tenure_is_not_marked)
{
	marked.strand.tenure = 0;
	marked_give(&marked, "m1", "b1", "v");
	ck_stopped_by(marked_give(&marked, "m1", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_DATABASE,
		      ONCE_KEY_MSG_ID);
}
END_TEST

START_TEST(what_is_older_than_the_retention_is_not_believed)
{
	static const struct once_prefilter_options short_lived = {
		.local_max_bytes = 1 << 20,
		.retention_ms = 60000,
	};

	marked_restart(&marked, &short_lived);
	marked_give(&marked, "m1", "b1", "v");
	pg_fixture_run(&trial->pg, "UPDATE once.consume_log SET consumed_at = "
				   "now() - interval '1 minute'");
	marked_restart(&marked, &short_lived);
	ck_stopped_by(marked_give(&marked, "m1", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_DATABASE,
		      ONCE_KEY_MSG_ID);
}
END_TEST

/* The rows that are read at the start are marked before their witness is
 * committed, and other sessions find the marks meanwhile. */
START_TEST(a_tenure_that_is_not_there_yet_is_asked_for_again)
{
	struct once_session *first = trial->session;

	marked_give(&marked, "m1", "b1", "v");
	marked_give(&marked, "m2", "b2", "v");
	marked_take(&marked);
	trial->session = trial_open_session(trial, NULL);
	pg_fixture_run(
		&trial->pg,
		"UPDATE once.tenure SET id = id # 1 WHERE to_offset = 2");
	ck_stopped_by(marked_give(&marked, "m1", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_DATABASE,
		      ONCE_KEY_MSG_ID);
	pg_fixture_run(
		&trial->pg,
		"UPDATE once.tenure SET id = id # 1 WHERE to_offset = 2");
	ck_stopped_by(marked_give(&marked, "m2", "b2", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_MSG_ID);
	once_session_destroy(first);
}
END_TEST

/* ---- results ---- */

static char answered[64];

static enum once_verdict keep_result(void *self, const struct once_message *msg,
				     struct once_call *call)
{
	(void)self;
	if (!is_text(once_value(msg), "silent"))
		once_set_result(call, bytes("paid"));
	return ONCE_DONE;
}

static enum once_verdict answer(void *self, const struct once_message *msg,
				struct once_bytes result,
				struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	snprintf(answered, sizeof(answered), "%.*s",
		 result.data == NULL ? 4 : (int)result.size,
		 result.data == NULL ? "none" : (const char *)result.data);
	return ONCE_DONE;
}

static const struct once_handler answering = { ONCE_HANDLER_ABI_FIELDS,
					       .name = "answering",
					       .handle = keep_result,
					       .duplicate = answer };

/* C33 */
START_TEST(who_is_owed_a_result_is_not_stopped_before_it)
{
	struct once_route_options route = trial_route();

	marked_fini(&marked);
	route.handler = &answering;
	marked_init(&marked, &route, NULL);
	marked_give(&marked, "m1", "b1", "v");
	marked_give(&marked, "m2", "b2", "silent");
	ck_stopped_by(marked_give(&marked, "m1", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_DATABASE,
		      ONCE_KEY_MSG_ID);
	ck_assert_str_eq(answered, "paid");
	ck_stopped_by(marked_give(&marked, "m3", "b2", "silent"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_LOCAL, ONCE_KEY_BIZ_ID);
	ck_assert_str_eq(answered, "none");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("prefilter");
	TCase *saves = tcase_create("saves");
	TCase *never = tcase_create("never");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(saves, set_up, tear_down);
	tcase_add_test(saves, a_duplicate_is_stopped_before_the_log_is_asked);
	tcase_add_test(saves,
		       a_route_without_operations_is_filtered_by_its_messages);
	tcase_add_test(saves,
		       another_payload_is_a_conflict_with_both_fingerprints);
	tcase_add_test(
		saves,
		a_duplicate_that_the_database_found_is_known_from_then_on);
	tcase_add_test(saves, a_restart_is_not_blind);
	tcase_add_test(saves,
		       a_tenure_that_is_not_there_yet_is_asked_for_again);
	tcase_add_test(saves, who_is_owed_a_result_is_not_stopped_before_it);
	tcase_add_checked_fixture(never, set_up, tear_down);
	tcase_add_test(never, a_commit_that_fails_marks_nothing);
	tcase_add_test(never, a_call_that_was_rolled_back_marks_nothing);
	tcase_add_test(
		never,
		a_mark_of_a_transaction_that_the_database_lost_proves_nothing);
	tcase_add_test(never, a_position_that_came_by_again_proves_nothing);
	tcase_add_test(never, a_seek_over_a_mark_does_not_prove_it);
	tcase_add_loop_test(
		never,
		a_position_set_by_hand_proves_no_mark_of_a_lost_transaction, 0,
		sizeof(by_hand) / sizeof(by_hand[0]));
	tcase_add_loop_test(
		never, a_position_set_by_hand_ends_its_tenure_where_it_stood, 0,
		sizeof(by_hand) / sizeof(by_hand[0]));
	tcase_add_test(never, a_strand_that_did_not_move_proves_nothing);
	tcase_add_test(never, who_goes_on_in_a_tenure_that_has_ended_is_fenced);
	tcase_add_test(
		never,
		a_tenure_that_the_database_lost_proves_nothing_of_the_one_before);
	tcase_add_test(
		never,
		who_moves_without_a_tenure_proves_nothing_of_another_one);
	tcase_add_test(never, a_message_outside_of_any_tenure_is_not_marked);
	tcase_add_test(never, what_is_older_than_the_retention_is_not_believed);
	suite_add_tcase(suite, saves);
	suite_add_tcase(suite, never);
	return suite_run(suite);
}
