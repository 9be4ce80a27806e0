/*
 * test_top.c - what a person sees of a running onced: the keys that come again
 * and again, and where it stands, safe to be shown and no wider than 80
 * columns.
 */
#include "http_get.h"
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <bytes.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <readable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <text.h>
#include <unistd.h>

enum {
	WAIT_MS = 30000,
	SCREEN_MS = 15000,
	LONG_KEY = 200,
	CUT = 64
};

struct stage {
	struct onced_fixture fixture;
	struct onced onced;
	char long_key[LONG_KEY + 1];
};

static void init(struct stage *stage)
{
	onced_fixture_init(&stage->fixture, 2);
	onced_init(&stage->onced, &stage->fixture, NULL);
	memset(stage->long_key, 'k', LONG_KEY);
	stage->long_key[LONG_KEY] = '\0';
}

#define STEERING "evil\x1b[2J\n<script>"

/* Once, and then so often again, each time in another message. */
static void send_operation(struct stage *stage, const char *biz_id, int again)
{
	static int messages;

	for (int i = 0; i <= again; i++) {
		char msg_id[32];
		struct letter letter = { i % 2, msg_id, biz_id, NULL, "v" };

		snprintf(msg_id, sizeof(msg_id), "m%d", messages++);
		onced_fixture_send(&stage->fixture, &letter, 1);
	}
}

static void start_with_repetitions(struct stage *stage)
{
	static const struct letter same = { 0, "same", "once", NULL, "v" };

	onced_start(&stage->onced, NULL);
	send_operation(stage, "hottest", 7);
	send_operation(stage, stage->long_key, 5);
	send_operation(stage, STEERING, 3);
	send_operation(stage, "never again", 0);
	onced_fixture_send(&stage->fixture, &same, 1);
	onced_fixture_send(&stage->fixture, &same, 1);
	onced_fixture_wait_for_all(&stage->fixture, WAIT_MS);
	onced_fixture_check_effects(&stage->fixture, 5);
}

static char *output_of(struct stage *stage)
{
	char *output = read_file(stage->onced.output);

	ck_assert_ptr_nonnull(output);
	return output;
}

/* PostgreSQL knows JSON. */
static void check_json(struct stage *stage, const char *query,
		       const char *expected)
{
	char *output = output_of(stage);
	const char *values[] = { output };
	PGresult *res = PQexecParams(stage->fixture.pg.conn, query, 1, NULL,
				     values, NULL, NULL, 0);

	ck_assert_msg(PQresultStatus(res) == PGRES_TUPLES_OK, "%s: %s",
		      PQerrorMessage(stage->fixture.pg.conn), output);
	ck_assert_str_eq(PQgetvalue(res, 0, 0), expected);
	PQclear(res);
	free(output);
}

