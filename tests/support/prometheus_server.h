/* prometheus_server.h - a Prometheus of a test's own, that scrapes one target
 * each second and evaluates our rules as often. */
#ifndef TEST_PROMETHEUS_SERVER_H
#define TEST_PROMETHEUS_SERVER_H

#include "process.h"
#include "temp_dir.h"

#include <jansson.h>

struct prometheus_server {
	struct temp_dir dir;
	struct process process;
	int port;
	char log[PATH_MAX];
};

/* Is the program there at all? */
bool prometheus_is_installed(void);

/* Job "onced" at that port of 127.0.0.1; `rules` is a file. Returns when it
 * answers. Whatever is returned, give it to prometheus_server_destroy(). */
enum once_status prometheus_server_create(
	struct prometheus_server *server, int target_port, const char *rules,
	struct once_error *err) ONCE_MUST_CHECK;
void prometheus_server_destroy(struct prometheus_server *server);

/* The answer of "/api/v1/`what`", with "status" and, unless that is "success",
 * "error". `query` may be NULL. NULL: nobody answers. The caller's. */
json_t *prometheus_ask(const struct prometheus_server *server, const char *what,
		       const char *query) ONCE_MUST_CHECK;

#endif
