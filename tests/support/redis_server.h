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
	char url[64];          /* redis://… */
	char socket[PATH_MAX]; /* it listens there, too */
	const char *const *settings;
};

/* CONFIG: there is no redis-server. Whatever is returned, give it to
 * redis_server_destroy(). */
enum once_status redis_server_create(struct redis_server *server,
				     struct once_error *err) ONCE_MUST_CHECK;
/* The same with more arguments of redis-server, NULL-terminated, which stay the
 * caller's while the server lives. */
enum once_status redis_server_create_with(
	struct redis_server *server, const char *const *settings,
	struct once_error *err) ONCE_MUST_CHECK;
/* At the port of before, empty; returns when it answers. */
enum once_status redis_server_start(struct redis_server *server,
				    struct once_error *err) ONCE_MUST_CHECK;
void redis_server_kill(struct redis_server *server);
/* Nothing of it runs any more, but its sockets stay. */
void redis_server_freeze(struct redis_server *server);
void redis_server_thaw(struct redis_server *server);
void redis_server_destroy(struct redis_server *server);

/* Send commands, a line each, to that port of 127.0.0.1, and read what comes
 * until Redis has ended the connection (add QUIT) or said nothing for a second.
 * NUL-terminated; false: there is no connection. */
bool redis_say(int port, const char *lines, char *answer, size_t size);
/* True: whoever listens at that port of 127.0.0.1 answers PING with PONG, or
 * wants a password first. */
bool redis_answers(int port);

#endif