/* "#  times  error  share  by  key" */
static void check_row(const char *output, int rank, const char *kind,
		      const char *key, int count)
{
	char *copy = strdup(output);
	char *rest = NULL;
	char *line;

	for (line = strtok_r(copy, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		int at = 0;
		int got[3];
		char by[16];

		if (sscanf(line, "%d %d %d %*f%% %15s %n", &got[0], &got[1],
			   &got[2], by, &at) < 4 ||
		    got[0] != rank)
			continue;
		ck_assert_int_eq(got[1], count);
		ck_assert_int_eq(got[2], 0);
		ck_assert_str_eq(by, kind);
		ck_assert_str_eq(line + at, key);
		break;
	}
	ck_assert_msg(line != NULL, "no rank %d in\n%s", rank, output);
	free(copy);
}

static void check_table(struct stage *stage)
{
	char *output = output_of(stage);
	char cut[CUT + 8];

	snprintf(cut, sizeof(cut), "%.*s…", CUT - 1, stage->long_key);
	check_row(output, 1, "biz_id", "hottest", 7);
	check_row(output, 2, "biz_id", cut, 5);
	check_row(output, 3, "biz_id", "evil\\x1b[2J\\x0a<script>", 3);
	check_row(output, 4, "msg_id", "same", 1);
	ck_assert_ptr_null(strchr(output, '\x1b'));
	ck_assert_ptr_null(strstr(output, "never again"));
	free(output);
}

static void check_browser(struct stage *stage)
{
	char *page = NULL;

	ck_assert_int_eq(
		http_get_as(stage->onced.port, "/status", "text/html", &page),
		200);
	ck_assert_ptr_nonnull(strstr(page, "hottest"));
	ck_assert_ptr_nonnull(strstr(page, "&lt;script&gt;"));
	ck_assert_ptr_null(strstr(page, "<script"));
	free(page);
}

START_TEST(top_shows_the_hottest_first_and_nothing_dangerous)
{
	struct stage stage;

	init(&stage);
	start_with_repetitions(&stage);
	ck_assert_int_eq(onced_command(&stage.onced, "top", "--once"), 0);
	check_table(&stage);
	ck_assert_int_eq(onced_command(&stage.onced, "top", "--json"), 0);
	check_json(&stage,
		   "SELECT string_agg(concat_ws(' ', key->>'key_kind', "
		   "length(key->>'key'), key->>'count', key->>'error'), ', ') "
		   "FROM json_array_elements($1::json) AS route, "
		   "json_array_elements(route->'keys') AS key",
		   "biz_id 7 7 0, biz_id 64 5 0, biz_id 23 3 0, msg_id 4 1 0");
	check_browser(&stage);
	ck_assert_int_eq(onced_stop(&stage.onced), 0);
	ck_assert_int_eq(onced_command(&stage.onced, "top", NULL), 69);
	onced_check_output(&stage.onced, "no process answers at http://");
	onced_fixture_fini(&stage.fixture);
}
END_TEST

/* ---- on a terminal ---- */

static pid_t start_on_terminal(struct stage *stage, int *ret_fd)
{
	const struct winsize size = { .ws_row = 24, .ws_col = 80 };
	pid_t pid = forkpty(ret_fd, NULL, NULL, &size);

	ck_assert_int_ge(pid, 0);
	if (pid > 0)
		return pid;
	setenv("TERM", "xterm", 1);
	execl(getenv("ONCE_TEST_ONCED"), "onced", "top", "-c",
	      stage->onced.config, (char *)NULL);
	_exit(127);
}

/* Read on until the text is there. */
static void wait_for_screen(int fd, struct text *screen, const char *text)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	char part[4096];

	while (screen->data == NULL || strstr(screen->data, text) == NULL) {
		ssize_t size;

		ck_assert_msg(poll(&polled, 1, SCREEN_MS) == 1, "no %s in %s",
			      text, screen->data);
		size = read(fd, part, sizeof(part));
		ck_assert_msg(size > 0, "no %s in %s", text, screen->data);
		text_add(screen, part, (size_t)size);
	}
}

static void check_end(pid_t pid, int fd, int code)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == code);
	close(fd);
}

START_TEST(on_a_terminal_it_goes_on_until_ctrl_c)
{
	scoped_text struct text screen = { 0 };
	struct stage stage;
	int fd;
	pid_t pid;

	init(&stage);
	start_with_repetitions(&stage);
	pid = start_on_terminal(&stage, &fd);
	wait_for_screen(fd, &screen, "hottest");
	send_operation(&stage, "news", 9);
	wait_for_screen(fd, &screen, "news");
	ck_assert_int_eq(write(fd, "\x03", 1), 1);
	wait_for_screen(fd, &screen, "\033[?25h"); /* the cursor is back */
	check_end(pid, fd, 0);
	ck_assert_int_eq(onced_stop(&stage.onced), 0);

	pid = start_on_terminal(&stage, &fd);
	wait_for_screen(fd, &screen, "no process answers");
	check_end(pid, fd, 69);
	onced_fixture_fini(&stage.fixture);
}
END_TEST

/* ---- status ---- */

static void check_width(struct stage *stage)
{
	char *output = output_of(stage);

	for (const char *at = output; *at != '\0';) {
		size_t size = strcspn(at, "\n");

		ck_assert_msg(readable_width(bytes_of(at, size)) <= 80, "%s",
			      output);
		at += size + (at[size] == '\n');
	}
	free(output);
}

