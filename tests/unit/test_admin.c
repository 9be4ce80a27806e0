/* The admin pages, asked over a real socket. */
#include "admin.h"
#include "admin_access.h"
#include "admin_connections.h"
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
#include <time.h>
#include <unistd.h>

static bool is_well(void *arg, struct text *why)
{
	(void)arg;
	(void)why;
	return true;
}

static bool is_well_but(void *arg, struct text *why)
{
	text_addf(why, "%s\n", (const char *)arg);
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

static enum once_status start_at(const char *listen, struct admin **ret_admin,
				 struct once_error *err)
{
	const struct admin_options options = { .listen = listen };

	return admin_start(&options, &views, ret_admin, err);
}

static struct admin *start_with(const struct admin_options *options,
				const struct admin_views *shown)
{
	struct admin *admin = NULL;
	struct once_error err = { 0 };

	ck_assert_msg(admin_start(options, shown, &admin, &err) == ONCE_OK,
		      "%s", err.text);
	return admin;
}

static const struct admin_options usual = { .listen = "127.0.0.1:0" };

static struct admin *start(void)
{
	return start_with(&usual, &views);
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

#define REQUEST(line) \
	line " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"

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

#define EVIL "<b>\\u202e\\u009b&'\\\""
#define SHOWN "&lt;b&gt;\\u202e\\x9b&amp;&#39;&quot;"

static void check_page(const char *json, const char *part)
{
	scoped_text struct text html = { 0 };

	ck_assert(status_page_render(json, &html));
	ck_assert_ptr_null(strstr(html.data, "<b>\\"));
	ck_assert_msg(strstr(html.data, part) != NULL, "no %s in\n%s", part,
		      html.data);
}

START_TEST(no_name_on_the_page_is_markup_or_turns_it_around)
{
	check_page("{\"group\":\"" EVIL "\"}", "onced: " SHOWN "</h1>");
	check_page("{\"version\":\"" EVIL "\"}", "Version " SHOWN ",");
	check_page("{\"prefilter\":{\"summary\":\"" EVIL "\"}}",
		   "Prefilter: " SHOWN "</p>");
	check_page("{\"not_ready_because\":\"a\\n" EVIL "\"}",
		   "a\n" SHOWN "</pre>");
	check_page("{\"partitions\":[{\"topic\":\"" EVIL "\"}]}",
		   "<td>" SHOWN "</td>");
	check_page("{\"partitions\":[{\"state\":\"s\",\"why\":\"" EVIL "\"}]}",
		   "s: " SHOWN "</td>");
	check_page("{\"routes\":[{\"route\":\"" EVIL "\"}]}",
		   "<td>" SHOWN "</td>");
	check_page("{\"routes\":[{\"duplicates\":{\"" EVIL "\":7}}]}",
		   SHOWN " 7</td>");
	check_page("{\"repeated\":[{\"keys\":[{\"key_kind\":\"" EVIL "\"}]}]}",
		   "<td>" SHOWN "</td>");
}
END_TEST

START_TEST(the_page_can_be_read_on_a_phone_and_says_at_once_what_is_wrong)
{
	static const char json[] =
		"{\"not_ready_because\":\"x\",\"partitions\":["
		"{\"topic\":\"b\",\"partition\":0},"
		"{\"topic\":\"a\",\"partition\":10},"
		"{\"topic\":\"a\",\"partition\":9,\"next_offset\":1234567,"
		"\"lag\":-1}]}";
	scoped_text struct text html = { 0 };
	const char *nine;
	const char *ten;

	ck_assert(status_page_render(json, &html));
	ck_assert_ptr_nonnull(strstr(html.data, "name=\"viewport\""));
	ck_assert_ptr_nonnull(strstr(html.data, "class=\"bad\">Not ready"));
	ck_assert_ptr_nonnull(strstr(html.data, ">1,234,567</td>"));
	ck_assert_ptr_nonnull(strstr(html.data, "href=\"/readyz\""));
	ck_assert_ptr_nonnull(strstr(html.data, " UTC"));
	nine = strstr(html.data, "<td>a</td><td class=\"n\">9</td>");
	ten = strstr(html.data, "<td>a</td><td class=\"n\">10</td>");
	ck_assert(nine != NULL && nine < ten);
	ck_assert(ten < strstr(html.data, "<td>b</td>"));
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

/* ---- crowds ---- */

enum {
	MOST_IN_A_CROWD = 1000
};

struct crowd {
	struct admin *admin;
	size_t count;
	int fds[MOST_IN_A_CROWD];
};

static void open_crowd(struct crowd *crowd, struct admin *admin, size_t count)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	crowd->admin = admin;
	crowd->count = count;
	for (size_t i = 0; i < count; i++)
		crowd->fds[i] = open_request(admin, "");
}

/* The next byte of a request on each; what was closed is opened again. */
static void send_drip(struct crowd *crowd, char byte)
{
	for (size_t i = 0; i < crowd->count; i++) {
		if (send(crowd->fds[i], &byte, 1, MSG_NOSIGNAL) == 1)
			continue;
		close(crowd->fds[i]);
		crowd->fds[i] = open_request(crowd->admin, "");
	}
}

static void check_that_probes_get_in(size_t count)
{
	struct admin *admin = start();
	struct crowd crowd;

	open_crowd(&crowd, admin, count);
	expect(admin, "/healthz", 200, "ok\n");
	for (const char *at = "GET /"; *at != '\0'; at++) {
		send_drip(&crowd, *at);
		expect(admin, "/healthz", 200, "ok\n");
	}
	admin_stop(admin);
	close_all(crowd.fds, count);
}

START_TEST(a_probe_gets_in_beside_32_that_send_byte_by_byte)
{
	check_that_probes_get_in(32);
}
END_TEST

START_TEST(a_probe_gets_in_beside_1000_that_send_byte_by_byte)
{
	check_that_probes_get_in(1000);
}
END_TEST

START_TEST(who_sends_byte_by_byte_is_let_go_in_time)
{
	struct admin *admin = start();
	int fd = open_request(admin, "GET /healthz HTTP/1.1\r\nX: ");
	int64_t end_ms = clock_ms() + 20000;
	const struct timespec pause = { 0, 250000000 };
	char byte;

	while (send(fd, "x", 1, MSG_NOSIGNAL) == 1 && clock_ms() < end_ms)
		nanosleep(&pause, NULL);
	ck_assert_msg(clock_ms() < end_ms, "it is still taken");
	ck_assert_int_le(recv(fd, &byte, 1, 0), 0);
	close(fd);
	admin_stop(admin);
}
END_TEST

/* ---- large answers, read slowly ---- */

enum {
	LARGE = 8 * 1024 * 1024
};

static void show_large(void *arg, struct text *json)
{
	static char part[64 * 1024];

	(void)arg;
	memset(part, 'x', sizeof(part));
	for (int i = 0; i < LARGE / (int)sizeof(part); i++)
		text_add(json, part, sizeof(part));
}

static const struct admin_views large = { because, is_well, is_ill,
					  show_metrics, show_large };

#define GET_STATUS "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n"

/* A small window, so that the answer waits on the other side. */
static int open_slow_reader(struct admin *admin)
{
	int fd = open_request(admin, "");
	int bytes = 64 * 1024;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	ck_assert_int_eq(send(fd, GET_STATUS, strlen(GET_STATUS), 0),
			 (ssize_t)strlen(GET_STATUS));
	return fd;
}

/* How many bytes come until it ends. */
static size_t read_slowly(int fd)
{
	const struct timespec pause = { 0, 1000000 };
	static char part[64 * 1024];
	size_t sum = 0;
	ssize_t size;

	while ((size = recv(fd, part, sizeof(part), 0)) > 0) {
		sum += (size_t)size;
		nanosleep(&pause, NULL);
	}
	close(fd);
	return sum;
}

START_TEST(who_reads_a_large_answer_slowly_is_not_driven_out_by_a_crowd)
{
	struct admin *admin = start_with(&usual, &large);
	int fd = open_slow_reader(admin);
	struct crowd crowd;

	open_crowd(&crowd, admin, 200);
	ck_assert_uint_gt(read_slowly(fd), LARGE);
	expect(admin, "/healthz", 200, "ok\n");
	admin_stop(admin);
	close_all(crowd.fds, crowd.count);
}
END_TEST

START_TEST(answers_that_nobody_reads_take_bounded_memory)
{
	enum {
		READERS = 12
	};
	struct admin *admin = start_with(&usual, &large);
	int fds[READERS];

	for (int i = 0; i < READERS; i++) {
		fds[i] = open_slow_reader(admin);
		expect(admin, "/healthz", 200, "ok\n");
	}
	ck_assert_uint_lt(read_slowly(fds[0]), LARGE);
	ck_assert_uint_gt(read_slowly(fds[READERS - 1]), LARGE);
	admin_stop(admin);
	close_all(fds + 1, READERS - 2);
}
END_TEST

/* ---- who goes, to the letter ---- */

static struct connection *add(struct connections *connections,
			      const char *address)
{
	struct sockaddr_in6 peer6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in peer = { .sin_family = AF_INET };
	const void *found = &peer;
	struct connection *connection;

	if (inet_pton(AF_INET, address, &peer.sin_addr) != 1) {
		ck_assert_int_eq(inet_pton(AF_INET6, address, &peer6.sin6_addr),
				 1);
		found = &peer6;
	}
	connection = connections_add(connections, -1, found, 0);
	ck_assert_ptr_nonnull(connection);
	return connection;
}

START_TEST(the_address_that_has_most_connections_loses_one)
{
	struct connections connections = { 0 };
	struct connection *probe = add(&connections, "10.0.0.1");
	struct connection *same = add(&connections, "::ffff:10.0.0.1");
	struct connection *first = add(&connections, "2001:db8::1");

	add(&connections, "2001:db8::2");
	add(&connections, "2001:db8::dead:beef:1:2"); /* the same network */
	connections_make_room(&connections);
	ck_assert(!first->cut);
	for (int i = 5; i < CONNECTIONS_MOST; i++)
		add(&connections, "2001:db8:0:1::1");
	connections_make_room(&connections);
	ck_assert(!probe->cut && !same->cut && !first->cut);
	ck_assert(connections.list[5].cut);
	ck_assert_ptr_null(connections_add(
		&connections, -1,
		(const struct sockaddr *)&(struct sockaddr_in){ 0 }, 0));
	connections_remove(&connections, &connections.list[5]);
	ck_assert_ptr_eq(add(&connections, "10.0.0.1"), &connections.list[5]);
}
END_TEST

START_TEST(of_one_address_the_oldest_whose_request_is_not_whole_goes_first)
{
	struct connections connections = { 0 };
	struct connection *read = add(&connections, "127.0.0.1");
	struct connection *older = add(&connections, "127.0.0.1");
	struct connection *newer = add(&connections, "127.0.0.1");

	connections_answer(&connections, read, 7, 0);
	connections_drop_one(&connections);
	ck_assert(older->cut && !newer->cut && !read->cut);
	connections_drop_one(&connections);
	ck_assert(newer->cut && !read->cut);
	connections_drop_one(&connections);
	ck_assert(read->cut);
	connections_drop_one(&connections);
}
END_TEST

START_TEST(a_request_and_its_answer_have_a_time_each)
{
	struct connections connections = { 0 };
	struct connection *slow = add(&connections, "127.0.0.1");
	struct connection *whole = add(&connections, "127.0.0.1");

	connections_answer(&connections, whole, 7, 1000);
	ck_assert_int_eq(connections_next_end(&connections),
			 CONNECTIONS_REQUEST_MS);
	connections_cut_late(&connections, CONNECTIONS_REQUEST_MS);
	ck_assert(slow->cut && !whole->cut);
	ck_assert_int_eq(connections_next_end(&connections),
			 1000 + CONNECTIONS_ANSWER_MS);
	connections_cut_late(&connections, 1000 + CONNECTIONS_ANSWER_MS);
	ck_assert(whole->cut);
	ck_assert_int_eq(connections_next_end(&connections), INT64_MAX);
}
END_TEST

/* ---- who is let in ---- */

#define TOKEN "0123456789abcdef="

static int code_of(struct admin *admin, const char *path, const char *headers,
		   struct text *answer)
{
	char request[1024];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n%s\r\n", path,
		 headers);
	ask(admin, request, answer);
	ck_assert_int_eq(strncmp(answer->data, "HTTP/1.1 ", 9), 0);
	return (int)strtol(answer->data + 9, NULL, 10);
}

static const char *const known_hosts[] = {
	"localhost",     "LOCALHOST:9464", "127.0.0.1:9464",
	"10.1.2.3",      "[::1]:9464",     "[2001:db8::1]",
	"localhost.:80", "onced.internal", "ONCED.internal:80",
};

START_TEST(names_of_ours_and_addresses_are_served)
{
	static const char *const hosts[] = { "a", "onced.internal" };
	struct admin_access access = { .token = "",
				       .hosts = hosts,
				       .host_count = 2,
				       .listen_host = "app-1" };

	for (size_t i = 0; i < sizeof(known_hosts) / sizeof(*known_hosts); i++)
		ck_assert_msg(access_knows_host(&access, known_hosts[i]), "%s",
			      known_hosts[i]);
	ck_assert(access_knows_host(&access, "app-1:9464"));
	ck_assert(access_knows_host(&access, NULL));
}
END_TEST

START_TEST(a_strangers_name_is_not_served)
{
	static const char *const names[] = {
		"evil.example",
		"evil.example:9464",
		"localhost.evil.example",
		"127.0.0.1.evil.example",
		"127.1",
		"2130706433",
		"[::1].evil.example",
		"[evil.example]",
		"localhost:80@evil",
		"",
		":9464",
		"::1",
		"app-10",
	};
	struct admin_access access = { .token = "", .listen_host = "app-1" };
	struct admin_access everywhere = { .token = "", .listen_host = "" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		ck_assert_msg(!access_knows_host(&access, names[i]), "%s",
			      names[i]);
		ck_assert_msg(!access_knows_host(&everywhere, names[i]), "%s",
			      names[i]);
	}
}
END_TEST

START_TEST(a_page_of_a_stranger_reads_nothing_and_is_told_what_to_configure)
{
	static const char *const paths[] = { "/", "/metrics", "/status", "/x" };
	scoped_text struct text answer = { 0 };
	struct admin *admin = start();

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		ck_assert_int_eq(code_of(admin, paths[i],
					 "Host: evil.example\r\n", &answer),
				 421);
		expect_part(&answer, "\"evil.example\" is not served");
		expect_part(&answer, "admin.hosts");
	}
	ck_assert_int_eq(
		code_of(admin, "/healthz", "Host: evil.example\r\n", &answer),
		200);
	ck_assert_int_eq(
		code_of(admin, "/readyz", "Host: evil.example\r\n", &answer),
		503);
	ck_assert_ptr_null(strstr(answer.data, because));
	ask(admin, "GET /status HTTP/1.0\r\n\r\n", &answer);
	expect_part(&answer, " 200 ");
	admin_stop(admin);
}
END_TEST

