/* A line to a Redis that works: what is set is got, as whom and where the URL
 * says. (One that fails: test_circuit.c.) */
#include "bytes.h"
#include "lined.h"
#include "servers.h"
#include "suite.h"

#include <check.h>
#include <clock.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct redis_server server;
static struct lined line;

static void start_server(void)
{
	lined_start(&server, NULL);
	lined_init(&line, server.url, LINED_PATIENT_MS);
}

static void stop_server(void)
{
	lined_fini(&line);
	redis_server_destroy(&server);
}

/* ---- values ---- */

START_TEST(any_bytes_come_back_as_they_were_set)
{
	static char large[100000];
	const struct once_bytes keys[] = { bytes_of("a\0\r\n$3 \xff", 8),
					   bytes_text("empty"),
					   bytes_text("large"),
					   bytes_text("") };
	const struct once_bytes values[] = { bytes_of("\0\r\n+OK\r\n*\xfe", 9),
					     bytes_of("", 0),
					     bytes_of(large, sizeof(large)),
					     bytes_text("of no key") };
	static const int64_t ttls_ms[] = { 60000, 60001, 60002, 60003 };
	struct once_bytes got[COUNT(keys)];

	memset(large, '$', sizeof(large));
	once__redis_set(line.redis, keys, values, ttls_ms, COUNT(keys));
	ck_assert(once__redis_get(line.redis, keys, COUNT(keys), got));
	for (size_t i = 0; i < COUNT(keys); i++)
		ck_assert_msg(bytes_equal(got[i], values[i]), "value %zu", i);
	lined_check_faultless(&line);
}
END_TEST

#define MANY 500

START_TEST(many_keys_are_asked_for_at_once_and_stay_in_order)
{
	static char text[MANY][16];
	struct once_bytes keys[MANY];
	struct once_bytes got[MANY];

	for (size_t i = 0; i < MANY; i++) {
		snprintf(text[i], sizeof(text[i]), "key %zu", i);
		keys[i] = bytes_text(text[i]);
	}
	for (size_t i = 0; i < MANY; i += 2)
		once__redis_set(line.redis, &keys[i], &keys[i],
				&(int64_t){ 60000 }, 1);
	ck_assert(once__redis_get(line.redis, keys, MANY, got));
	for (size_t i = 0; i < MANY; i++)
		ck_assert(bytes_equal(got[i],
				      i % 2 == 0 ? keys[i] : bytes_text(NULL)));
	lined_check_faultless(&line);
}
END_TEST

START_TEST(no_keys_are_got_without_asking)
{
	ck_assert(once__redis_get(line.redis, NULL, 0, NULL));
	once__redis_set(line.redis, NULL, NULL, NULL, 0);
	lined_check_faultless(&line);
}
END_TEST

START_TEST(a_key_that_holds_no_string_is_a_miss)
{
	lined_say(&server, "RPUSH list x", ":1");
	lined_set(&line, "other", "value");
	lined_check(&line, "list", NULL);
	lined_check(&line, "other", "value");
	lined_check_faultless(&line);
}
END_TEST

static bool is_gone(void *arg)
{
	struct once_bytes got = { 0 };

	(void)arg;
	ck_assert(lined_get(&line, "key", &got));
	return got.data == NULL;
}

START_TEST(a_value_goes_when_its_time_is_over)
{
	const struct once_bytes key = bytes_text("key");

	once__redis_set(line.redis, &key, &key, &(int64_t){ 300 }, 1);
	lined_tend(&line);
	ck_assert(wait_until(is_gone, NULL, LINED_HEAL_MS));
	lined_check_faultless(&line);
}
END_TEST

static bool nothing_is_set(void *arg)
{
	char answer[64];

	(void)arg;
	lined_tend(&line);
	return redis_say(server.port, "DBSIZE\r\nQUIT\r\n", answer,
			 sizeof(answer)) &&
	       strstr(answer, ":0") != NULL;
}

START_TEST(values_arrive_without_a_get_that_waits_for_them)
{
	lined_set(&line, "key", "value");
	for (int i = 0; nothing_is_set(NULL); i++)
		ck_assert_int_lt(i, 1000);
	lined_say(&server, "GET key", "value");
	lined_check_faultless(&line);
}
END_TEST

/* ---- connections ---- */

START_TEST(a_connection_that_redis_ends_when_idle_is_no_fault)
{
	lined_set(&line, "key", "value");
	lined_check(&line, "key", "value");
	lined_say(&server, "CLIENT KILL TYPE normal", ":1");
	lined_check(&line, "key", "value");
	lined_say(&server, "CLIENT KILL TYPE normal", ":1");
	lined_tend(&line);
	lined_set(&line, "key", "other");
	lined_check(&line, "key", "other");
	lined_check_faultless(&line);
}
END_TEST