static void take_topic_of_40_characters(struct stage *stage)
{
	struct kafka_fixture *kafka = &stage->fixture.kafka;
	size_t size = strlen(kafka->topic);

	/* The monitor knows the shorter one. */
	onced_fixture_without_monitor(&stage->fixture);
	ck_assert_uint_lt(size, 40);
	memset(kafka->topic + size, 'x', 40 - size);
	kafka->topic[40] = '\0';
	kafka_fixture_create_topic(kafka, kafka->topic, 2, NULL);
	onced_init(&stage->onced, &stage->fixture, NULL);
}

START_TEST(status_fits_80_columns_with_the_process_and_without_it)
{
	static const struct letter dead = { 0, "m", "b", "reject", "v" };
	struct stage stage;

	init(&stage);
	take_topic_of_40_characters(&stage);
	onced_fixture_send(&stage.fixture, &dead, 1);
	start_with_repetitions(&stage);
	onced_wait_until_ready(&stage.onced, WAIT_MS);
	ck_assert_int_eq(onced_command(&stage.onced, "status", NULL), 0);
	check_width(&stage);
	onced_check_output(&stage.onced, "ready, pid ");
	onced_check_output(&stage.onced, "  running  ");
	onced_check_output(&stage.onced, "retention  forever");
	onced_check_output(&stage.onced, "rejected");
	ck_assert_int_eq(onced_command(&stage.onced, "status", "--json"), 0);
	check_json(&stage,
		   "SELECT concat_ws(' ', $1::json #>> '{database,reached}', "
		   "$1::json #>> '{process,status,routes,0,handled}', "
		   "$1::json #>> '{process,status,routes,0,dead}', "
		   "$1::json #>> '{database,parked,0,cause}', "
		   "json_array_length($1::json #> '{database,position}'))",
		   "true 5 1 rejected 2");
	ck_assert_int_eq(onced_stop(&stage.onced), 0);

	ck_assert_int_eq(onced_command(&stage.onced, "status", NULL), 0);
	check_width(&stage);
	onced_check_output(&stage.onced, "no process answers");
	onced_check_output(&stage.onced, "not read");
	onced_check_output(&stage.onced, "rejected");
	ck_assert_int_eq(onced_command(&stage.onced, "status", "--json"), 0);
	check_json(&stage,
		   "SELECT concat_ws(' ', $1::json #>> '{database,reached}', "
		   "$1::json #>> '{process,reached}')",
		   "true false");
	onced_fixture_fini(&stage.fixture);
}
END_TEST

/* The same file, but for the database. */
static void write_elsewhere(struct stage *stage, char path[PATH_MAX])
{
	char *whole = read_file(stage->onced.config);
	char *conninfo = strstr(whole, "conninfo: ");
	FILE *file;

	ck_assert_ptr_nonnull(conninfo);
	ck_assert_int_lt(snprintf(path, PATH_MAX, "%s/elsewhere.yaml",
				  stage->fixture.dir.path),
			 PATH_MAX);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "%.*sconninfo: host=127.0.0.1 port=1 user=nobody%s",
		(int)(conninfo - whole), whole, strchr(conninfo, '\n'));
	ck_assert_int_eq(fclose(file), 0);
	free(whole);
}

START_TEST(status_without_the_database_still_shows_the_process)
{
	struct onced_options options = {
		.database = "prefilter:\n  local:\n    max_memory: 2MiB\n"
	};
	struct stage stage;
	char path[PATH_MAX];

	init(&stage);
	onced_init(&stage.onced, &stage.fixture, &options);
	start_with_repetitions(&stage);
	onced_wait_until_ready(&stage.onced, WAIT_MS);
	write_elsewhere(&stage, path);
	snprintf(stage.onced.config, sizeof(stage.onced.config), "%s", path);
	ck_assert_int_eq(onced_command(&stage.onced, "status", NULL), 69);
	onced_check_output(&stage.onced, "could not connect");
	onced_check_output(&stage.onced, "this process");
	onced_check_output(&stage.onced, "local, up to 2.0 MiB");
	onced_check_output(&stage.onced, "batch  local  redis  database");
	ck_assert_int_eq(onced_command(&stage.onced, "status", "--json"), 69);
	ck_assert_int_eq(onced_stop(&stage.onced), 0);
	onced_fixture_fini(&stage.fixture);
}
END_TEST

