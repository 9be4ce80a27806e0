/* The admin pages, asked over a real socket. */
#include "admin.h"
#include "clock.h"
#include "http_get.h"
#include "status_page.h"
#include "suite.h"
#include "text.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

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

static bool is_ill_and_silent(void *arg, struct text *why)
{
	(void)arg;
	(void)why;
	return false;
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

/* A socket to it, with `request` sent. */
static int open_request(struct admin *admin, const char *request)
{
	const struct timeval limit = { 5, 0 };
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_port = htons(admin_port(admin));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	ck_assert_int_eq(
		connect(fd, (const struct sockaddr *)&address, sizeof(address)),
		0);
	ck_assert_int_eq(send(fd, request, strlen(request), MSG_NOSIGNAL),
			 (ssize_t)strlen(request));
	return fd;
}

/* The whole answer, headers included. */
static void ask(struct admin *admin, const char *request, struct text *answer)
{
	int fd = open_request(admin, request);
	char part[4096];
	ssize_t size;

	text_reset(answer);
	while ((size = recv(fd, part, sizeof(part), 0)) > 0)
		text_add(answer, part, (size_t)size);
	close(fd);
	ck_assert_ptr_nonnull(answer->data);
}

#define REQUEST(line) line " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"

static void expect_part(const struct text *answer, const char *part)
{
	ck_assert_msg(strstr(answer->data, part) != NULL, "no %s in %s", part,
		      answer->data);
}

START_TEST(each_page_says_what_its_view_says)
{
	struct admin *admin = start();

	expect(admin, "/healthz", 200, "ok\n");
	expect(admin, "/readyz", 503, because);
	expect(admin, "/metrics", 200, "onced_x 1\n");
	expect(admin, "/status", 200, "{}\n");
	expect(admin, "/", 200, "<a href=\"/readyz\">");
	expect(admin, "/no-such-page", 404, "/metrics\n");
	admin_stop(admin);
}
END_TEST

START_TEST(a_browser_gets_the_status_as_a_page_and_a_script_as_json)
{
	struct admin *admin = start();
	char *got = NULL;

	ck_assert_int_eq(
		http_get_as(admin_port(admin), "/status",
			    "text/html,application/xhtml+xml,*/*;q=0.8", &got),
		200);
	ck_assert_ptr_nonnull(strstr(got, "<!DOCTYPE html>"));
	free(got);
	ck_assert_int_eq(http_get_as(admin_port(admin), "/status",
				     "application/json, text/html", &got),
			 200);
	ck_assert_str_eq(got, "{}\n");
	free(got);
	admin_stop(admin);
}
END_TEST

START_TEST(nothing_of_a_message_is_markup_on_the_page)
{
	static const char json[] =
		"{\"group\":\"<b>\",\"not_ready_because\":\"a&b\",\"repeated\":"
		"[{\"route\":\"\\\"r\\\"\",\"keys\":[{\"key\":"
		"\"<script>alert(1)</script>\",\"key_kind\":\"biz_id\","
		"\"count\":7,\"error\":0}]}]}";
	scoped_text struct text html = { 0 };

	ck_assert(status_page_render(json, &html));
	ck_assert_ptr_null(strstr(html.data, "<script"));
	ck_assert_ptr_null(strstr(html.data, "<b></h1>"));
	ck_assert_ptr_nonnull(strstr(
		html.data, "&lt;script&gt;alert(1)&lt;/script&gt;</td>"));
	ck_assert_ptr_nonnull(strstr(html.data, "&quot;r&quot;"));
	ck_assert_ptr_nonnull(strstr(html.data, "<pre>a&amp;b</pre>"));
	ck_assert(!status_page_render("{\"half\":", &html));
}
END_TEST

START_TEST(head_is_answered_without_the_page)
{
	scoped_text struct text answer = { 0 };
	struct admin *admin = start();

	ask(admin, REQUEST("HEAD /healthz") "\r\n", &answer);
	expect_part(&answer, "HTTP/1.1 200 ");
	expect_part(&answer, "Content-Length: 3\r\n");
	ck_assert_str_eq(strstr(answer.data, "\r\n\r\n"), "\r\n\r\n");
	admin_stop(admin);
}
END_TEST

START_TEST(only_get_and_head_are_allowed)
{
	scoped_text struct text answer = { 0 };
	struct admin *admin = start();

	ask(admin, REQUEST("POST /metrics") "Content-Length: 5\r\n\r\nhello",
	    &answer);
	expect_part(&answer, "HTTP/1.1 405 ");
	expect_part(&answer, "Allow: GET, HEAD\r\n");
	ask(admin, REQUEST("DELETE /") "\r\n", &answer);
	expect_part(&answer, "HTTP/1.1 405 ");
	expect(admin, "/healthz", 200, "ok\n");
	admin_stop(admin);
}
END_TEST

START_TEST(openmetrics_is_spoken_to_who_accepts_it)
{
	scoped_text struct text answer = { 0 };
	struct admin *admin = start();

	ask(admin,
	    REQUEST("GET /metrics") "Accept: application/openmetrics-text;"
				    "version=1.0.0;q=0.5,text/plain;"
				    "version=0.0.4;q=0.3\r\n\r\n",
	    &answer);
	expect_part(&answer, "Content-Type: application/openmetrics-text; "
			     "version=1.0.0; charset=utf-8\r\n");
	expect_part(&answer, "\r\n\r\n# EOF\n");
	ask(admin, REQUEST("GET /metrics") "Accept: */*\r\n\r\n", &answer);
	expect_part(&answer, "Content-Type: text/plain; version=0.0.4; "
			     "charset=utf-8\r\n");
	expect_part(&answer, "\r\n\r\nonced_x 1\n");
	admin_stop(admin);
}
END_TEST

/* One that sends nothing, one that stops in its first line, one that stays
 * after its answer. */
static void open_slow_clients(struct admin *admin, int fds[3])
{
	fds[0] = open_request(admin, "");
	fds[1] = open_request(admin, "GET /met");
	fds[2] =
		open_request(admin, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

START_TEST(slow_clients_hold_up_neither_others_nor_the_stop)
{
	struct admin *admin = start();
	int64_t began_ms = clock_ms();
	int fds[3];

	open_slow_clients(admin, fds);
	expect(admin, "/healthz", 200, "ok\n");
	admin_stop(admin);
	ck_assert_int_lt(clock_ms() - began_ms, 1000);
	close_all(fds, 3);
}
END_TEST

START_TEST(a_check_that_gives_no_reason_is_still_answered)
{
	const struct admin_views silent = { NULL, is_ill_and_silent,
					    is_ill_and_silent, show_metrics,
					    show_status };
	struct admin *admin = NULL;
	struct once_error err = { 0 };

	ck_assert_int_eq(admin_start("127.0.0.1:0", &silent, &admin, &err),
			 ONCE_OK);
	expect(admin, "/healthz", 503, "");
	admin_stop(admin);
}
END_TEST

START_TEST(a_process_with_a_thousand_files_is_still_seen)
{
	enum {
		FILES = 1100
	};
	struct rlimit limit = { FILES + 50, FILES + 50 };
	struct admin *admin;
	int fds[FILES];

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < FILES; i++)
		fds[i] = dup(0);
	admin = start();
	expect(admin, "/healthz", 200, "ok\n");
	admin_stop(admin);
	close_all(fds, FILES);
}
END_TEST

START_TEST(a_name_is_as_good_as_an_address)
{
	struct admin *admin = NULL;
	struct once_error err = { 0 };

	ck_assert_msg(admin_start("localhost:0", &views, &admin, &err) ==
			      ONCE_OK,
		      "%s", err.text);
	ck_assert_uint_ne(admin_port(admin), 0);
	admin_stop(admin);
}
END_TEST

START_TEST(what_is_no_port_is_refused)
{
	static const char *const wrong[] = {
		"127.0.0.1:99999", "127.0.0.1:",     "127.0.0.1:-1",
		"127.0.0.1:0x10",  "127.0.0.1:http", "127.0.0.1"
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct admin *admin = NULL;
		struct once_error err = { 0 };

		ck_assert_msg(admin_start(wrong[i], &views, &admin, &err) ==
				      ONCE_CONFIG,
			      "%s", wrong[i]);
		ck_assert_ptr_null(admin);
		ck_assert_ptr_nonnull(strstr(err.text, wrong[i]));
	}
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
	ck_assert_ptr_nonnull(strstr(err.text, "could not listen on \"127.0"));
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
	tcase_add_test(
		tests,
		a_browser_gets_the_status_as_a_page_and_a_script_as_json);
	tcase_add_test(tests, nothing_of_a_message_is_markup_on_the_page);
	tcase_add_test(tests, head_is_answered_without_the_page);
	tcase_add_test(tests, only_get_and_head_are_allowed);
	tcase_add_test(tests, openmetrics_is_spoken_to_who_accepts_it);
	tcase_add_test(tests, slow_clients_hold_up_neither_others_nor_the_stop);
	tcase_add_test(tests, a_check_that_gives_no_reason_is_still_answered);
	tcase_add_test(tests, a_process_with_a_thousand_files_is_still_seen);
	tcase_add_test(tests, a_name_is_as_good_as_an_address);
	tcase_add_test(tests, what_is_no_port_is_refused);
	tcase_add_test(tests, a_taken_port_is_said_with_what_to_do);
	tcase_add_test(tests, an_empty_address_turns_it_off);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
