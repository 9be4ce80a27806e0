/*
 * test_interrupted.c - a command that waits for a server or a lock ends when it
 * is told to, and by itself after a while, with a sentence that says what it
 * waited for.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PROMPT_MS = 3000, /* "at once", on a busy machine */
	WAIT_MS = 40000,
	MOST_WORDS = 6
};

struct interrupted {
	struct onced_fixture fixture;
	struct onced onced;
};

/* clang-format off */
static const struct waiting_command {
	const char *words[MOST_WORDS];
	const char *told; /* what it says when it is interrupted; NULL: nothing */
} commands[] = {
	{ { "check" },                      NULL },
	{ { "migrate" },                    "run it again" },
	{ { "status" },                     NULL },
	{ { "parked", "list" },             NULL },
	{ { "parked", "redrive", "--all" }, "stays redriven" },
	{ { "parked", "discard", "--all" }, "stays discarded" },
	{ { "seek", "--to", "earliest", "--topic", "TOPIC" }, "or none" },
	{ { "gc" },                         NULL },
	{ { "gc", "--dry-run" },            NULL },
};
/* clang-format on */

enum {
	COUNT_COMMANDS = sizeof(commands) / sizeof(commands[0])
};

static void init(struct interrupted *test, const struct onced_options *options)
{
	onced_fixture_init(&test->fixture, 1);
	onced_init(&test->onced, &test->fixture, options);
}

static void make_output(const struct interrupted *test, size_t number,
			char output[PATH_MAX])
{
	ck_assert_int_lt(snprintf(output, PATH_MAX, "%s/%zu.out",
				  test->fixture.dir.path, number),
			 PATH_MAX);
}

static void start(struct interrupted *test, size_t number,
		  struct process *process)
{
	const char *argv[MOST_WORDS + 4] = { test->onced.program };
	char output[PATH_MAX];
	struct process_options options = { .argv = argv, .output = output };
	struct once_error err;
	size_t count = 1;

	make_output(test, number, output);
	while (commands[number].words[count - 1] != NULL) {
		const char *word = commands[number].words[count - 1];

		argv[count++] = strcmp(word, "TOPIC") == 0
					? test->fixture.kafka.topic
					: word;
	}
	argv[count] = "-c";
	argv[count + 1] = test->onced.config;
	ck_assert_msg(process_start(process, &options, &err) == ONCE_OK, "%s",
		      err.text);
}

static void check_output(struct interrupted *test, size_t number,
			 const char *text)
{
	char output[PATH_MAX];
	char *written;

	make_output(test, number, output);
	written = read_file(output);
	ck_assert_ptr_nonnull(written);
	ck_assert_msg(strstr(written, text) != NULL, "%s: no \"%s\" in: %s",
		      commands[number].words[0], text, written);
	free(written);
}

static void start_all(struct interrupted *test,
		      struct process processes[COUNT_COMMANDS])
{
	for (size_t i = 0; i < COUNT_COMMANDS; i++)
		start(test, i, &processes[i]);
}

static void lock(struct interrupted *test)
{
	pg_fixture_run(&test->fixture.pg,
		       "BEGIN; LOCK TABLE once.migration, once.parked, "
		       "once.instance "
		       "IN ACCESS EXCLUSIVE MODE");
}

static void wait_until_all_wait(struct interrupted *test)
{
	onced_fixture_wait_for(
		&test->fixture,
		"SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted "
		"AND relation = 'once.migration'::regclass",
		COUNT_COMMANDS, WAIT_MS);
}

/* 0: Ctrl-C; 1: a service manager. */
START_TEST(a_command_behind_a_lock_ends_when_it_is_told_to)
{
	static const int signals[] = { SIGINT, SIGTERM };
	struct process processes[COUNT_COMMANDS];
	struct interrupted test;

	init(&test, NULL);
	onced_fixture_without_monitor(&test.fixture);
	lock(&test);
	start_all(&test, processes);
	wait_until_all_wait(&test);
	for (size_t i = 0; i < COUNT_COMMANDS; i++)
		process_signal(&processes[i], signals[_i]);
	for (size_t i = 0; i < COUNT_COMMANDS; i++) {
		ck_assert_msg(process_wait(&processes[i], PROMPT_MS),
			      "%s doesn't end", commands[i].words[0]);
		ck_assert_int_eq(process_exit_code(&processes[i]),
				 128 + signals[_i]);
		if (commands[i].told != NULL)
			check_output(&test, i, commands[i].told);
	}
	pg_fixture_run(&test.fixture.pg, "ROLLBACK");
	onced_fixture_fini(&test.fixture);
}
END_TEST

