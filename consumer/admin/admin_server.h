/*
 * admin_server.h - HTTP on one thread: takes connections, bounds their time,
 * their number and their memory, and has each request answered.
 *
 * Threads: main starts and stops it; the answers are made on *admin*.
 */
#ifndef ONCED_ADMIN_SERVER_H
#define ONCED_ADMIN_SERVER_H

#include "text.h"

struct server;

/* NULL: the header isn't there. */
struct request {
	const char *method;
	const char *path;
	const char *host;
	const char *authorization;
	const char *accepted;
};

struct answer {
	unsigned code;
	const char *type;
	struct text body;
};

/* The answer is "200, text/plain" and empty before. */
typedef void server_answer_f(void *arg, const struct request *request,
			     struct answer *answer);

/* Takes the socket, also when it fails. */
enum once_status server_start(int listen_fd, server_answer_f *answer, void *arg,
			      struct server **ret_server,
			      struct once_error *err) ONCE_MUST_CHECK;
void server_stop(struct server *server);

#endif
