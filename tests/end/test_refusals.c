/*
 * test_refusals.c - the database is there, but refuses: it takes no writes, has
 * no connection left, no disk, or doesn't answer. That is sat out too, and
 * readiness says so all the while.
 */
#define _GNU_SOURCE /* for unshare() */
#include "http_get.h"
#include "outage.h"
#include "servers.h"
#include "suite.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PARTITIONS = 2,
	LOAD_MS = 300,
	SERIES = 100, /* fills a page or two of a table */
	SLOTS = 12,
	FILL_SIZE = 1 << 16,
	SECONDS = 120
};

struct scene {
	struct pg_server server;
	struct onced_fixture fixture;
	struct onced onced;
};

static void set_scene(struct scene *scene, const char *const *settings)
{
	outage_create_server(&scene->server, settings);
	onced_fixture_init_at(&scene->fixture, PARTITIONS,
			      scene->server.conninfo);
	onced_init(&scene->onced, &scene->fixture, NULL);
}

static void start(struct scene *scene)
{
	onced_start(&scene->onced, NULL);
	onced_wait_until_ready(&scene->onced, OUTAGE_WAIT_MS);
	outage_send_for(&scene->fixture, LOAD_MS);
}

static void clear_scene(struct scene *scene)
{
	onced_fixture_fini(&scene->fixture);
	pg_server_destroy(&scene->server);
}

static int64_t count_answers(struct onced *onced)
{
	char *log = read_file(onced->log);
	int64_t count = 0;

	for (const char *at = log; at != NULL; at = strstr(at + 1, "answers "
								   "again"))
		count++;
	free(log);
	return count;
}

/* Red, and not now and then green. */
static void expect_refusals(struct scene *scene, const char *why)
{
	int64_t answers;

	onced_wait_until_not_ready(&scene->onced, why, OUTAGE_WAIT_MS);
	answers = count_answers(&scene->onced);
	outage_send_for(&scene->fixture, 2000);
	onced_wait_until_not_ready(&scene->onced, why, OUTAGE_WAIT_MS);
	ck_assert_int_eq(count_answers(&scene->onced), answers);
}

/* 0: it works on something; 1: it is idle. */
START_TEST(a_database_that_takes_no_writes_is_waited_for)
{
	struct scene scene;

	set_scene(&scene, NULL);
	start(&scene);
	if (_i == 1)
		onced_fixture_wait_for_all(&scene.fixture, OUTAGE_WAIT_MS);
	pg_fixture_run(&scene.fixture.pg,
		       "ALTER SYSTEM SET default_transaction_read_only = on");
	pg_fixture_run(&scene.fixture.pg, "SELECT pg_reload_conf()");
	if (_i == 1)
		onced_wait_until_not_ready(&scene.onced, "read-only",
					   OUTAGE_WAIT_MS);
	outage_send_for(&scene.fixture, LOAD_MS);
	expect_refusals(&scene, "read-only");
	pg_fixture_run(&scene.fixture.pg,
		       "ALTER SYSTEM SET default_transaction_read_only = off");
	pg_fixture_run(&scene.fixture.pg, "SELECT pg_reload_conf()");
	outage_check_that_nothing_happened(&scene.onced);
	clear_scene(&scene);
}
END_TEST

/* Take all slots that are left; how many. */
static int hog(const struct scene *scene, PGconn *conns[SLOTS], int taken)
{
	while (taken < SLOTS) {
		PGconn *conn = PQconnectdb(scene->server.conninfo);

		if (PQstatus(conn) != CONNECTION_OK) {
			PQfinish(conn);
			break;
		}
		conns[taken++] = conn;
	}
	return taken;
}

/* 0: none is left while it runs; 1: nor at the start. */
START_TEST(a_database_without_a_connection_left_is_waited_for)
{
	static const char *const few[] = { "max_connections = 10",
					   "superuser_reserved_connections = 0",
					   "autovacuum = off", NULL };
	PGconn *conns[SLOTS];
	struct scene scene;
	int taken = 0;

	set_scene(&scene, few);
	if (_i == 0)
		start(&scene);
	taken = hog(&scene, conns, taken);
	if (_i == 1)
		onced_start(&scene.onced, NULL);
	while (pg_fixture_end_sessions(&scene.fixture.pg, "onced") > 0)
		taken = hog(&scene, conns, taken);
	expect_refusals(&scene, "too many clients");
	while (taken > 0)
		PQfinish(conns[--taken]);
	outage_check_that_nothing_happened(&scene.onced);
	clear_scene(&scene);
}
END_TEST

/* Its sockets stay, and the kernel acknowledges what comes. */
START_TEST(a_database_that_stands_still_is_waited_for)
{
	struct scene scene;

	set_scene(&scene, NULL);
	start(&scene);
	onced_fixture_wait_for_all(&scene.fixture, OUTAGE_WAIT_MS);
	pg_server_freeze(&scene.server);
	outage_send_for(&scene.fixture, 5000);
	pg_server_thaw(&scene.server);
	outage_check_that_nothing_happened(&scene.onced);
	clear_scene(&scene);
}
END_TEST