START_TEST(with_a_token_only_who_sends_it_sees_more_than_that_all_is_well)
{
	static const char *const wrong[] = {
		"",
		"Authorization: Bearer\r\n",
		"Authorization: Bearer \r\n",
		"Authorization: Bearer 0123456789abcdef\r\n",
		"Authorization: Bearer " TOKEN "=\r\n",
		"Authorization: Bearer " TOKEN TOKEN "\r\n",
		"Authorization: Bearer 0123456789abcdeF=\r\n",
		"Authorization: Basic " TOKEN "\r\n",
		"Authorization: " TOKEN "\r\n",
	};
	const struct admin_options options = { .listen = "127.0.0.1:0",
					       .token = TOKEN };
	struct admin *admin = start_with(&options, &views);
	scoped_text struct text answer = { 0 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char headers[256];

		snprintf(headers, sizeof(headers), "Host: 127.0.0.1\r\n%s",
			 wrong[i]);
		ck_assert_msg(code_of(admin, "/status", headers, &answer) ==
				      401,
			      "%s", headers);
		expect_part(&answer, "WWW-Authenticate: Bearer ");
		ck_assert_ptr_null(strstr(answer.data, "0123456789"));
	}
	expect(admin, "/healthz", 200, "ok\n");
	ck_assert_int_eq(code_of(admin, "/readyz", "Host: a\r\n", &answer),
			 503);
	ck_assert_ptr_null(strstr(answer.data, because));
	ck_assert_int_eq(code_of(admin, "/status",
				 "Host: any.example\r\n"
				 "authorization: bearer  " TOKEN "\r\n",
				 &answer),
			 200);
	ck_assert_int_eq(code_of(admin, "/readyz",
				 "Host: a\r\nAuthorization: Bearer " TOKEN
				 "\r\n",
				 &answer),
			 503);
	expect_part(&answer, because);
	admin_stop(admin);
}
END_TEST

