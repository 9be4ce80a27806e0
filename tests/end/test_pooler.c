/*
 * test_pooler.c - a PgBouncer between onced and the database: one that gives
 * each transaction another session is refused, one that gives each connection a
 * session of its own is as good as none.
 */
#include "free_port.h"
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	WAIT_MS = 30000,
	SENT = 20
};

struct pooled {
	struct onced_fixture fixture;
	struct process pooler;
	int port;
	char conninfo[300]; /* by way of the pooler */
	struct onced onced;
};

static void write_settings(struct pooled *pooled, const char *path,
			   const char *mode, int size)
{
	PGconn *conn = pooled->fixture.pg.conn;
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"[databases]\n"
		"* = host=%s port=%s user=%s%s%s\n"
		"[pgbouncer]\n"
		"listen_addr = 127.0.0.1\n"
		"listen_port = %d\n"
		"unix_socket_dir =\n"
		"auth_type = any\n"
		"pool_mode = %s\n"
		"default_pool_size = %d\n",
		PQhost(conn), PQport(conn), PQuser(conn),
		PQpass(conn)[0] == '\0' ? "" : " password=", PQpass(conn),
		pooled->port, mode, size);
	ck_assert_int_eq(fclose(file), 0);
}

static bool answers(void *arg)
{
	struct pooled *pooled = arg;

	return PQping(pooled->conninfo) == PQPING_OK;
}

/* It doesn't run as root. (Told to become somebody else by itself, it would
 * outlive a test that fails.) */
static void start_pooler(struct pooled *pooled, const char *settings)
{
	const char *argv[] = { "pgbouncer", settings, NULL };
	const struct passwd *nobody = getpwnam("nobody");
	char log[PATH_MAX + 16];
	struct process_options options = { .argv = argv, .output = log };
	struct once_error err;

	snprintf(log, sizeof(log), "%s/pooler.log", pooled->fixture.dir.path);
	ck_assert_ptr_nonnull(nobody);
	if (geteuid() == 0) {
		options.uid = nobody->pw_uid;
		options.gid = nobody->pw_gid;
		ck_assert_int_eq(chmod(pooled->fixture.dir.path, 0755), 0);
	}
	ck_assert_msg(process_start(&pooled->pooler, &options, &err) == ONCE_OK,
		      "%s", err.text);
	if (!wait_until(answers, pooled, WAIT_MS)) {
		onced_fixture_show_logs(&pooled->fixture);
		ck_abort_msg("PgBouncer doesn't answer");
	}
}

/* The pooler isn't there yet. */
static void prepare(struct pooled *pooled, const char *mode, int size,
		    char settings[PATH_MAX + 16])
{
	struct onced_options options = { .conninfo = pooled->conninfo };

	memset(&pooled->pooler, 0, sizeof(pooled->pooler));
	onced_fixture_init(&pooled->fixture, 2);
	pooled->port = free_port_find(1);
	snprintf(pooled->conninfo, sizeof(pooled->conninfo),
		 "host=127.0.0.1 port=%d user=%s dbname=%s", pooled->port,
		 PQuser(pooled->fixture.pg.conn), pooled->fixture.pg.database);
	snprintf(settings, PATH_MAX + 16, "%s/pgbouncer.ini",
		 pooled->fixture.dir.path);
	write_settings(pooled, settings, mode, size);
	onced_init(&pooled->onced, &pooled->fixture, &options);
}

static void init(struct pooled *pooled, const char *mode, int size)
{
	char settings[PATH_MAX + 16];

	prepare(pooled, mode, size, settings);
	start_pooler(pooled, settings);
}

static void fini(struct pooled *pooled)
{
	process_kill(&pooled->pooler);
	onced_fixture_fini(&pooled->fixture);
}

static const struct {
	const char *mode;
	int size;
} refused[] = {
	{ "transaction", 20 },
	{ "transaction\nserver_round_robin = 1", 20 },
	{ "transaction", 1 },
	{ "statement", 20 },
};

