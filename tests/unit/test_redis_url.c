/* URLs of a Redis: read as they are meant, or refused with what to write. */
#include "redis_url.h"
#include "suite.h"

#include <check.h>
#include <string.h>

static const struct {
	const char *text;
	struct once__redis_url url;
} good[] = {
	{ "redis://cache",
	  { .host = "cache", .port = 6379, .shown = "cache:6379" } },
	{ "REDIS://cache/",
	  { .host = "cache", .port = 6379, .shown = "cache:6379" } },
	{ "redis://10.0.0.7:7000/12",
	  { .host = "10.0.0.7",
	    .port = 7000,
	    .database = 12,
	    .shown = "10.0.0.7:7000" } },
	{ "redis://[::1]",
	  { .host = "::1", .port = 6379, .shown = "[::1]:6379" } },
	{ "redis://[fe80::7]:1/0",
	  { .host = "fe80::7", .port = 1, .shown = "[fe80::7]:1" } },
	{ "redis://:secret@cache",
	  { .host = "cache",
	    .port = 6379,
	    .password = "secret",
	    .shown = "cache:6379" } },
	{ "redis://app:s%3Ae%40c%2f%25@cache:1",
	  { .host = "cache",
	    .port = 1,
	    .user = "app",
	    .password = "s:e@c/%",
	    .shown = "cache:1" } },
	{ "redis://a%20b:x:y@cache",
	  { .host = "cache",
	    .port = 6379,
	    .user = "a b",
	    .password = "x:y",
	    .shown = "cache:6379" } },
	{ "redis://app:@cache",
	  { .host = "cache",
	    .port = 6379,
	    .user = "app",
	    .shown = "cache:6379" } },
	{ "unix:///run/redis.sock",
	  { .path = "/run/redis.sock", .shown = "/run/redis.sock" } },
	{ "unix:///run/my%20redis?db=3",
	  { .path = "/run/my redis",
	    .database = 3,
	    .shown = "/run/my redis" } },
	{ "unix://app:secret@/r?db=0",
	  { .path = "/r",
	    .user = "app",
	    .password = "secret",
	    .shown = "/r" } },
};

START_TEST(a_url_says_where_redis_is_and_who_we_are)
{
	const struct once__redis_url *expected = &good[_i].url;
	struct once__redis_url url;
	struct once_error err = { 0 };

	ck_assert_msg(once__redis_url_parse(good[_i].text, &url, &err) ==
			      ONCE_OK,
		      "%s: %s", good[_i].text, err.text);
	ck_assert_str_eq(url.host, expected->host);
	ck_assert_uint_eq(url.port, expected->port);
	ck_assert_str_eq(url.path, expected->path);
	ck_assert_str_eq(url.user, expected->user);
	ck_assert_str_eq(url.password, expected->password);
	ck_assert_uint_eq(url.database, expected->database);
	ck_assert_str_eq(url.shown, expected->shown);
}
END_TEST

static const struct {
	const char *text;
	const char *why;
} bad[] = {
	{ "", "redis://host:6379/0" },
	{ "halibut.example.com:6379", "redis://host:6379/0" },
	{ "http://halibut", "redis://host:6379/0" },
	{ "rediss://:halibut@cache", "stunnel" },
	{ "redis://", "write a host" },
	{ "redis:///0", "write a host" },
	{ "redis://:halibut@", "write a host" },
	{ "redis://:halibut@:6379", "write a host" },
	{ "redis://a,halibut", "write a host" },
	{ "redis://halibut@cache", "needs a password" },
	{ "redis://:hali@but@cache", "%40" },
	{ "redis://:1hali/but@cache", "%2F" },
	{ "redis://:hali%but@cache", "hexadecimal" },
	{ "redis://:halibut%0@cache", "hexadecimal" },
	{ "redis://:halibut%00@cache", "hexadecimal" },
	{ "redis://halibut:", "a port from 1 to 65535" },
	{ "redis://halibut:0", "a port from 1 to 65535" },
	{ "redis://halibut:65536", "a port from 1 to 65535" },
	{ "redis://halibut:99999999999999999999", "a port from" },
	{ "redis://halibut:6379x", "a port from 1 to 65535" },
	{ "redis://::1/0", "in brackets" },
	{ "redis://fe80::1:6379", "in brackets" },
	{ "redis://[::1", "in brackets" },
	{ "redis://[halibut]", "in brackets" },
	{ "redis://[::1]6379", "a port from" },
	{ "redis://halibut/zero", "as a number" },
	{ "redis://halibut/-1", "as a number" },
	{ "redis://halibut/1/2", "as a number" },
	{ "redis://halibut/4294967296", "as a number" },
	{ "redis://halibut?db=1", "as a number" },
	{ "redis://halibut/1?timeout=3", "as a number" },
	{ "unix://", "the path of the socket" },
	{ "unix:///", "the path of the socket" },
	{ "unix://halibut/run", "the path of the socket" },
	{ "unix:///halibut?db=", "as a number" },
	{ "unix:///halibut?database=1", "as a number" },
	{ "unix:///halibut?db=1&x=2", "as a number" },
	{ "unix:///halibut/0123456789012345678901234567890123456789012345678"
	  "9012345678901234567890123456789012345678901234567890123456789",
	  "longer than 107 bytes" },
};

START_TEST(any_other_text_is_refused_with_what_to_write_and_never_shown)
{
	struct once__redis_url url;
	struct once_error err = { 0 };

	ck_assert_msg(once__redis_url_parse(bad[_i].text, &url, &err) ==
			      ONCE_INVALID,
		      "%s isn't refused", bad[_i].text);
	ck_assert_msg(strstr(err.text, bad[_i].why) != NULL,
		      "%s: \"%s\" doesn't say \"%s\"", bad[_i].text, err.text,
		      bad[_i].why);
	ck_assert_ptr_null(strstr(err.text, "hali"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("redis url");
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(tests, a_url_says_where_redis_is_and_who_we_are, 0,
			    sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(
		tests,
		any_other_text_is_refused_with_what_to_write_and_never_shown, 0,
		sizeof(bad) / sizeof(bad[0]));
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