/* Kafka is away, and a restart wouldn't help. */
START_TEST(what_is_well_tells_strangers_no_more_than_that)
{
	const struct admin_options options = { .listen = "127.0.0.1:0",
					       .token = TOKEN };
	const struct admin_views views_but = { because, is_well_but, is_ill,
					       show_metrics, show_status };
	struct admin *admin = start_with(&options, &views_but);
	scoped_text struct text answer = { 0 };

	expect(admin, "/healthz", 200, "ok\n");
	ck_assert_int_eq(code_of(admin, "/healthz", "", &answer), 200);
	ck_assert_ptr_null(strstr(answer.data, because));
	ck_assert_int_eq(code_of(admin, "/healthz",
				 "Authorization: Bearer " TOKEN "\r\n",
				 &answer),
			 200);
	expect_part(&answer, because);
	admin_stop(admin);
}
END_TEST

START_TEST(no_browser_keeps_or_frames_or_guesses_an_answer)
{
	scoped_text struct text answer = { 0 };
	struct admin *admin = start();

	code_of(admin, "/status", "Host: localhost\r\n", &answer);
	expect_part(&answer, "Cache-Control: no-store\r\n");
	expect_part(&answer, "X-Content-Type-Options: nosniff\r\n");
	expect_part(&answer, "X-Frame-Options: DENY\r\n");
	expect_part(&answer, "Referrer-Policy: no-referrer\r\n");
	expect_part(&answer, "Content-Security-Policy: default-src 'none';");
	expect_part(&answer, "frame-ancestors 'none'");
	admin_stop(admin);
}
END_TEST

