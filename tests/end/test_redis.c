/*
 * test_redis.c - onced and its Redis: gone, hung, empty, and told to wait for
 * it. Whatever it is, each message takes effect once.
 */
#include "onced_fixture.h"
#include "redis_server.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>

enum {
	COUNT = 200,
	WAIT_MS = 60000
};

static struct onced_fixture fixture;
static struct redis_server redis;
static struct onced onced;

static void set_up(void)
{
	struct once_error err;

	ck_assert_msg(redis_server_create(&redis, &err) == ONCE_OK, "%s",
		      err.text);
	onced_fixture_init(&fixture, 2);
}

static void tear_down(void)
{
	onced_fixture_fini(&fixture);
	redis_server_destroy(&redis);
}

static void start(const char *on_unavailable)
{
	char prefilter[256];
	struct onced_options options = { .prefilter = prefilter };

	snprintf(prefilter, sizeof(prefilter),
		 "  redis:\n    url: %s\n    on_unavailable: %s\n", redis.url,
		 on_unavailable);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
}

static void send_again(int64_t number)
{
	char id[24];
	char biz[24];
	char value[24];
	struct letter letter = { 0, id, biz, NULL, value };

	snprintf(id, sizeof(id), "m%lld", (long long)number);
	snprintf(biz, sizeof(biz), "b%lld", (long long)number);
	snprintf(value, sizeof(value), "v%lld", (long long)number);
	onced_fixture_send(&fixture, &letter, 1);
}

static int64_t metric(const char *name)
{
	return onced_get_metric(&onced, name, NULL);
}

/* C73 */
START_TEST(a_redis_that_hangs_holds_up_nobody_and_is_used_when_it_is_back)
{
	redis_server_freeze(&redis);
	start("database");
	onced_fixture_send_series(&fixture, 0, COUNT);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	ck_assert_int_eq(metric("onced_prefilter_circuit_open"), 1);
	ck_assert_int_ge(metric("onced_prefilter_errors_total"), 1);
	redis_server_thaw(&redis);
	while (metric("onced_prefilter_circuit_open") != 0)
		continue;
	onced_fixture_send_series(&fixture, COUNT, 1);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	send_again(COUNT);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_wait_until_counted(&onced, 1, fixture.sent);
	ck_assert_int_eq(onced_get_metric(&onced, "onced_intercepts_total",
					  "stage=\"redis\""),
			 1);
	onced_fixture_check_effects(&fixture, COUNT + 1);
	ck_assert_int_eq(onced_stop(&onced), 0);
}
END_TEST

START_TEST(a_redis_that_is_killed_and_its_return_have_a_line_each)
{
	struct once_error err;

	start("database");
	onced_fixture_send_series(&fixture, 0, COUNT);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	redis_server_kill(&redis);
	onced_fixture_send_series(&fixture, COUNT, COUNT);
	onced_wait_for_log(&onced,
			   "level=warning msg=\"Redis is unavailable, and is "
			   "passed over: ",
			   WAIT_MS);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	ck_assert(!onced_has_logged(&onced, "Redis answers again"));
	ck_assert_msg(redis_server_start(&redis, &err) == ONCE_OK, "%s",
		      err.text);
	for (int64_t i = 2 * COUNT;
	     !onced_has_logged(&onced, "msg=\"Redis answers again\" lasted_s=");
	     i++) {
		onced_fixture_send_series(&fixture, i, 1);
		onced_fixture_wait_for_all(&fixture, WAIT_MS);
	}
	ck_assert_int_eq(onced_stop(&onced), 0);
}
END_TEST

START_TEST(told_to_pause_it_stands_still_and_says_why)
{
	start("pause");
	onced_fixture_send_series(&fixture, 0, COUNT);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	redis_server_freeze(&redis);
	onced_fixture_send_series(&fixture, COUNT, COUNT);
	onced_wait_until_not_ready(&onced, "on_unavailable is pause", WAIT_MS);
	onced_fixture_check_effects(&fixture, COUNT);
	ck_assert_int_eq(metric("onced_dead_total"), 0);
	ck_assert_int_eq(metric("onced_retries_total"), 0);
	redis_server_thaw(&redis);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_wait_until_ready(&onced, WAIT_MS);
	onced_fixture_check_effects(&fixture, 2 * COUNT);
	ck_assert_int_eq(onced_stop(&onced), 0);
}
END_TEST

/* C75 */
START_TEST(what_a_killed_process_had_handled_is_found_without_redis)
{
	char answer[64];

	start("database");
	onced_fixture_send_series(&fixture, 0, COUNT);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_kill(&onced);
	ck_assert(redis_say(redis.port, "FLUSHALL\r\nQUIT\r\n", answer,
			    sizeof(answer)));
	send_again(7);
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_wait_until_counted(&onced, 1, 1);
	ck_assert_int_eq(metric("onced_backstop_hits_total"), 1);
	onced_fixture_check_effects(&fixture, COUNT);
	ck_assert_int_eq(onced_stop(&onced), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("redis");
	TCase *tcase = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA) | NEED(REDIS));
	tcase_set_timeout(tcase, 180);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(
		tcase,
		a_redis_that_hangs_holds_up_nobody_and_is_used_when_it_is_back);
	tcase_add_test(tcase,
		       a_redis_that_is_killed_and_its_return_have_a_line_each);
	tcase_add_test(tcase, told_to_pause_it_stands_still_and_says_why);
	tcase_add_test(
		tcase,
		what_a_killed_process_had_handled_is_found_without_redis);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
