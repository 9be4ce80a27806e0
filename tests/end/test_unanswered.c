/*
 * test_unanswered.c - onced loses the answer to COMMIT again and again (C92).
 * It asks what became of each, and every effect is there once.
 */
#include "cutter.h"
#include "outage.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>

enum {
	PARTITIONS = 2,
	CUTS = 40,
	LOAD = 10
};

static bool is_cut(void *arg)
{
	const struct cutter *cutter = arg;

	return *cutter->cut == CUT_NOTHING;
}

/* The value that a message has; other transactions of onced don't hold it. */
static void send_some(struct onced_fixture *fixture)
{
	struct letter letters[LOAD];
	char ids[LOAD][24];

	for (int i = 0; i < LOAD; i++) {
		snprintf(ids[i], sizeof(ids[i]), "n%lld",
			 (long long)(fixture->sent + i));
		letters[i] = (struct letter){ i % PARTITIONS, ids[i], ids[i],
					      NULL, "cut after this" };
	}
	onced_fixture_send(fixture, letters, LOAD);
}

START_TEST(each_commit_that_was_not_answered_is_asked_for)
{
	struct onced_options options = { 0 };
	struct cutter cutter = { .only = "cut after this" };
	struct onced_fixture fixture;
	struct onced onced;

	onced_fixture_init(&fixture, PARTITIONS);
	cutter_start(&cutter, &fixture.pg);
	options.conninfo = cutter.conninfo;
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, OUTAGE_WAIT_MS);
	for (int i = 0; i < CUTS; i++) {
		*cutter.cut = i % 2 == 0 ? CUT_AFTER_COMMIT : CUT_BEFORE_COMMIT;
		send_some(&fixture);
		ck_assert_msg(wait_until(is_cut, &cutter, OUTAGE_WAIT_MS),
			      "nothing is committed any more");
	}
	onced_fixture_wait_for_all(&fixture, OUTAGE_WAIT_MS);
	onced_wait_until_ready(&onced, OUTAGE_WAIT_MS);
	ck_assert_int_eq(onced_get_metric(&onced, "onced_transactions_total",
					  "result=\"unknown\""),
			 CUTS);
	outage_check_that_nothing_happened(&onced);
	cutter_stop(&cutter);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unanswered");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests, each_commit_that_was_not_answered_is_asked_for);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