static bool is_ill_and_evil(void *arg, struct text *why)
{
	(void)arg;
	text_adds(why, "lane 0: \x1b[2J\u202e\nlane 1: \xff\n");
	return false;
}

static void show_evil(void *arg, struct text *json)
{
	(void)arg;
	text_adds(json, "{\"key\":\"\xc2\x9b\u202e\x7f\"}\n");
}

START_TEST(what_curl_shows_of_it_steers_no_terminal)
{
	const struct admin_views evil = { NULL, is_ill_and_evil,
					  is_ill_and_evil, show_metrics,
					  show_evil };
	struct admin *admin = start_with(&usual, &evil);

	expect(admin, "/readyz", 503,
	       "lane 0: \\x1b[2J\\u202e\nlane 1: \\xff\n");
	expect(admin, "/status", 200, "{\"key\":\"\\u009b\\u202e\\u007f\"}\n");
	admin_stop(admin);
}
END_TEST

START_TEST(who_comes_while_there_is_no_file_left_is_answered_when_there_is)
{
	const struct timespec pause = { 0, 300000000 };
	struct admin *admin = start();
	scoped_text struct text answer = { 0 };
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct rlimit limit = { 64, 64 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int taken[64];
	char part[256];
	ssize_t size;
	size_t count = 0;

	address.sin_port = htons(admin_port(admin));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while ((taken[count] = dup(0)) >= 0)
		count++;
	ck_assert_int_eq(
		connect(fd, (const struct sockaddr *)&address, sizeof(address)),
		0);
	ck_assert_int_gt(send(fd, "GET /healthz HTTP/1.0\r\n\r\n", 25, 0), 0);
	nanosleep(&pause, NULL);
	ck_assert_int_lt(recv(fd, part, sizeof(part), MSG_DONTWAIT), 0);
	close_all(taken, count);
	while ((size = recv(fd, part, sizeof(part), 0)) > 0)
		text_add(&answer, part, (size_t)size);
	expect_part(&answer, " 200 ");
	close(fd);
	admin_stop(admin);
}
END_TEST

START_TEST(a_check_that_gives_no_reason_is_still_answered)
{
	const struct admin_views silent = { NULL, is_ill_and_silent,
					    is_ill_and_silent, show_metrics,
					    show_status };
	struct admin *admin = start_with(&usual, &silent);

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

	ck_assert_msg(start_at("localhost:0", &admin, &err) == ONCE_OK, "%s",
		      err.text);
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

		ck_assert_msg(start_at(wrong[i], &admin, &err) == ONCE_CONFIG,
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
	ck_assert_int_eq(start_at(listen, &second, &err), ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "could not listen on \"127.0"));
	ck_assert_ptr_nonnull(strstr(err.text, "set admin.listen to another"));
	ck_assert_int_eq(start_at("nonsense", &second, &err), ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "127.0.0.1:9464"));
	admin_stop(admin);
}
END_TEST

