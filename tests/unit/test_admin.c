/* The admin pages, asked over a real socket. */
#include "admin.h"
#include "http_get.h"
#include "suite.h"
#include "text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_well(void *arg, struct text *why)
{
	(void)arg;
	(void)why;
	return true;
}

static bool is_ill(void *arg, struct text *why)
{
	text_addf(why, "%s\n", (const char *)arg);
	return false;
}

static void show_metrics(void *arg, bool open_metrics, struct text *page)
{
	(void)arg;
	text_adds(page, open_metrics ? "# EOF\n" : "onced_x 1\n");
}

static void show_status(void *arg, struct text *json)
{
	(void)arg;
	text_adds(json, "{}\n");
}

static char because[] = "lane 0 doesn't reach the database";

static const struct admin_views views = { because, is_well, is_ill,
					  show_metrics, show_status };

static struct admin *start(void)
{
	struct admin *admin = NULL;
	struct once_error err = { 0 };

	ck_assert_msg(admin_start("127.0.0.1:0", &views, &admin, &err) ==
			      ONCE_OK,
		      "%s", err.text);
	return admin;
}

static void expect(struct admin *admin, const char *path, int code,
		   const char *body)
{
	char *got = NULL;

	ck_assert_int_eq(http_get(admin_port(admin), path, &got), code);
	ck_assert_msg(strstr(got, body) != NULL, "%s", got);
	free(got);
}

START_TEST(each_page_says_what_its_view_says)
{
	struct admin *admin = start();

	expect(admin, "/healthz", 200, "ok\n");
	expect(admin, "/readyz", 503, because);
	expect(admin, "/metrics", 200, "onced_x 1\n");
	expect(admin, "/status", 200, "{}\n");
	expect(admin, "/", 200, "/readyz\n");
	expect(admin, "/no-such-page", 404, "/metrics\n");
	admin_stop(admin);
}
END_TEST

START_TEST(a_taken_port_is_said_with_what_to_do)
{
	struct admin *admin = start();
	struct admin *second = NULL;
	struct once_error err = { 0 };
	char listen[32];

	snprintf(listen, sizeof(listen), "127.0.0.1:%u",
		 (unsigned)admin_port(admin));
	ck_assert_int_eq(admin_start(listen, &views, &second, &err),
			 ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "set admin.listen to another"));
	ck_assert_int_eq(admin_start("nonsense", &views, &second, &err),
			 ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "127.0.0.1:9464"));
	admin_stop(admin);
}
END_TEST

START_TEST(an_empty_address_turns_it_off)
{
	struct admin *admin = NULL;

	ck_assert_int_eq(admin_start("", &views, &admin, NULL), ONCE_OK);
	ck_assert_ptr_null(admin);
	ck_assert_uint_eq(admin_port(admin), 0);
	admin_stop(admin);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("admin");
	TCase *tests = tcase_create("admin");

	tcase_add_test(tests, each_page_says_what_its_view_says);
	tcase_add_test(tests, a_taken_port_is_said_with_what_to_do);
	tcase_add_test(tests, an_empty_address_turns_it_off);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
