/*
 * pg_server.c - a PostgreSQL of one's own.
 *
 * The idea: the postmaster is our child, not pg_ctl's, so the kernel can tell
 * it when we die (SIGQUIT: it takes its children and its shared memory along).
 * It refuses to run as root; the directory is given to another user then.
 */
#include "pg_server.h"

#include "free_port.h"

#include <error.h>
#include <glob.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#define INITDB_MS 120000
#define START_MS 60000
#define STOP_MS 60000
#define MAX_SETTINGS 64

/* Debian keeps them out of PATH, in a directory for each version. */
static enum once_status find_program(char path[PATH_MAX], const char *name,
				     struct once_error *err)
{
	char pattern[128];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/usr/lib/postgresql/*/bin/%s",
		 name);
	if (glob(pattern, 0, NULL, &found) == 0) {
		snprintf(path, PATH_MAX, "%s",
			 found.gl_pathv[found.gl_pathc - 1]);
		globfree(&found);
		return ONCE_OK;
	}
	snprintf(path, PATH_MAX, "%s", name);
	snprintf(pattern, sizeof(pattern), "command -v %s >/dev/null", name);
	if (system(pattern) == 0)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "PostgreSQL's \"%s\" is neither in PATH nor in "
			 "/usr/lib/postgresql",
			 name);
}

static void set_user(struct process_options *options)
{
	const struct passwd *user;

	if (geteuid() != 0)
		return;
	user = getpwnam("postgres");
	if (user == NULL)
		user = getpwnam("nobody");
	if (user == NULL)
		return;
	options->uid = user->pw_uid;
	options->gid = user->pw_gid;
}

static enum once_status make_data_directory(struct pg_server *server,
					    struct once_error *err)
{
	struct process_options options = { 0 };

	set_user(&options);
	if (mkdir(server->data, 0700) == -1 ||
	    (options.uid != 0 &&
	     chown(server->data, options.uid, options.gid) == -1)) {
		return error_set(err, ONCE_CONFIG,
				 "could not make the directory \"%s\"",
				 server->data);
	}
	return ONCE_OK;
}

static enum once_status run_initdb(struct pg_server *server,
				   struct once_error *err)
{
	char program[PATH_MAX];
	/* clang-format off */
	const char *argv[] = { program, "-D", server->data, "-U", "postgres",
			       "-A", "trust", "-E", "UTF8",
			       "--locale=C.UTF-8", "--no-instructions",
			       "--no-sync", NULL };
	/* clang-format on */
	struct process_options options = { .argv = argv,
					   .output = server->log,
					   .directory = "/" };

	set_user(&options);
	if (find_program(program, "initdb", err) != ONCE_OK)
		return err->status;
	error_clear(err);
	if (process_run(&options, INITDB_MS, err) == 0)
		return ONCE_OK;
	if (err->status == ONCE_OK) {
		error_set(err, ONCE_CONFIG, "initdb failed; see \"%s\"",
			  server->log);
	}
	return err->status;
}

/* What is there already stays in force where we don't say otherwise. */
static enum once_status write_settings(struct pg_server *server,
				       const char *const *settings,
				       struct once_error *err)
{
	char path[PATH_MAX];
	FILE *file;

	if (temp_dir_path(path, server->data, "postgresql.auto.conf", err) !=
	    ONCE_OK)
		return err->status;
	file = fopen(path, "ae");
	if (file == NULL) {
		return error_set(err, ONCE_CONFIG, "could not write \"%s\"",
				 path);
	}
	fprintf(file,
		"listen_addresses = '127.0.0.1'\nport = %d\n"
		"unix_socket_directories = '%s'\nmax_connections = 100\n",
		server->port, server->data);
	for (; settings != NULL && *settings != NULL; settings++)
		fprintf(file, "%s\n", *settings);
	fclose(file);
	return ONCE_OK;
}