START_TEST(a_pooler_that_shares_sessions_is_named_and_refused)
{
	struct pooled pooled;
	char place[64];

	init(&pooled, refused[_i].mode, refused[_i].size);
	snprintf(place, sizeof(place), "127.0.0.1:%d is a pooler", pooled.port);
	ck_assert_int_eq(onced_command(&pooled.onced, "check", NULL), 78);
	onced_check_output(&pooled.onced, place);
	onced_check_output(&pooled.onced, "pool_mode = session");
	ck_assert_int_eq(onced_command(&pooled.onced, "run", NULL), 78);
	onced_check_output(&pooled.onced, place);
	fini(&pooled);
}
END_TEST

START_TEST(a_pooler_with_a_session_for_each_connection_is_as_good_as_none)
{
	struct pooled pooled;

	init(&pooled, "session", 20);
	ck_assert_int_eq(onced_command(&pooled.onced, "check", NULL), 0);
	onced_start(&pooled.onced, NULL);
	onced_fixture_send_series(&pooled.fixture, 0, SENT);
	onced_fixture_wait_for_all(&pooled.fixture, WAIT_MS);
	onced_fixture_check_effects(&pooled.fixture, SENT);
	ck_assert_int_eq(onced_stop(&pooled.onced), 0);
	fini(&pooled);
}
END_TEST

/* What is wrong, and what is said of it. */
static const struct {
	const char *mode;
	const char *sql;
	const char *sentence;
} found_later[] = {
	{ "transaction", "SELECT 1", "is a pooler in transaction mode" },
	{ "session",
	  "ALTER TABLE once.parked REPLICA IDENTITY NOTHING; "
	  "CREATE PUBLICATION all_of_it FOR TABLE once.parked",
	  "published without a replica identity" },
};

/* Nobody can be asked at the start: then before anything is handled. */
START_TEST(what_is_not_there_at_the_start_is_checked_when_it_comes)
{
	struct pooled pooled;
	char settings[PATH_MAX + 16];

	prepare(&pooled, found_later[_i].mode, 20, settings);
	onced_fixture_without_monitor(&pooled.fixture);
	pg_fixture_run(&pooled.fixture.pg, found_later[_i].sql);
	onced_fixture_send_series(&pooled.fixture, 0, SENT);
	onced_start(&pooled.onced, NULL);
	onced_wait_for_log(&pooled.onced, "waiting for it", WAIT_MS);
	start_pooler(&pooled, settings);
	ck_assert_int_eq(onced_wait(&pooled.onced, WAIT_MS), 78);
	ck_assert(onced_has_logged(&pooled.onced, found_later[_i].sentence));
	onced_fixture_check_effects(&pooled.fixture, 0);
	fini(&pooled);
}
END_TEST

START_TEST(a_database_that_comes_later_is_worked_with)
{
	struct pooled pooled;
	char settings[PATH_MAX + 16];

	prepare(&pooled, "session", 20, settings);
	onced_start(&pooled.onced, NULL);
	onced_wait_for_log(&pooled.onced, "waiting for it", WAIT_MS);
	start_pooler(&pooled, settings);
	onced_fixture_send_series(&pooled.fixture, 0, SENT);
	onced_fixture_wait_for_all(&pooled.fixture, WAIT_MS);
	onced_fixture_check_effects(&pooled.fixture, SENT);
	ck_assert_int_eq(onced_stop(&pooled.onced), 0);
	fini(&pooled);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pooler");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	if (system("command -v pgbouncer >/dev/null") != 0) {
		fprintf(stderr, "there is no pgbouncer\n");
		return servers_skip_code();
	}
	tcase_add_loop_test(tests,
			    a_pooler_that_shares_sessions_is_named_and_refused,
			    0, sizeof(refused) / sizeof(*refused));
	tcase_add_test(
		tests,
		a_pooler_with_a_session_for_each_connection_is_as_good_as_none);
	tcase_add_loop_test(
		tests, what_is_not_there_at_the_start_is_checked_when_it_comes,
		0, sizeof(found_later) / sizeof(*found_later));
	tcase_add_test(tests, a_database_that_comes_later_is_worked_with);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