/* ---- a disk that is full ---- */

static void write_map(const char *path, unsigned id)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fprintf(file, "%u %u 1\n", id, id);
	fclose(file);
}

static const char no_space[] = "No space left on device";

/* A place for mounts of our own; a user's, in a name space where he may. */
static bool may_mount(void)
{
	unsigned uid = geteuid();
	unsigned gid = getegid();
	FILE *groups;

	if (uid == 0)
		return unshare(CLONE_NEWNS) == 0 &&
		       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return false;
	groups = fopen("/proc/self/setgroups", "we");
	if (groups != NULL) {
		fputs("deny", groups);
		fclose(groups);
	}
	write_map("/proc/self/uid_map", uid);
	write_map("/proc/self/gid_map", gid);
	return true;
}

static void mount_small_disk(const struct pg_server *server, char *path)
{
	struct once_error err;
	struct stat data;

	ck_assert_int_eq(stat(server->data, &data), 0);
	ck_assert_int_eq(temp_dir_path(path, server->dir.path, "small", &err),
			 ONCE_OK);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(mount("small", path, "tmpfs", 0, "size=8m"), 0);
	ck_assert_int_eq(chown(path, data.st_uid, data.st_gid), 0);
}

/* All of it is written full, by somebody else's file. */
static void fill(const char *directory, char ballast[PATH_MAX])
{
	static const char data[FILL_SIZE];
	struct once_error err;
	FILE *file;

	ck_assert_int_eq(temp_dir_path(ballast, directory, "ballast", &err),
			 ONCE_OK);
	file = fopen(ballast, "we");
	ck_assert_ptr_nonnull(file);
	setvbuf(file, NULL, _IONBF, 0);
	while (fwrite(data, 1, FILL_SIZE, file) == FILL_SIZE)
		;
	fclose(file);
}

/* Where nothing may be mounted, the server says by order what a full disk makes
 * it say. */
static void pretend_to_be_full(struct scene *scene)
{
	pg_fixture_run(&scene->fixture.pg,
		       "CREATE FUNCTION no_space() RETURNS trigger "
		       "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
		       "'No space left on device' USING ERRCODE = '53100'; "
		       "END $$");
	start(scene);
	pg_fixture_run(&scene->fixture.pg,
		       "CREATE TRIGGER no_space BEFORE INSERT ON effect "
		       "FOR EACH ROW EXECUTE FUNCTION no_space()");
	outage_send_for(&scene->fixture, 2 * LOAD_MS);
	expect_refusals(scene, no_space);
	pg_fixture_run(&scene->fixture.pg, "DROP TRIGGER no_space ON effect");
}

static bool is_full(void *arg)
{
	struct scene *scene = arg;
	char *page;
	bool is;

	if (http_get(scene->onced.port, "/readyz", &page) == 200)
		onced_fixture_send_series(&scene->fixture, scene->fixture.sent,
					  SERIES);
	is = page != NULL && strstr(page, no_space) != NULL;
	free(page);
	return is;
}

/* A table that grows takes many pages at a time: what it has, must be used up
 * before it asks the disk for more. */
static void send_until_full(struct scene *scene)
{
	ck_assert(wait_until(is_full, scene, OUTAGE_WAIT_MS));
}

static void fill_a_small_disk(struct scene *scene)
{
	char small[PATH_MAX];
	char ballast[PATH_MAX];
	char sql[PATH_MAX + 128];

	mount_small_disk(&scene->server, small);
	snprintf(sql, sizeof(sql), "CREATE TABLESPACE small LOCATION '%s'",
		 small);
	pg_fixture_run(&scene->fixture.pg, sql);
	pg_fixture_run(&scene->fixture.pg,
		       "ALTER TABLE effect SET TABLESPACE small");
	start(scene);
	fill(small, ballast);
	send_until_full(scene);
	expect_refusals(scene, no_space);
	ck_assert_int_eq(unlink(ballast), 0);
}

START_TEST(a_full_disk_is_waited_for)
{
	bool is_real = may_mount();
	struct scene scene;

	set_scene(&scene, NULL);
	if (is_real)
		fill_a_small_disk(&scene);
	else
		pretend_to_be_full(&scene);
	ck_assert(onced_has_logged(&scene.onced, "sqlstate=53100"));
	outage_check_that_nothing_happened(&scene.onced);
	clear_scene(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refusals");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_set_timeout(tests, SECONDS);
	tcase_add_loop_test(
		tests, a_database_that_takes_no_writes_is_waited_for, 0, 2);
	tcase_add_loop_test(tests,
			    a_database_without_a_connection_left_is_waited_for,
			    0, 2);
	tcase_add_test(tests, a_database_that_stands_still_is_waited_for);
	suite_add_tcase(suite, tests);
	tests = tcase_create("disk");
	tcase_set_timeout(tests, SECONDS);
	tcase_add_test(tests, a_full_disk_is_waited_for);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
