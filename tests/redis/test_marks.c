/*
 * test_marks.c - what stands in Redis is a rumour: of a mark that was typed,
 * copied, left by another environment or by a database that was restored, a
 * message ends as if there were no Redis.
 */
#include "marked.h"
#include "redis_server.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TTL_MS = 3600000,
	TIMEOUT_MS = 10000
};

static struct redis_server redis;
static struct marked marked;
static struct trial *const trial = &marked.trial;

static struct once_prefilter_options options_of(int pause)
{
	struct once_prefilter_options options = {
		.redis_url = redis.url,
		.redis_timeout_ms = TIMEOUT_MS,
		.redis_ttl_ms = TTL_MS,
		.redis_pause = pause,
		.retention_ms = -1,
	};

	return options;
}

static void set_up(void)
{
	struct once_prefilter_options options;
	struct once_error err;

	ck_assert_msg(redis_server_create(&redis, &err) == ONCE_OK, "%s",
		      err.text);
	options = options_of(0);
	marked_init(&marked, NULL, &options);
}

static void tear_down(void)
{
	marked_fini(&marked);
	redis_server_destroy(&redis);
}

static void restart(void)
{
	struct once_prefilter_options options = options_of(0);

	marked_restart(&marked, &options);
}

/* Run Lua in Redis; what it answers holds `wanted`. */
static void eval(const char *script, const char *wanted)
{
	char lines[1024];
	char answer[4096];

	snprintf(lines, sizeof(lines), "EVAL \"%s\" 0\r\nQUIT\r\n", script);
	ck_assert(redis_say(redis.port, lines, answer, sizeof(answer)));
	ck_assert_msg(strstr(answer, wanted) != NULL, "%s", answer);
}

static void restart_redis(void)
{
	struct once_error err;

	ck_assert_msg(redis_server_start(&redis, &err) == ONCE_OK, "%s",
		      err.text);
}

static const struct once_item *expect_database(const char *id, const char *biz)
{
	const struct once_item *item = marked_give(&marked, id, biz, "v");

	ck_stopped_by(item, ONCE_DUPLICATE_ENDING, ONCE_STAGE_DATABASE,
		      ONCE_KEY_MSG_ID);
	return item;
}

static void expect_unproven(const struct once_item *item)
{
	ck_assert_uint_eq(item->unproven, 1u << ONCE_STAGE_REDIS);
}

/* ---- what it saves ---- */