static enum once_status copy_primary(struct pg_server *server,
				     const struct pg_server *primary,
				     struct once_error *err)
{
	char program[PATH_MAX];
	/* clang-format off */
	const char *argv[] = { program, "-D", server->data,
			       "-d", primary->conninfo,
			       "--write-recovery-conf", "--checkpoint=fast",
			       "--no-sync", NULL };
	/* clang-format on */
	struct process_options options = { .argv = argv,
					   .output = server->log,
					   .directory = "/" };

	set_user(&options);
	if (find_program(program, "pg_basebackup", err) != ONCE_OK)
		return err->status;
	error_clear(err);
	if (process_run(&options, INITDB_MS, err) == 0)
		return ONCE_OK;
	if (err->status == ONCE_OK) {
		error_set(err, ONCE_CONFIG, "pg_basebackup failed; see \"%s\"",
			  server->log);
	}
	return err->status;
}

/* `primary` NULL: a new one. */
static enum once_status prepare(struct pg_server *server,
				const struct pg_server *primary,
				const char *const *settings,
				struct once_error *err)
{
	server->port = free_port_find(1);
	if (server->port == -1)
		return error_set(err, ONCE_TRANSIENT, "no port is free");
	snprintf(server->conninfo, sizeof(server->conninfo),
		 "host=127.0.0.1 port=%d user=postgres dbname=postgres",
		 server->port);
	if (temp_dir_path(server->data, server->dir.path, "data", err) !=
		    ONCE_OK ||
	    temp_dir_path(server->log, server->dir.path, "log", err) != ONCE_OK)
		return err->status;
	if (make_data_directory(server, err) != ONCE_OK ||
	    (primary == NULL ? run_initdb(server, err)
			     : copy_primary(server, primary, err)) != ONCE_OK)
		return err->status;
	return write_settings(server, settings, err);
}

static enum once_status create(struct pg_server *server,
			       const struct pg_server *primary,
			       const char *const *settings,
			       struct once_error *err)
{
	memset(&server->process, 0, sizeof(server->process));
	server->clock[0] = '\0';
	if (temp_dir_init(&server->dir, err) != ONCE_OK ||
	    prepare(server, primary, settings, err) != ONCE_OK)
		return err->status;
	return pg_server_start(server, err);
}

enum once_status pg_server_create(struct pg_server *server,
				  const char *const *settings,
				  struct once_error *err)
{
	return create(server, NULL, settings, err);
}

enum once_status pg_server_create_standby(struct pg_server *server,
					  const struct pg_server *primary,
					  struct once_error *err)
{
	return create(server, primary, NULL, err);
}

static bool answers_or_has_ended(void *arg)
{
	struct pg_server *server = arg;

	return !process_is_running(&server->process) ||
	       PQping(server->conninfo) == PQPING_OK;
}

/* libfaketime, for a server with a clock of its own; all of it is read again
 * each time that the server asks for the time. */
struct faked {
	char preload[PATH_MAX];
	char file[PATH_MAX + 32];
	const char *env[5];
};

static bool fake_clock(const struct pg_server *server, struct faked *faked)
{
	glob_t found;

	if (glob("/usr/lib/*/faketime/libfaketime.so.1", 0, NULL, &found) != 0)
		return false;
	snprintf(faked->preload, sizeof(faked->preload), "LD_PRELOAD=%s",
		 found.gl_pathv[0]);
	globfree(&found);
	snprintf(faked->file, sizeof(faked->file), "FAKETIME_TIMESTAMP_FILE=%s",
		 server->clock);
	faked->env[0] = faked->preload;
	faked->env[1] = faked->file;
	faked->env[2] = "FAKETIME_NO_CACHE=1";
	faked->env[3] = "DONT_FAKE_MONOTONIC=1";
	faked->env[4] = NULL;
	return true;
}

void pg_server_set_clock(const struct pg_server *server, const char *offset)
{
	char path[PATH_MAX + 8];
	FILE *file;

	snprintf(path, sizeof(path), "%s.new", server->clock);
	file = fopen(path, "we");
	if (file == NULL)
		return;
	fprintf(file, "%s\n", offset);
	fchmod(fileno(file), 0644);
	fclose(file);
	rename(path, server->clock); /* nobody reads half of it */
}