START_TEST(an_empty_address_turns_it_off)
{
	struct admin *admin = NULL;

	ck_assert_int_eq(start_at("", &admin, NULL), ONCE_OK);
	ck_assert_ptr_null(admin);
	ck_assert_uint_eq(admin_port(admin), 0);
	admin_stop(admin);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("admin");
	TCase *tests = tcase_create("admin");
	TCase *crowds = tcase_create("crowds");
	tcase_add_test(tests, each_page_says_what_its_view_says);
	tcase_add_test(
		tests,
		a_browser_gets_the_status_as_a_page_and_a_script_as_json);
	tcase_add_test(tests, nothing_of_a_message_is_markup_on_the_page);
	tcase_add_test(tests, no_name_on_the_page_is_markup_or_turns_it_around);
	tcase_add_test(
		tests,
		the_page_can_be_read_on_a_phone_and_says_at_once_what_is_wrong);
	tcase_add_test(tests, head_is_answered_without_the_page);
	tcase_add_test(tests, only_get_and_head_are_allowed);
	tcase_add_test(tests, openmetrics_is_spoken_to_who_accepts_it);
	tcase_add_test(tests, slow_clients_hold_up_neither_others_nor_the_stop);
	tcase_add_test(tests, the_address_that_has_most_connections_loses_one);
	tcase_add_test(
		tests,
		of_one_address_the_oldest_whose_request_is_not_whole_goes_first);
	tcase_add_test(tests, a_request_and_its_answer_have_a_time_each);
	tcase_add_test(tests, names_of_ours_and_addresses_are_served);
	tcase_add_test(tests, a_strangers_name_is_not_served);
	tcase_add_test(
		tests,
		a_page_of_a_stranger_reads_nothing_and_is_told_what_to_configure);
	tcase_add_test(
		tests,
		with_a_token_only_who_sends_it_sees_more_than_that_all_is_well);
	tcase_add_test(tests, what_is_well_tells_strangers_no_more_than_that);
	tcase_add_test(tests, no_browser_keeps_or_frames_or_guesses_an_answer);
	tcase_add_test(tests, what_curl_shows_of_it_steers_no_terminal);
	tcase_add_test(
		tests,
		who_comes_while_there_is_no_file_left_is_answered_when_there_is);
	tcase_add_test(tests, a_check_that_gives_no_reason_is_still_answered);
	tcase_add_test(tests, a_process_with_a_thousand_files_is_still_seen);
	tcase_add_test(tests, a_name_is_as_good_as_an_address);
	tcase_add_test(tests, what_is_no_port_is_refused);
	tcase_add_test(tests, a_taken_port_is_said_with_what_to_do);
	tcase_add_test(tests, an_empty_address_turns_it_off);
	suite_add_tcase(suite, tests);

	tcase_set_timeout(crowds, 60);
	tcase_add_test(crowds,
		       a_probe_gets_in_beside_32_that_send_byte_by_byte);
	tcase_add_test(crowds,
		       a_probe_gets_in_beside_1000_that_send_byte_by_byte);
	tcase_add_test(crowds, who_sends_byte_by_byte_is_let_go_in_time);
	tcase_add_test(
		crowds,
		who_reads_a_large_answer_slowly_is_not_driven_out_by_a_crowd);
	tcase_add_test(crowds, answers_that_nobody_reads_take_bounded_memory);
	suite_add_tcase(suite, crowds);
	return suite_run(suite);
}
