/* Asking a running process, and understanding what it says. */
#include "admin.h"
#include "client.h"
#include "free_port.h"
#include "process_status.h"
#include "suite.h"
#include "text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_url(const char *listen, const char *url)
{
	scoped_text struct text got = { 0 };

	ck_assert(client_url(listen, "/status", &got));
	ck_assert_str_eq(got.data, url);
}

START_TEST(an_address_that_means_all_is_asked_at_the_loopback)
{
	expect_url("127.0.0.1:9464", "http://127.0.0.1:9464/status");
	expect_url("0.0.0.0:9464", "http://127.0.0.1:9464/status");
	expect_url(":9464", "http://127.0.0.1:9464/status");
	expect_url("[::]:9464", "http://[::1]:9464/status");
	expect_url("[fe80::1]:80", "http://[fe80::1]:80/status");
	expect_url("onced.internal:9464", "http://onced.internal:9464/status");
}
END_TEST

START_TEST(what_can_not_be_asked_is_said)
{
	scoped_text struct text body = { 0 };
	struct once_error err;
	char listen[32];

	ck_assert_int_eq(client_fetch("", "", "/status", 500, &body, &err),
			 ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "admin.listen"));
	ck_assert_int_eq(
		client_fetch("127.0.0.1:0", "", "/status", 500, &body, &err),
		ONCE_CONFIG);
	snprintf(listen, sizeof(listen), "127.0.0.1:%d", free_port_find(1));
	ck_assert_int_eq(client_fetch(listen, "", "/status", 500, &body, &err),
			 ONCE_TRANSIENT);
	ck_assert_ptr_nonnull(strstr(err.text, listen));
}
END_TEST

/* ---- a token ---- */

static bool is_well(void *arg, struct text *why)
{
	(void)arg;
	(void)why;
	return true;
}

static void show_metrics(void *arg, bool open_metrics, struct text *page)
{
	(void)arg;
	(void)open_metrics;
	(void)page;
}

static void show_status(void *arg, struct text *json)
{
	(void)arg;
	text_adds(json, "{\"group\":\"g\"}\n");
}

START_TEST(the_token_of_the_file_is_sent_and_a_wrong_one_is_said)
{
	static const struct admin_views views = { NULL, is_well, is_well,
						  show_metrics, show_status };
	const struct admin_options options = { .listen = "127.0.0.1:0",
					       .token = "0123456789abcdef==" };
	struct process_status *status = NULL;
	struct admin *admin = NULL;
	struct once_error err;
	char listen[32];

	ck_assert_int_eq(admin_start(&options, &views, &admin, &err), ONCE_OK);
	snprintf(listen, sizeof(listen), "127.0.0.1:%d", admin_port(admin));
	ck_assert_int_eq(
		process_status_get(listen, options.token, &status, &err),
		ONCE_OK);
	ck_assert_str_eq(status->group, "g");
	process_status_destroy(status);
	ck_assert_int_eq(process_status_get(listen, "", &status, &err),
			 ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "admin.token"));
	ck_assert_int_eq(
		process_status_get(listen, "0123456789abcdeF==", &status, &err),
		ONCE_CONFIG);
	ck_assert_ptr_null(strstr(err.text, "0123456789"));
	admin_stop(admin);
}
END_TEST

static const char whole[] =
	"{\"version\":\"1.2\",\"pid\":4711,\"uptime_seconds\":60,\"group\":\"g\","
	"\"ready\":false,\"not_ready_because\":\"a\\nb\\n\","
	"\"lanes\":{\"count\":4,\"busy\":1},"
	"\"prefilter\":{\"summary\":\"local, 64 MiB\"},"
	"\"partitions\":[{\"topic\":\"t\",\"partition\":3,\"state\":\"halted\","
	"\"next_offset\":16,\"lag\":-1,\"why\":\"because\"}],"
	"\"routes\":[{\"route\":\"other\"},{\"route\":\"refund\",\"handled\":9,"
	"\"duplicates\":{\"batch\":1,\"database\":2},\"conflicts\":3,\"dead\":4,"
	"\"retries\":5}],\"repeated\":[{\"route\":\"refund\",\"total\":6,"
	"\"keys\":[{\"key\":\"k\",\"key_kind\":\"biz_id\",\"count\":5,"
	"\"error\":1}]}]}";

