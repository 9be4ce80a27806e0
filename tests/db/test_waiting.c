/*
 * test_waiting.c - parked messages whose time has come: whose they are, and
 * that nobody else's stand in their way.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <stdio.h>
#include <string.h>

static struct trial trial;
static struct once_route_options routes[2];
static struct once_session *sessions[2];

static const struct once_instance groups[] = {
	{ "6f2c1d5e-8a44-4c0e-9d4b-0123456789ab", "first", "here", 1 },
	{ "7f2c1d5e-8a44-4c0e-9d4b-0123456789ab", "second", "here", 2 },
};

static enum once_verdict ask_again(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_RETRY;
}

/* Of its own group, with all routes of the trial. */
static struct once_session *open_session(size_t group)
{
	const struct once_route *mine[] = { trial.routes[0], trial.routes[1] };
	const struct once_session_options options = {
		.conninfo = trial.pg.conninfo,
		.routes = mine,
		.route_count = 2,
		.instance = &groups[group],
	};
	struct once_session *session;

	ck_assert_int_eq(once_session_create(&options, &session, &trial.err),
			 ONCE_OK);
	return session;
}

static void set_up_with(const char *second_scope)
{
	for (size_t i = 0; i < 2; i++) {
		routes[i] = trial_route();
		routes[i].order = ONCE_ORDER_NONE;
		routes[i].max_attempts = 0;
		routes[i].first_delay_ms = 1;
	}
	routes[1].name = "other";
	routes[1].scope = second_scope;
	trial_init(&trial, routes, 2);
	for (size_t i = 0; i < 2; i++)
		sessions[i] = open_session(i);
	trial_poison = ask_again;
}

static void set_up(void)
{
	set_up_with("group/other");
}

static void set_up_shared(void)
{
	set_up_with("group/trial");
}

static void tear_down(void)
{
	once_session_destroy(sessions[0]);
	once_session_destroy(sessions[1]);
	trial_fini(&trial);
}

/* A message of that route fails, and waits. */
static void park(size_t session, size_t route, const char *id)
{
	struct mail mail;

	mail_init(&mail, 1);
	mail_set_id(&mail, 0, id);
	mail_set_biz(&mail, 0, id);
	mail_set_value(&mail, 0, "poison");
	mail.items[0].route = route;
	mail.items[0].record.offset = (int64_t)(10 * session + route);
	trial_run_by(&trial, sessions[session], &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_WAITING_ENDING);
	mail_fini(&mail);
}

static void make_due(void)
{
	pg_fixture_run(&trial.pg, "UPDATE once.parked SET retry_at = now() - "
				  "interval '1 min' * message_offset, "
				  "value = 'v'");
}

/* Take up what is due; PENDING: nothing was. */
static struct once_item take_up(size_t session)
{
	struct once_run_stats stats;
	struct once_item item;
	int64_t due_ms;

	ck_assert_msg(once_session_run_waiting(sessions[session], &item, &stats,
					       &due_ms, &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
	return item;
}

/* ---- one that is held ---- */

/* By a handler that takes hours, or by somebody's psql. */
START_TEST(a_row_that_is_held_hides_none_of_another_route)
{
	park(0, 0, "m1");
	park(0, 1, "m2");
	make_due();
	pg_fixture_run(&trial.pg, "UPDATE once.parked SET retry_at = now() - "
				  "interval '1 day' WHERE msg_id = 'm1'");
	pg_fixture_run(&trial.pg, "BEGIN; SELECT FROM once.parked "
				  "WHERE msg_id = 'm1' FOR UPDATE");
	ck_ending(take_up(0), ONCE_HANDLED_ENDING);
	ck_ending(take_up(0), ONCE_PENDING_ENDING);
	pg_fixture_run(&trial.pg, "COMMIT");
	ck_ending(take_up(0), ONCE_HANDLED_ENDING);
	ck_assert_int_eq(
		trial_count(&trial, "SELECT count(*) FROM once.parked"), 0);
}
END_TEST

/* ---- whose it is ---- */

START_TEST(groups_that_share_a_scope_take_up_their_own_only)
{
	park(0, 0, "m1");
	make_due();
	ck_ending(take_up(1), ONCE_PENDING_ENDING);
	park(1, 0, "m2");
	make_due();
	ck_ending(take_up(1), ONCE_HANDLED_ENDING);
	ck_ending(take_up(1), ONCE_PENDING_ENDING);
	ck_ending(take_up(0), ONCE_HANDLED_ENDING);
}
END_TEST

START_TEST(routes_that_share_a_scope_take_up_their_own_only)
{
	struct once_item item;

	park(0, 1, "m1");
	make_due();
	item = take_up(0);
	ck_ending(item, ONCE_HANDLED_ENDING);
	ck_assert_uint_eq(item.route, 1);
}
END_TEST

/* Parked by a version that didn't write it down. */
START_TEST(what_is_nobodys_is_anybodys_of_the_scope)
{
	park(0, 0, "m1");
	make_due();
	pg_fixture_run(&trial.pg,
		       "UPDATE once.parked SET group_name = '', route = ''");
	ck_ending(take_up(1), ONCE_HANDLED_ENDING);
}
END_TEST

/* ---- parked again ---- */

START_TEST(what_is_parked_again_has_the_keys_and_the_time_of_now)
{
	park(0, 0, "m1");
	pg_fixture_run(
		&trial.pg,
		"UPDATE once.parked SET retry_at = now(), msg_id = NULL, "
		"biz_id = 'old', fingerprint = NULL, "
		"parked_at = now() - interval '1 day'");
	ck_ending(take_up(0), ONCE_WAITING_ENDING);
	ck_assert_int_eq(
		trial_count(&trial,
			    "SELECT count(*) FROM once.parked "
			    "WHERE msg_id = 'm1' AND biz_id = 'm1' "
			    "AND fingerprint IS NOT NULL "
			    "AND parked_at > now() - interval '1 hour'"),
		1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("messages that wait");
	TCase *apart = tcase_create("scopes of their own");
	TCase *shared = tcase_create("a shared scope");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(apart, set_up, tear_down);
	tcase_add_test(apart, a_row_that_is_held_hides_none_of_another_route);
	tcase_add_test(apart,
		       what_is_parked_again_has_the_keys_and_the_time_of_now);
	suite_add_tcase(suite, apart);
	tcase_add_checked_fixture(shared, set_up_shared, tear_down);
	tcase_add_test(shared,
		       groups_that_share_a_scope_take_up_their_own_only);
	tcase_add_test(shared,
		       routes_that_share_a_scope_take_up_their_own_only);
	tcase_add_test(shared, what_is_nobodys_is_anybodys_of_the_scope);
	suite_add_tcase(suite, shared);
	return suite_run(suite);
}