START_TEST(a_command_behind_a_lock_says_who_has_it)
{
	struct process processes[COUNT_COMMANDS];
	struct interrupted test;
	char holder[64];

	init(&test, NULL);
	onced_fixture_without_monitor(&test.fixture);
	snprintf(holder, sizeof(holder), "pid %d has it",
		 PQbackendPID(test.fixture.pg.conn));
	lock(&test);
	start_all(&test, processes);
	for (size_t i = 0; i < COUNT_COMMANDS; i++) {
		ck_assert_msg(process_wait(&processes[i], WAIT_MS),
			      "%s doesn't end", commands[i].words[0]);
		ck_assert_int_eq(process_exit_code(&processes[i]), 69);
		check_output(&test, i, "could not get a lock in time");
		check_output(&test, i, holder);
	}
	pg_fixture_run(&test.fixture.pg, "ROLLBACK");
	onced_fixture_fini(&test.fixture);
}
END_TEST

/* A migration that has to wait for one of another process, or for a table. */
START_TEST(a_migration_behind_a_lock_says_who_has_it)
{
	struct interrupted test;
	char holder[64];

	init(&test, NULL);
	onced_fixture_without_monitor(&test.fixture);
	snprintf(holder, sizeof(holder), "pid %d has it",
		 PQbackendPID(test.fixture.pg.conn));
	pg_fixture_run(&test.fixture.pg,
		       "DELETE FROM once.migration WHERE version = "
		       "(SELECT max(version) FROM once.migration)");
	pg_fixture_run(&test.fixture.pg,
		       "BEGIN; LOCK TABLE once.migration IN SHARE MODE");
	ck_assert_int_eq(onced_command(&test.onced, "migrate", NULL), 69);
	onced_check_output(&test.onced, "could not get a lock in time");
	onced_check_output(&test.onced, holder);
	pg_fixture_run(&test.fixture.pg, "ROLLBACK");
	onced_fixture_fini(&test.fixture);
}
END_TEST

/* The kernel accepts, and nobody ever says anything. */
static int listen_silently(int *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(listen(fd, 64), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size),
			 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static void sleep_a_moment(void)
{
	usleep(500000);
}

/* 0: it is told to end; 1: it is left alone. */
START_TEST(a_command_before_a_silent_server_ends)
{
	struct process processes[COUNT_COMMANDS];
	struct onced_options options = { 0 };
	struct interrupted test;
	char conninfo[64];
	int port;
	int fd = listen_silently(&port);

	snprintf(conninfo, sizeof(conninfo), "host=127.0.0.1 port=%d", port);
	options.conninfo = conninfo;
	init(&test, &options);
	start_all(&test, processes);
	sleep_a_moment();
	for (size_t i = 0; _i == 0 && i < COUNT_COMMANDS; i++)
		process_signal(&processes[i], SIGINT);
	for (size_t i = 0; i < COUNT_COMMANDS; i++) {
		ck_assert_msg(process_wait(&processes[i],
					   _i == 0 ? PROMPT_MS : 18000),
			      "%s doesn't end", commands[i].words[0]);
		ck_assert_int_eq(process_exit_code(&processes[i]),
				 _i == 0 ? 128 + SIGINT : 69);
	}
	close(fd);
	onced_fixture_fini(&test.fixture);
}
END_TEST

/* clang-format off */
static const struct {
	mode_t kind; /* 0: a directory */
	const char *sentence;
} odd[] = {
	{ S_IFIFO,  "is a pipe, not a file" },
	{ 0,        "is a directory, not a file" },
	{ S_IFSOCK, "is a socket, not a file" },
};
/* clang-format on */

static void make_odd(struct interrupted *test, mode_t kind, char *path)
{
	struct once_error err;

	ck_assert_int_eq(
		temp_dir_path(path, test->fixture.dir.path, "odd", &err),
		ONCE_OK);
	ck_assert_int_eq(
		kind == 0 ? mkdir(path, 0700) : mknod(path, kind | 0600, 0), 0);
}

START_TEST(what_is_no_file_is_refused_at_once)
{
	struct interrupted test;

	init(&test, NULL);
	make_odd(&test, odd[_i].kind, test.onced.config);
	ck_assert_int_eq(onced_command(&test.onced, "check", NULL), 78);
	onced_check_output(&test.onced, odd[_i].sentence);
	ck_assert_int_eq(onced_command(&test.onced, "run", NULL), 78);
	onced_check_output(&test.onced, odd[_i].sentence);
	onced_fixture_fini(&test.fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("interrupted");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_loop_test(
		tests, a_command_behind_a_lock_ends_when_it_is_told_to, 0, 2);
	tcase_add_test(tests, a_command_behind_a_lock_says_who_has_it);
	tcase_add_test(tests, a_migration_behind_a_lock_says_who_has_it);
	tcase_add_loop_test(tests, a_command_before_a_silent_server_ends, 0, 2);
	tcase_add_loop_test(tests, what_is_no_file_is_refused_at_once, 0,
			    (int)(sizeof(odd) / sizeof(odd[0])));
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
