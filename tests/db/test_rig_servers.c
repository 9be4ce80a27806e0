/*
 * test_rig_servers.c - no server and no directory outlives a test run, however
 * the run ends.
 */
#include "process.h"
#include "redis_server.h"
#include "servers.h"
#include "suite.h"
#include "temp_dir.h"

#include <scope.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 30000

/* A run in miniature: a runner that starts a server and then stays. */
struct run {
	struct temp_dir dir;
	struct process runner;
	char state[PATH_MAX];
	char directory[PATH_MAX]; /* of the server */
	pid_t keeper;
	pid_t server;
};

static bool has_state(void *arg)
{
	struct run *run = arg;

	return access(run->state, F_OK) == 0;
}

static pid_t read_pid(const struct run *run, const char *name)
{
	scoped_free char *pid = servers_read_state(run->state, name);

	ck_assert_ptr_nonnull(pid);
	return (pid_t)strtol(pid, NULL, 10);
}

/* The log lies in the server's directory. */
static void read_state(struct run *run)
{
	scoped_free char *log = servers_read_state(run->state, "log");

	ck_assert_ptr_nonnull(log);
	*strrchr(log, '/') = '\0';
	snprintf(run->directory, sizeof(run->directory), "%s", log);
	run->keeper = read_pid(run, "keeper");
	run->server = read_pid(run, "server");
}

static void start_run(struct run *run, const char *kind)
{
	char command[3 * PATH_MAX];
	const char *argv[] = { "/bin/sh", "-c", command, NULL };
	const char *env[] = { "ONCE_TEST_PG=", "ONCE_TEST_REDIS=", NULL };
	const struct process_options options = { .argv = argv, .env = env };
	struct once_error err;

	ck_assert_ptr_nonnull(getenv("ONCE_TEST_SERVERS"));
	ck_assert(temp_dir_init(&run->dir, &err) == ONCE_OK);
	ck_assert(temp_dir_path(run->state, run->dir.path, kind, &err) ==
		  ONCE_OK);
	snprintf(command, sizeof(command),
		 "'%s' start %s '%s'; exec sleep 1000",
		 getenv("ONCE_TEST_SERVERS"), kind, run->dir.path);
	ck_assert(process_start(&run->runner, &options, &err) == ONCE_OK);
	ck_assert(wait_until(has_state, run, WAIT_MS));
	read_state(run);
}

/* A zombie is gone, too: in a container nobody may be there to bury it. */
static bool is_gone(pid_t pid)
{
	scoped_free char *stat = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	stat = read_file(path);
	return stat == NULL || strstr(stat, ") Z ") != NULL;
}

static bool nothing_is_left(void *arg)
{
	struct run *run = arg;

	return is_gone(run->keeper) && is_gone(run->server) &&
	       access(run->directory, F_OK) == -1;
}

static const char *const kinds[] = { "pg", "redis" };

START_TEST(servers_end_when_their_runner_is_killed)
{
	struct run run;

	start_run(&run, kinds[_i]);
	ck_assert(!nothing_is_left(&run));
	process_kill(&run.runner);
	ck_assert(wait_until(nothing_is_left, &run, WAIT_MS));
	temp_dir_fini(&run.dir);
}
END_TEST

START_TEST(servers_end_when_their_keeper_is_killed)
{
	struct run run;

	start_run(&run, kinds[_i]);
	kill(run.keeper, SIGKILL);
	ck_assert(wait_until(nothing_is_left, &run, WAIT_MS));
	process_kill(&run.runner);
	temp_dir_fini(&run.dir);
}
END_TEST

START_TEST(the_directory_of_a_test_that_crashes_is_removed)
{
	char path[PATH_MAX] = "";
	int ends[2];
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct temp_dir dir;
		struct once_error err;

		if (temp_dir_init(&dir, &err) == ONCE_OK &&
		    write(ends[1], dir.path, sizeof(path)) > 0)
			raise(SIGKILL);
		_exit(1);
	}
	close(ends[1]);
	ck_assert_int_gt(read(ends[0], path, sizeof(path)), 0);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 100 && access(path, F_OK) == 0; i++)
		usleep(50000);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(redis_is_emptied_by_a_restart_and_answers_again)
{
	struct redis_server server;
	struct once_error err;

	ck_assert_msg(redis_server_create(&server, &err) == ONCE_OK, "%s",
		      err.text);
	ck_assert(redis_answers(server.port));
	redis_server_kill(&server);
	ck_assert(!redis_answers(server.port));
	ck_assert_msg(redis_server_start(&server, &err) == ONCE_OK, "%s",
		      err.text);
	ck_assert(redis_answers(server.port));
	redis_server_destroy(&server);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("the rig: servers");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(REDIS));
	tcase_add_loop_test(tests, servers_end_when_their_runner_is_killed, 0,
			    2);
	tcase_add_loop_test(tests, servers_end_when_their_keeper_is_killed, 0,
			    2);
	tcase_add_test(tests, the_directory_of_a_test_that_crashes_is_removed);
	tcase_add_test(tests, redis_is_emptied_by_a_restart_and_answers_again);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
