/*
 * test_settle.c - a COMMIT that was sent and never answered (C92). Whichever
 * way it went: one effect, nothing lost.
 */
#include "cutter.h"
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct trial trial;
static struct mail mail;
static struct cutter cutter;
static struct once_session *cut_session;
static struct once_strand strands[2];

static void set_up(void)
{
	static const int64_t zeros[] = { 0, 0 };

	trial_init(&trial, NULL, 0);
	cutter_start(&cutter, &trial.pg);
	cut_session = trial_open_session(&trial, cutter.conninfo);
	ck_assert_int_eq(once_session_create_positions(trial.session, "g", "t",
						       zeros, 2, &trial.err),
			 ONCE_OK);
	for (int32_t i = 0; i < 2; i++)
		strands[i] = (struct once_strand){ "g", "t", i, 0, 0, 0 };
	mail_init(&mail, 4);
}

static void tear_down(void)
{
	mail_fini(&mail);
	once_session_destroy(cut_session);
	cutter_stop(&cutter);
	trial_fini(&trial);
}

static void run_and_cut(enum cut cut)
{
	ck_assert_int_eq(once_session_connect(cut_session, &trial.err),
			 ONCE_OK);
	*cutter.cut = (int)cut;
	trial_run_by(&trial, cut_session, &mail, ONCE_UNKNOWN);
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), mail.count);
}

static void settle(void)
{
	ck_assert_msg(once_session_settle(cut_session, mail.items, mail.count,
					  &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
}

static void expect_effects(int64_t count)
{
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"),
			 count);
}

static void use_strands(void)
{
	for (size_t i = 0; i < mail.count; i++) {
		mail.items[i].record.partition = (int32_t)(i % 2);
		mail.items[i].record.offset = (int64_t)(i / 2);
		mail_set_strand(&mail, i, &strands[i % 2]);
	}
}

/* 0: known by their claims; 1: by their positions. */
START_TEST(what_was_committed_is_handled)
{
	if (_i == 1)
		use_strands();
	run_and_cut(CUT_AFTER_COMMIT);
	settle();
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 4);
	ck_assert_int_eq(strands[0].next_offset, _i == 1 ? 2 : 0);
	expect_effects(4);
}
END_TEST

START_TEST(what_was_not_committed_is_pending_and_runs)
{
	if (_i == 1)
		use_strands();
	run_and_cut(CUT_BEFORE_COMMIT);
	settle();
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 4);
	ck_assert_int_eq(strands[0].next_offset, 0);
	expect_effects(0);
	trial_run_by(&trial, cut_session, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 4);
	expect_effects(4);
}
END_TEST

START_TEST(what_was_committed_may_be_sent_again_unsettled)
{
	run_and_cut(CUT_AFTER_COMMIT);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 4);
	expect_effects(4);
}
END_TEST

/* Somebody else has handled the first in the meantime, but not the others. */
START_TEST(a_part_handled_elsewhere_does_not_speak_for_the_rest)
{
	struct mail elsewhere;

	mail_init(&elsewhere, 1);
	run_and_cut(CUT_BEFORE_COMMIT);
	trial_run(&trial, &elsewhere, ONCE_OK);
	settle();
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 4);
	trial_run_by(&trial, cut_session, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 3);
	expect_effects(4);
	mail_fini(&elsewhere);
}
END_TEST

START_TEST(one_strand_moved_elsewhere_does_not_speak_for_the_other)
{
	use_strands();
	run_and_cut(CUT_BEFORE_COMMIT);
	pg_fixture_run(&trial.pg, "UPDATE once.position SET next_offset = 2 "
				  "WHERE partition = 0");
	settle();
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 4);
	trial_run_by(&trial, cut_session, &mail, ONCE_FENCED);
	expect_effects(0);
}
END_TEST

static enum once_verdict reject(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_REJECT;
}

START_TEST(a_dead_message_is_parked_once_either_way)
{
	trial_poison = reject;
	for (size_t i = 0; i < mail.count; i++)
		mail_set_value(&mail, i, "poison");
	run_and_cut(_i == 0 ? CUT_BEFORE_COMMIT : CUT_AFTER_COMMIT);
	settle();
	trial_run_by(&trial, cut_session, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DEAD_ENDING), 4);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.parked"), 4);
}
END_TEST

START_TEST(settling_waits_for_a_server_that_is_away)
{
	run_and_cut(CUT_AFTER_COMMIT);
	*cutter.cut = CUT_EVERYTHING;
	ck_assert_int_eq(once_session_settle(cut_session, mail.items,
					     mail.count, &trial.err),
			 ONCE_TRANSIENT);
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 4);
	*cutter.cut = CUT_NOTHING;
	settle();
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 4);
	expect_effects(4);
}
END_TEST

/* ---- a thousand times ---- */

enum {
	ROUNDS = 1000,
	MOST_MAIL = 8
};

/* The messages of a round have identities of their own, but for some that
 * repeat one of the first round: duplicates, whichever way it goes. */
