/*
 * The postmaster is our child, not pg_ctl's, so that the kernel can tell it
 * when we die. It refuses to run as root: as root we give its directory to
 * another user, and it becomes that user.
 */
#include "postgres.h"

#include "clock.h"
#include "error.h"
#include "postgres_programs.h"
#include "stop_signal.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	INITDB_MS = 120000,
	START_MS = 60000,
	STOP_MS = 10000,
	LOOK_EVERY_MS = 10
};

/* What a person set for other servers must not lead away from this one. */
static void forget_other_servers(void)
{
	unsetenv("PGHOSTADDR");
	unsetenv("PGSERVICE");
	unsetenv("PGOPTIONS");
}

static enum once_status choose_user(struct child_options *options,
				    struct once_error *err)
{
	const struct passwd *user;

	if (geteuid() != 0)
		return ONCE_OK;
	user = getpwnam("postgres");
	if (user == NULL)
		user = getpwnam("nobody");
	if (user == NULL)
		return error_set(err, ONCE_CONFIG,
				 "PostgreSQL doesn't run as root, and there is "
				 "neither a user \"postgres\" nor \"nobody\"; "
				 "run this as another user");
	options->uid = user->pw_uid;
	options->gid = user->pw_gid;
	return ONCE_OK;
}

static enum once_status make_data_directory(const struct postgres *postgres,
					    const struct child_options *options,
					    struct once_error *err)
{
	if (mkdir(postgres->data, 0700) == 0 &&
	    (options->uid == 0 ||
	     chown(postgres->data, options->uid, options->gid) == 0))
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "could not make the directory \"%s\": %s",
			 postgres->data, strerror(errno));
}

static enum once_status run_initdb(const struct postgres *postgres,
				   const char *programs,
				   struct child_options options,
				   struct once_error *err)
{
	char initdb[PROGRAM_PATH_SIZE + 16];
	/* Whom "trust" trusts is decided by the mode of the directory. */
	const char *argv[] = { initdb,       "-D",        postgres->data,
			       "-U",         "postgres",  "-A",
			       "trust",      "-E",        "UTF8",
			       "--locale=C", "--no-sync", "--no-instructions",
			       NULL };

	snprintf(initdb, sizeof(initdb), "%s/initdb", programs);
	options.argv = argv;
	return child_run(&options, INITDB_MS, err);
}

static enum once_status start_server(struct postgres *postgres,
				     const char *programs,
				     struct child_options options,
				     struct once_error *err)
{
	char server[PROGRAM_PATH_SIZE + 16];
	char socket[SCRATCH_PATH_SIZE + 64];
	/* A toy: nothing outlives the process, so nothing waits for a disk. */
	const char *argv[] = { server,
			       "-D",
			       postgres->data,
			       "-c",
			       socket,
			       "-c",
			       "listen_addresses=",
			       "-c",
			       "port=5432",
			       "-c",
			       "fsync=off",
			       "-c",
			       "full_page_writes=off",
			       "-c",
			       "synchronous_commit=off",
			       "-c",
			       "deadlock_timeout=100ms",
			       NULL };

	snprintf(server, sizeof(server), "%s/postgres", programs);
	snprintf(socket, sizeof(socket), "unix_socket_directories=%s",
		 postgres->data);
	options.argv = argv;
	options.death_signal = SIGQUIT; /* nothing to save */
	return child_start(&postgres->server, &options, err);
}

/* Its last line says so once it takes connections. */
static bool is_ready(const struct postgres *postgres)
{
	char path[SCRATCH_PATH_SIZE + 48];
	char line[200];
	bool ready = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/postmaster.pid", postgres->data);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL)
		ready = strncmp(line, "ready", strlen("ready")) == 0;
	fclose(file);
	return ready;
}

static enum once_status explain(const struct postgres *postgres,
				struct once_error *err)
{
	if (stop_signal_is_pending())
		return error_set(err, ONCE_TRANSIENT, "interrupted");
	error_set(err, ONCE_TRANSIENT, "could not start PostgreSQL");
	child_add_last_line(err, postgres->log);
	return ONCE_TRANSIENT;
}

static enum once_status wait_until_ready(struct postgres *postgres,
					 struct once_error *err)
{
	int64_t end_ms = clock_ms() + START_MS;

	while (!is_ready(postgres))
		if (!child_is_running(&postgres->server) ||
		    clock_ms() > end_ms || !stop_signal_sleep(LOOK_EVERY_MS))
			return explain(postgres, err);
	return ONCE_OK;
}

enum once_status postgres_start(struct postgres *postgres,
				const char *directory, struct once_error *err)
{
	struct child_options options = { .output = postgres->log,
					 .death_signal = SIGKILL };
	char programs[PROGRAM_PATH_SIZE];
	enum once_status status = postgres_programs_find(programs, err);

	forget_other_servers();
	snprintf(postgres->data, sizeof(postgres->data), "%s/pg", directory);
	snprintf(postgres->log, sizeof(postgres->log), "%s/pg.log", directory);
	snprintf(postgres->conninfo, sizeof(postgres->conninfo),
		 "host=%s port=5432 user=postgres dbname=postgres",
		 postgres->data);
	if (status == ONCE_OK)
		status = choose_user(&options, err);
	if (status == ONCE_OK)
		status = make_data_directory(postgres, &options, err);
	if (status == ONCE_OK)
		status = run_initdb(postgres, programs, options, err);
	if (status == ONCE_OK)
		status = start_server(postgres, programs, options, err);
	if (status == ONCE_OK)
		status = wait_until_ready(postgres, err);
	return status;
}

void postgres_stop(struct postgres *postgres)
{
	child_stop(&postgres->server, SIGQUIT, STOP_MS);
}
