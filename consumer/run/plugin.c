/* dlopen, and saying well what is wrong. The descriptor's own check (ABI, size)
 * is libonce's. */
#include "plugin.h"

#include "error.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/lib-names.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TRY_SECONDS = 20
};

/* Somebody else's stands before libc's: LD_PRELOAD, or a sanitizer. */
static bool has_other_malloc(void)
{
	void *libc = dlopen(LIBC_SO, RTLD_NOW | RTLD_NOLOAD);
	void *all = dlopen(NULL, RTLD_NOW);
	bool other = libc == NULL || all == NULL ||
		     dlsym(libc, "malloc") != dlsym(all, "malloc");

	if (libc != NULL)
		dlclose(libc);
	if (all != NULL)
		dlclose(all);
	return other;
}

/* A plugin with its own zstd (or xxHash, libyaml, …) linked into it has to call
 * that one, not the one of the same name that we stand on: its names are looked
 * up in itself first. What it hasn't, and libraries that it shares with us, are
 * ours. But malloc and free must be the same for all; where libc's aren't used,
 * the usual order stays. */
static int binding(void)
{
	return has_other_malloc() ? 0 : RTLD_DEEPBIND;
}

static enum once_status open_library(const char *path, void **ret_library,
				     struct once_error *err)
{
	char with_slash[4096];

	snprintf(with_slash, sizeof(with_slash), "%s%s",
		 strchr(path, '/') == NULL ? "./" : "", path);
	*ret_library = dlopen(with_slash, RTLD_NOW | RTLD_LOCAL | binding());
	if (*ret_library != NULL)
		return ONCE_OK;
	return error_set(
		err, ONCE_CONFIG,
		"could not load plugin \"%s\": %s; build it as a shared "
		"object for this machine (cc -shared -fPIC $(pkg-config "
		"--cflags --libs once))",
		path, dlerror());
}

enum once_status plugin_load(const char *path,
			     const struct once_handler **ret_handler,
			     struct once_error *err)
{
	void *library;
	enum once_status status = open_library(path, &library, err);

	if (status != ONCE_OK)
		return status;
	*ret_handler = dlsym(library, "once_handler");
	if (*ret_handler != NULL)
		return ONCE_OK;
	return error_set(
		err, ONCE_CONFIG,
		"plugin \"%s\" defines no once_handler; define \"const "
		"struct once_handler once_handler\" in it",
		path);
}

/* ---- in a child ---- */

static enum once_status open_and_close(const struct once_route_options *options,
				       struct once_error *err)
{
	struct once_session_options session_options = { .route_count = 1 };
	const struct once_route *routes[1];
	struct once_session *session = NULL;
	struct once_route *route = NULL;
	enum once_status status = once_route_create(options, &route, err);

	if (status != ONCE_OK)
		return status;
	routes[0] = route;
	session_options.routes = routes;
	status = once_session_create(&session_options, &session, err);
	once_session_destroy(session);
	once_route_destroy(route);
	return status;
}

static void try_here(const char *path, const struct once_route_options *options,
		     int fd)
{
	struct once_route_options loaded = *options;
	struct once_error err = { 0 };
	enum once_status status = plugin_load(path, &loaded.handler, &err);

	if (status == ONCE_OK)
		status = open_and_close(&loaded, &err);
	err.status = status;
	if (write(fd, &err, sizeof(err)) != (ssize_t)sizeof(err))
		_exit(1);
	_exit(0);
}

static enum once_status describe_death(const char *path, int wait_status,
				       struct once_error *err)
{
	if (WIFSIGNALED(wait_status))
		return error_set(
			err, ONCE_CONFIG,
			"plugin \"%s\" killed its process while it was "
			"loaded and opened (%s); run it under a "
			"debugger",
			path, strsignal(WTERMSIG(wait_status)));
	return error_set(
		err, ONCE_CONFIG,
		"plugin \"%s\" ended its process with code %d while it "
		"was loaded and opened",
		path, WEXITSTATUS(wait_status));
}

static enum once_status hear_from(pid_t child, int fd, const char *path,
				  struct once_error *err)
{
	struct once_error said;
	ssize_t size = read(fd, &said, sizeof(said));
	int wait_status = 0;

	while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
		;
	if (size != (ssize_t)sizeof(said))
		return describe_death(path, wait_status, err);
	if (said.status != ONCE_OK && err != NULL)
		*err = said;
	return said.status;
}

enum once_status plugin_try(const char *path,
			    const struct once_route_options *options,
			    struct once_error *err)
{
	enum once_status status;
	int ends[2];
	pid_t child;

	if (pipe(ends) != 0)
		return error_set(err, ONCE_TRANSIENT,
				 "could not make a pipe: "
				 "%s",
				 strerror(errno));
	child = fork();
	if (child == 0) {
		close(ends[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(TRY_SECONDS);
		/* What it prints is no part of what was asked for. */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		try_here(path, options, ends[1]);
	}
	close(ends[1]);
	if (child < 0)
		status = error_set(err, ONCE_TRANSIENT, "could not fork: %s",
				   strerror(errno));
	else
		status = hear_from(child, ends[0], path, err);
	close(ends[0]);
	return status;
}