START_TEST(another_process_knows_what_the_first_has_handled)
{
	marked_give(&marked, "m1", "b1", "v");
	restart();
	pg_fixture_run(&trial->pg, "DELETE FROM once.consume_log");
	ck_stopped_by(marked_give(&marked, "m1", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_REDIS, ONCE_KEY_MSG_ID);
	ck_stopped_by(marked_give(&marked, "m2", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_REDIS, ONCE_KEY_BIZ_ID);
	ck_stopped_by(marked_give(&marked, "m3", "b1", "other"),
		      ONCE_CONFLICT_ENDING, ONCE_STAGE_REDIS, ONCE_KEY_BIZ_ID);
}
END_TEST

START_TEST(a_mark_is_named_by_log_and_scope_and_goes_with_its_ttl)
{
	char *id = pg_fixture_get_text(
		&trial->pg, "SELECT id::text FROM once.log_identity");
	char prefix[128];

	marked_give(&marked, "m1", "b1", "v");
	snprintf(prefix, sizeof(prefix), "once:%s:group/trial:", id);
	eval("return redis.call('keys', '*')[1]", prefix);
	eval("local left = redis.call('pttl', redis.call('keys', '*')[1]) "
	     "return left > 3500000 and left <= 3600000",
	     ":1");
	free(id);
}
END_TEST

START_TEST(redis_flushed_is_found_by_the_database_and_told_again) /* C75 */
{
	marked_give(&marked, "m1", "b1", "v");
	restart();
	eval("return redis.call('flushall')", "OK");
	expect_database("m1", "b1");
	ck_stopped_by(marked_give(&marked, "m1", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_REDIS, ONCE_KEY_MSG_ID);
}
END_TEST

/* What was met is older than what was written. */
START_TEST(a_mark_of_an_old_row_goes_with_the_row)
{
	struct once_prefilter_options options = options_of(0);

	options.retention_ms = TTL_MS;
	marked_restart(&marked, &options);
	marked_give(&marked, "m1", "b1", "v");
	eval("return redis.call('flushall')", "OK");
	pg_fixture_run(&trial->pg, "UPDATE once.consume_log SET consumed_at = "
				   "now() - interval '50 minutes'");
	expect_database("m1", "b1");
	eval("local left = redis.call('pttl', redis.call('keys', '*')[1]) "
	     "return left > 300000 and left <= 600000",
	     ":1");
	eval("return redis.call('flushall')", "OK");
	pg_fixture_run(&trial->pg, "UPDATE once.consume_log SET consumed_at = "
				   "now() - interval '2 hours'");
	expect_database("m1", "b1");
	expect_database("m1", "b1");
	eval("return redis.call('dbsize')", ":0");
}
END_TEST

/* ---- rumours ---- */

START_TEST(what_was_typed_by_hand_proves_nothing)
{
	marked_give(&marked, "m1", "b1", "v");
	eval("for _, k in ipairs(redis.call('keys', '*')) do "
	     "redis.call('set', k, '1') end return 'typed'",
	     "typed");
	expect_unproven(expect_database("m1", "b1"));
}
END_TEST

START_TEST(a_mark_under_another_key_proves_nothing)
{
	marked_give(&marked, "m1", "b1", "v");
	marked_give(&marked, "m2", "b2", "v");
	marked_give(&marked, "m2", "b2", "v");
	eval("local k = redis.call('keys', '*') "
	     "local a, b = redis.call('get', k[1]), redis.call('get', k[2]) "
	     "redis.call('set', k[1], b) redis.call('set', k[2], a) "
	     "return #k",
	     ":2");
	expect_unproven(expect_database("m1", "b1"));
	expect_unproven(expect_database("m2", "b2"));
}
END_TEST

START_TEST(another_type_under_our_key_is_nothing)
{
	marked_give(&marked, "m1", "b1", "v");
	eval("local k = redis.call('keys', '*')[1] redis.call('del', k) "
	     "return redis.call('rpush', k, 'x')",
	     ":1");
	ck_assert_uint_eq(expect_database("m1", "b1")->unproven, 0);
	ck_stopped_by(marked_give(&marked, "m1", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_REDIS, ONCE_KEY_MSG_ID);
}
END_TEST

START_TEST(another_environment_has_marks_of_its_own)
{
	static struct marked other;
	struct once_prefilter_options options = options_of(0);

	marked_give(&marked, "m1", "b1", "v");
	marked_init(&other, NULL, &options);
	ck_ending(*marked_give(&other, "m1", "b1", "v"), ONCE_HANDLED_ENDING);
	ck_assert_uint_eq(other.mail.items[0].unproven, 0);
	marked_fini(&other);
}
END_TEST

static void end_session(void)
{
	once_session_destroy(trial->session);
	trial->session = NULL;
}

/* What is restored has the same identity, secret and tenures. */
START_TEST(marks_younger_than_a_restored_database_prove_nothing)
{
	const struct once_item *item;

	marked_give(&marked, "m1", "b1", "v");
	end_session();
	pg_fixture_save(&trial->pg);
	restart();
	marked_give(&marked, "m2", "b2", "v");
	end_session();
	pg_fixture_restore(&trial->pg);
	restart();
	ck_assert_int_eq(marked.strand.next_offset, 1);
	ck_stopped_by(marked_give(&marked, "m1", "b1", "v"),
		      ONCE_DUPLICATE_ENDING, ONCE_STAGE_REDIS, ONCE_KEY_MSG_ID);
	item = marked_give(&marked, "m2", "b2", "v");
	ck_ending(*item, ONCE_HANDLED_ENDING);
	expect_unproven(item);
}
END_TEST

/* ---- not there ---- */

START_TEST(without_redis_the_database_decides_alone)
{
	struct once_prefilter_view view;

	marked_give(&marked, "m1", "b1", "v");
	redis_server_kill(&redis);
	expect_database("m1", "b1");
	ck_ending(*marked_give(&marked, "m2", "b2", "v"), ONCE_HANDLED_ENDING);
	once_prefilter_get_view(trial->prefilter, &view);
	ck_assert(view.redis_open);
	ck_assert_uint_gt(view.redis_errors, 0);
	ck_assert_str_ne(view.redis_trouble, "");
}
END_TEST

static bool goes_on(void *arg)
{
	(void)arg;
	once_session_tend(trial->session);
	mail_again(&marked.mail);
	return once_session_run(trial->session, marked.mail.items, 1, NULL,
				&trial->err) == ONCE_OK;
}

START_TEST(told_to_pause_it_waits_and_nothing_happens)
{
	struct once_prefilter_options options = options_of(1);

	marked_restart(&marked, &options);
	marked_give(&marked, "m1", "b1", "v");
	redis_server_kill(&redis);
	ck_ending(*marked_give_expect(&marked, "m2", "b2", "v", ONCE_TRANSIENT),
		  ONCE_PENDING_ENDING);
	ck_assert_ptr_nonnull(strstr(trial->err.text, "on_unavailable"));
	ck_ending(*marked_give_expect(&marked, "m2", "b2", "v", ONCE_TRANSIENT),
		  ONCE_PENDING_ENDING);
	ck_assert_int_eq(trial_count(trial, "SELECT count(*) FROM effect"), 1);
	restart_redis();
	ck_assert(wait_until(goes_on, NULL, 30000));
	ck_ending(marked.mail.items[0], ONCE_HANDLED_ENDING);
	ck_assert_int_eq(trial_count(trial, "SELECT count(*) FROM effect"), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("marks");
	TCase *saves = tcase_create("saves");
	TCase *rumours = tcase_create("rumours");
	TCase *gone = tcase_create("not there");

	servers_need(NEED(PG) | NEED(REDIS));
	tcase_add_checked_fixture(saves, set_up, tear_down);
	tcase_add_test(saves, another_process_knows_what_the_first_has_handled);
	tcase_add_test(saves,
		       a_mark_is_named_by_log_and_scope_and_goes_with_its_ttl);
	tcase_add_test(saves,
		       redis_flushed_is_found_by_the_database_and_told_again);
	tcase_add_test(saves, a_mark_of_an_old_row_goes_with_the_row);
	tcase_add_checked_fixture(rumours, set_up, tear_down);
	tcase_add_test(rumours, what_was_typed_by_hand_proves_nothing);
	tcase_add_test(rumours, a_mark_under_another_key_proves_nothing);
	tcase_add_test(rumours, another_type_under_our_key_is_nothing);
	tcase_add_test(rumours, another_environment_has_marks_of_its_own);
	tcase_add_test(rumours,
		       marks_younger_than_a_restored_database_prove_nothing);
	tcase_add_checked_fixture(gone, set_up, tear_down);
	tcase_add_test(gone, without_redis_the_database_decides_alone);
	tcase_add_test(gone, told_to_pause_it_waits_and_nothing_happens);
	suite_add_tcase(suite, saves);
	suite_add_tcase(suite, rumours);
	suite_add_tcase(suite, gone);
	return suite_run(suite);
}