enum once_status pg_server_create_with_clock(struct pg_server *server,
					     struct once_error *err)
{
	struct faked faked;

	memset(&server->process, 0, sizeof(server->process));
	if (temp_dir_init(&server->dir, err) != ONCE_OK ||
	    temp_dir_path(server->clock, server->dir.path, "clock", err) !=
		    ONCE_OK ||
	    prepare(server, NULL, NULL, err) != ONCE_OK)
		return err->status;
	if (!fake_clock(server, &faked))
		return error_set(err, ONCE_CONFIG,
				 "libfaketime isn't installed");
	pg_server_set_clock(server, "+0");
	return pg_server_start(server, err);
}

enum once_status pg_server_start(struct pg_server *server,
				 struct once_error *err)
{
	struct faked faked;
	char program[PATH_MAX];
	const char *argv[] = { program, "-D", server->data, NULL };
	struct process_options options = { .argv = argv,
					   .output = server->log,
					   .append = true,
					   .directory = "/",
					   .death_signal = SIGQUIT };

	set_user(&options);
	if (server->clock[0] != '\0' && fake_clock(server, &faked))
		options.env = faked.env;
	if (find_program(program, "postgres", err) != ONCE_OK ||
	    process_start(&server->process, &options, err) != ONCE_OK)
		return err->status;
	if (wait_until(answers_or_has_ended, server, START_MS) &&
	    process_is_running(&server->process))
		return ONCE_OK;
	return error_set(err, ONCE_TRANSIENT,
			 "PostgreSQL didn't start; see \"%s\"", server->log);
}

void pg_server_stop(struct pg_server *server)
{
	process_stop(&server->process, SIGINT, STOP_MS);
}

void pg_server_crash(struct pg_server *server)
{
	process_stop(&server->process, SIGQUIT, STOP_MS);
}

/* The postmaster last when it is to go on: it would take a child that stands
 * still for one that hangs. */
static void signal_children(const struct pg_server *server, int number)
{
	char path[64];
	char *children;
	char *rest;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
		 (int)server->process.pid, (int)server->process.pid);
	children = read_file(path);
	for (char *pid = children == NULL ? NULL
					  : strtok_r(children, " ", &rest);
	     pid != NULL; pid = strtok_r(NULL, " ", &rest))
		kill((pid_t)strtol(pid, NULL, 10), number);
	free(children);
}

void pg_server_freeze(struct pg_server *server)
{
	process_signal(&server->process, SIGSTOP);
	signal_children(server, SIGSTOP);
}

void pg_server_thaw(struct pg_server *server)
{
	signal_children(server, SIGCONT);
	process_signal(&server->process, SIGCONT);
}

/* Line 7 of postmaster.pid: the key and the id of the shared memory by which a
 * postmaster knows that children of a killed one are still there. -1: none. */
static int find_shared_memory(const struct pg_server *server)
{
	char path[PATH_MAX + 16];
	char line[128] = "";
	long id = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/postmaster.pid", server->data);
	file = fopen(path, "re");
	if (file == NULL)
		return -1;
	for (int i = 0; i < 7 && fgets(line, sizeof(line), file) != NULL; i++)
		;
	if (sscanf(line, "%*u %ld", &id) != 1)
		id = -1;
	fclose(file);
	return (int)id;
}

static bool nobody_is_attached(void *arg)
{
	const int *id = arg;
	struct shmid_ds state;

	return shmctl(*id, IPC_STAT, &state) == -1 || state.shm_nattch == 0;
}

void pg_server_kill(struct pg_server *server)
{
	int id = find_shared_memory(server);

	process_kill(&server->process);
	if (id == -1)
		return;
	if (wait_until(nobody_is_attached, &id, STOP_MS))
		shmctl(id, IPC_RMID, NULL);
}

void pg_server_destroy(struct pg_server *server)
{
	if (!process_stop(&server->process, SIGQUIT, STOP_MS))
		pg_server_kill(server);
	temp_dir_fini(&server->dir);
}