START_TEST(what_a_stranger_says_is_passed_on_as_json_that_steers_no_terminal)
{
	struct process_status *status = NULL;
	char *json;

	ck_assert_int_eq(
		process_status_parse("{\"repeated\":[\"\\u009b2J\\u202e\\u001b"
				     "\\u007f\"]}",
				     &status, NULL),
		ONCE_OK);
	json = process_status_dump(status, "repeated");
	ck_assert_str_eq(json, "[\"\\u009b2J\\u202e\\u001B\\u007f\"]");
	free(json);
	ck_assert_ptr_null(process_status_dump(status, "nothing"));
	process_status_destroy(status);
}
END_TEST

START_TEST(the_whole_status_is_understood)
{
	struct process_status *status = NULL;
	const struct process_route *route;

	ck_assert_int_eq(process_status_parse(whole, &status, NULL), ONCE_OK);
	ck_assert_str_eq(status->version, "1.2");
	ck_assert_int_eq(status->pid, 4711);
	ck_assert(!status->ready);
	ck_assert_str_eq(status->why_not_ready, "a\nb\n");
	ck_assert_int_eq(status->lanes_busy, 1);
	ck_assert_str_eq(status->prefilter, "local, 64 MiB");
	ck_assert_uint_eq(status->partition_count, 1);
	ck_assert_int_eq(status->partitions[0].partition, 3);
	ck_assert_int_eq(status->partitions[0].lag, -1);
	ck_assert_str_eq(status->partitions[0].why, "because");
	ck_assert_uint_eq(status->route_count, 2);
	ck_assert_uint_eq(status->routes[0].key_count, 0);
	route = &status->routes[1];
	ck_assert_uint_eq(route->stage_count, 2);
	ck_assert_str_eq(route->stages[1].name, "database");
	ck_assert_int_eq(route->stages[1].duplicates, 2);
	ck_assert_int_eq(route->repeated, 6);
	ck_assert_str_eq(route->keys[0].key, "k");
	ck_assert_int_eq(route->keys[0].error, 1);
	process_status_destroy(status);
}
END_TEST

START_TEST(another_version_or_another_program_is_no_crash)
{
	static const char *const refused[] = { "", "[]", "7",
					       "{\"half\":", "<html>" };
	static const char *const odd[] = {
		"{}",
		"{\"routes\":7,\"partitions\":{},\"repeated\":null}",
		"{\"routes\":[7,null],\"partitions\":[\"x\"],\"lanes\":[]}",
		"{\"routes\":[{\"duplicates\":[1]}],\"pid\":\"x\"}",
	};
	struct process_status *status = NULL;
	struct once_error err;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		ck_assert_int_eq(
			process_status_parse(refused[i], &status, &err),
			ONCE_INVALID);
		ck_assert_ptr_null(status);
	}
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		ck_assert_int_eq(process_status_parse(odd[i], &status, &err),
				 ONCE_OK);
		ck_assert_str_eq(status->version, "");
		process_status_destroy(status);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client");
	TCase *tests = tcase_create("client");

	tcase_add_test(tests,
		       an_address_that_means_all_is_asked_at_the_loopback);
	tcase_add_test(tests, what_can_not_be_asked_is_said);
	tcase_add_test(tests,
		       the_token_of_the_file_is_sent_and_a_wrong_one_is_said);
	tcase_add_test(
		tests,
		what_a_stranger_says_is_passed_on_as_json_that_steers_no_terminal);
	tcase_add_test(tests, the_whole_status_is_understood);
	tcase_add_test(tests, another_version_or_another_program_is_no_crash);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