static void shuffle(unsigned *seed, int round, int64_t next[2])
{
	bool is_all_old = rand_r(seed) % 8 == 0;
	unsigned with_strands = (unsigned)rand_r(seed) % 3; /* 1: some of it */
	int64_t offsets[2] = { next[0], next[1] };

	mail.count = 1 + (size_t)rand_r(seed) % MOST_MAIL;
	mail_again(&mail);
	for (size_t i = 0; i < mail.count; i++) {
		bool is_old = is_all_old || rand_r(seed) % 5 == 0;
		bool is_dead = !is_old && rand_r(seed) % 6 == 0;
		size_t strand = i % 2;
		char id[32];

		snprintf(id, sizeof(id), "m%d.%zu", is_old ? -1 : round, i);
		mail_set_id(&mail, i, id);
		mail_set_biz(&mail, i, id);
		mail_set_value(&mail, i, is_dead ? "poison" : "v");
		mail_set_strand(&mail, i, NULL);
		mail.items[i].record.partition = 2;
		mail.items[i].record.offset = round * MOST_MAIL + (int64_t)i;
		if (with_strands == 0 ||
		    (with_strands == 1 && rand_r(seed) % 2 == 0))
			continue;
		mail_set_strand(&mail, i, &strands[strand]);
		mail.items[i].record.partition = (int32_t)strand;
		mail.items[i].record.offset = offsets[strand]++;
	}
	next[0] = offsets[0];
	next[1] = offsets[1];
}

static void remember_the_old(void)
{
	for (size_t i = 0; i < MOST_MAIL; i++) {
		char id[32];

		snprintf(id, sizeof(id), "m-1.%zu", i);
		mail_set_id(&mail, i, id);
		mail_set_biz(&mail, i, id);
	}
	trial_run(&trial, &mail, ONCE_OK);
}

struct tally {
	int64_t effects;
	int64_t dead;
	unsigned settled; /* found to be committed */
};

static void count_expected(struct tally *tally)
{
	for (size_t i = 0; i < mail.count; i++) {
		bool is_old =
			strncmp(mail.items[i].msg_id.data, "m-1.", 4) == 0;

		if (is_text(mail.items[i].record.value, "poison"))
			tally->dead++;
		else if (!is_old)
			tally->effects++;
	}
}

static void run_a_round(unsigned *seed, struct tally *tally)
{
	bool carried_out = rand_r(seed) % 2 == 0;

	run_and_cut(carried_out ? CUT_AFTER_COMMIT : CUT_BEFORE_COMMIT);
	count_expected(tally);
	settle();
	if (mail_count(&mail, ONCE_PENDING_ENDING) == 0) {
		ck_assert(carried_out);
		tally->settled++;
		return;
	}
	trial_run_by(&trial, cut_session, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 0);
}

START_TEST(a_thousand_answers_lost_are_a_thousand_times_the_truth)
{
	const char *given = getenv("ONCE_TEST_SEED");
	unsigned seed = given == NULL ? (unsigned)time(NULL)
				      : (unsigned)strtoul(given, NULL, 10);
	struct tally tally = { MOST_MAIL, 0, 0 };
	int64_t next[2] = { 0, 0 };

	printf("ONCE_TEST_SEED=%u\n", seed);
	trial_poison = reject;
	mail_fini(&mail);
	mail_init(&mail, MOST_MAIL);
	remember_the_old();
	for (int round = 0; round < ROUNDS; round++) {
		shuffle(&seed, round, next);
		run_a_round(&seed, &tally);
		ck_assert_int_eq(strands[0].next_offset, next[0]);
		ck_assert_int_eq(strands[1].next_offset, next[1]);
	}
	ck_assert_uint_gt(tally.settled, ROUNDS / 4);
	expect_effects(tally.effects);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(DISTINCT msg_id) "
					     "FROM effect"),
			 tally.effects);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.parked"),
		tally.dead);
	ck_assert_int_eq(trial_count(&trial, "SELECT sum(next_offset) FROM "
					     "once.position"),
			 next[0] + next[1]);
}
END_TEST

START_TEST(nothing_in_doubt_is_settled_at_once)
{
	settle();
	trial_run_by(&trial, cut_session, &mail, ONCE_OK);
	settle();
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 4);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("settle");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, what_was_committed_is_handled, 0, 2);
	tcase_add_loop_test(tests, what_was_not_committed_is_pending_and_runs,
			    0, 2);
	tcase_add_test(tests, what_was_committed_may_be_sent_again_unsettled);
	tcase_add_test(tests,
		       a_part_handled_elsewhere_does_not_speak_for_the_rest);
	tcase_add_test(tests,
		       one_strand_moved_elsewhere_does_not_speak_for_the_other);
	tcase_add_loop_test(tests, a_dead_message_is_parked_once_either_way, 0,
			    2);
	tcase_add_test(tests, settling_waits_for_a_server_that_is_away);
	tcase_add_test(tests,
		       a_thousand_answers_lost_are_a_thousand_times_the_truth);
	tcase_add_test(tests, nothing_in_doubt_is_settled_at_once);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
