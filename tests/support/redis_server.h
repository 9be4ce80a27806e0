/* redis_server.h - a Redis of a test's own, that keeps nothing on disk. */
#ifndef TEST_REDIS_SERVER_H
#define TEST_REDIS_SERVER_H

#include "process.h"
#include "temp_dir.h"

struct redis_server {
	struct temp_dir dir;
	struct process process;
	int port;
	char log[PATH_MAX];
	char url[64]; /* redis://… */
};

/* CONFIG: there is no redis-server. Whatever is returned, give it to
 * redis_server_destroy(). */
enum once_status redis_server_create(struct redis_server *server,
				     struct once_error *err) ONCE_MUST_CHECK;
/* At the port of before, empty; returns when it answers. */
enum once_status redis_server_start(struct redis_server *server,
				    struct once_error *err) ONCE_MUST_CHECK;
void redis_server_kill(struct redis_server *server);
void redis_server_destroy(struct redis_server *server);

/* True: whoever listens at that port of 127.0.0.1 answers PING with PONG. */
bool redis_answers(int port);

#endif