/* ---- a token ---- */

static void write_text(const char *path, const char *before, const char *lines,
		       const char *after)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fprintf(file, "%s%s%s", before, lines, after);
	ck_assert_int_eq(fclose(file), 0);
}

/* In place of what the file says of the admin port. */
static void write_admin(struct stage *stage, const char *lines)
{
	char *whole = read_file(stage->onced.config);
	char *admin = strstr(whole, "admin:\n");
	char *rest = strstr(whole, "log:\n");

	ck_assert(admin != NULL && rest != NULL && admin < rest);
	*admin = '\0';
	rest = strdup(rest);
	write_text(stage->onced.config, whole, lines, rest);
	free(rest);
	free(whole);
}

#define TOKEN "a-token-that-nobody-sees"

static void guard(struct stage *stage)
{
	char path[PATH_MAX];
	char lines[256];

	ck_assert_int_lt(snprintf(path, sizeof(path), "%s/admin-token",
				  stage->fixture.dir.path),
			 PATH_MAX);
	write_text(path, TOKEN, "\n", "");
	snprintf(lines, sizeof(lines),
		 "admin:\n  listen: 0.0.0.0:%d\n"
		 "  token: ${file:admin-token}\n",
		 stage->onced.port);
	write_admin(stage, lines);
}

static void check_guarded(struct stage *stage)
{
	char *page = NULL;

	ck_assert_int_eq(http_get(stage->onced.port, "/status", &page), 401);
	ck_assert_ptr_null(strstr(page, "hottest"));
	free(page);
	ck_assert_int_eq(http_get(stage->onced.port, "/metrics", NULL), 401);
	ck_assert_int_eq(http_get(stage->onced.port, "/healthz", NULL), 200);
	ck_assert_int_eq(onced_command(&stage->onced, "top", "--once"), 0);
	onced_check_output(&stage->onced, "hottest");
	ck_assert_int_eq(onced_command(&stage->onced, "status", NULL), 0);
	onced_check_output(&stage->onced, "ready, pid ");
}

START_TEST(with_a_token_status_and_top_go_on_working_and_strangers_see_nothing)
{
	struct stage stage;
	char lines[64];

	init(&stage);
	guard(&stage);
	start_with_repetitions(&stage);
	onced_wait_until_ready(&stage.onced, WAIT_MS);
	check_guarded(&stage);
	ck_assert(!onced_has_logged(&stage.onced, TOKEN));
	ck_assert(!onced_has_logged(&stage.onced, "no admin.token"));
	snprintf(lines, sizeof(lines), "admin:\n  listen: 0.0.0.0:%d\n",
		 stage.onced.port);
	write_admin(&stage, lines);
	ck_assert_int_eq(onced_command(&stage.onced, "top", "--once"), 78);
	onced_check_output(&stage.onced, "admin.token");
	ck_assert_int_eq(onced_stop(&stage.onced), 0);
	onced_start(&stage.onced, NULL);
	onced_wait_for_log(&stage.onced, "no admin.token", WAIT_MS);
	ck_assert_int_eq(onced_stop(&stage.onced), 0);
	onced_fixture_fini(&stage.fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("top");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests,
		       top_shows_the_hottest_first_and_nothing_dangerous);
	tcase_add_test(tests, on_a_terminal_it_goes_on_until_ctrl_c);
	tcase_add_test(tests,
		       status_fits_80_columns_with_the_process_and_without_it);
	tcase_add_test(tests,
		       status_without_the_database_still_shows_the_process);
	tcase_add_test(
		tests,
		with_a_token_status_and_top_go_on_working_and_strangers_see_nothing);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
