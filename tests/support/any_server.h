/* any_server.h - a throwaway server of whichever kind, seen as one thing. */
#ifndef TEST_ANY_SERVER_H
#define TEST_ANY_SERVER_H

#include "kafka_server.h"
#include "pg_server.h"
#include "redis_server.h"
#include "servers.h"

struct any_server {
	enum server_kind kind;
	const char *address;
	const char *log;
	const struct process *process;
	union {
		struct pg_server pg;
		struct kafka_server kafka;
		struct redis_server redis;
	} as;
};

/* Whatever is returned, give it to any_server_destroy(). */
enum once_status any_server_create(struct any_server *server,
				   enum server_kind kind,
				   struct once_error *err) ONCE_MUST_CHECK;
void any_server_destroy(struct any_server *server);

#endif