START_TEST(a_redis_that_was_restarted_between_calls_is_empty_and_no_fault)
{
	lined_set(&line, "key", "value");
	lined_check(&line, "key", "value");
	redis_server_kill(&server);
	lined_restart(&server);
	lined_check(&line, "key", NULL);
	lined_set(&line, "key", "value");
	lined_check(&line, "key", "value");
	lined_check_faultless(&line);
}
END_TEST

static void use(const char *url)
{
	lined_fini(&line);
	lined_init(&line, url, LINED_PATIENT_MS);
	lined_check(&line, "key", NULL); /* set doesn't wait for a name */
	lined_set(&line, "key", "value");
	lined_check(&line, "key", "value");
	lined_check_faultless(&line);
}

START_TEST(a_name_is_looked_up)
{
	char url[64];

	snprintf(url, sizeof(url), "redis://localhost:%d", server.port);
	use(url);
}
END_TEST

START_TEST(a_database_is_selected)
{
	char url[64];

	snprintf(url, sizeof(url), "redis://127.0.0.1:%d/3", server.port);
	use(url);
	lined_say(&server, "SELECT 3\r\nGET key", "value");
	lined_say(&server, "DBSIZE", ":0");
}
END_TEST

START_TEST(a_unix_socket_will_do)
{
	char url[PATH_MAX + 16];

	snprintf(url, sizeof(url), "unix://%s?db=2", server.socket);
	use(url);
	lined_say(&server, "SELECT 2\r\nGET key", "value");
}
END_TEST

/* ---- passwords ---- */

static const char *const with_password[] = { "--requirepass", "s:w/rdfish",
					     NULL };
static const char *const with_user[] = { "--user", "app",   "on", ">s:w/rdfish",
					 "~*",     "+@all", NULL };
static const char *const without_auth[] = { "--rename-command", "AUTH", "",
					    NULL };

static const struct {
	const char *const *settings;
	const char *user;    /* and password, before the @ */
	const char *trouble; /* NULL: none */
} logins[] = {
	{ with_password, ":s%3Aw%2frdfish", NULL },
	{ with_password, "default:s%3Aw%2frdfish", NULL },
	{ with_password, ":swordfish", "WRONGPASS" },
	{ with_password, NULL, "NOAUTH" },
	{ with_password, NULL, "redis://:password@host" },
	{ with_user, "app:s%3Aw%2frdfish", NULL },
	{ with_user, "app:swordfish", "WRONGPASS" },
	{ with_user, "nobody:swordfish", "WRONGPASS" },
	{ without_auth, ":swordfish", "unknown command 'AUTH'" },
};

static void check_login(const char *trouble)
{
	struct once_bytes got;

	if (trouble == NULL) {
		lined_set(&line, "key", "value");
		lined_check(&line, "key", "value");
		lined_check_faultless(&line);
		return;
	}
	ck_assert(!lined_get(&line, "key", &got));
	lined_check_open(&line, trouble);
}

START_TEST(a_password_opens_or_the_trouble_says_why_without_it)
{
	struct once__circuit_view view;
	char url[128];

	lined_start(&server, logins[_i].settings);
	snprintf(url, sizeof(url), "redis://%s%s127.0.0.1:%d",
		 logins[_i].user == NULL ? "" : logins[_i].user,
		 logins[_i].user == NULL ? "" : "@", server.port);
	lined_init(&line, url, LINED_PATIENT_MS);
	check_login(logins[_i].trouble);
	once__circuit_get_view(line.circuit, &view);
	ck_assert_ptr_null(strstr(view.trouble, "rdfish"));
	stop_server();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("redis: a line");
	TCase *tests = tcase_create("on a server");
	TCase *logins_case = tcase_create("logins");

	servers_need(NEED(REDIS));
	tcase_add_checked_fixture(tests, start_server, stop_server);
	tcase_add_test(tests, any_bytes_come_back_as_they_were_set);
	tcase_add_test(tests,
		       many_keys_are_asked_for_at_once_and_stay_in_order);
	tcase_add_test(tests, no_keys_are_got_without_asking);
	tcase_add_test(tests, a_key_that_holds_no_string_is_a_miss);
	tcase_add_test(tests, a_value_goes_when_its_time_is_over);
	tcase_add_test(tests, values_arrive_without_a_get_that_waits_for_them);
	tcase_add_test(tests,
		       a_connection_that_redis_ends_when_idle_is_no_fault);
	tcase_add_test(
		tests,
		a_redis_that_was_restarted_between_calls_is_empty_and_no_fault);
	tcase_add_test(tests, a_name_is_looked_up);
	tcase_add_test(tests, a_database_is_selected);
	tcase_add_test(tests, a_unix_socket_will_do);
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(logins_case,
			    a_password_opens_or_the_trouble_says_why_without_it,
			    0, COUNT(logins));
	suite_add_tcase(suite, logins_case);
	return suite_run(suite);
}
