/*
 * lined.h - a line to Redis under test: calls that are timed, and short ways to
 * say what must come of them.
 */
#ifndef TEST_LINED_H
#define TEST_LINED_H

#include "redis.h"
#include "redis_server.h"

enum {
	LINED_TIMEOUT_MS = 100,   /* where Redis fails */
	LINED_PATIENT_MS = 10000, /* where it must not */
	LINED_HEAL_MS = 40000
};

struct lined {
	struct once__circuit *circuit;
	struct once__redis *redis;
	int64_t timeout_ms;
};

/* With a circuit of its own. */
void lined_init(struct lined *line, const char *url, int64_t timeout_ms);
/* One more line of the same circuit; lined_fini() the other one last. */
void lined_init_beside(struct lined *line, const struct lined *other);
void lined_fini(struct lined *line);

/* Calls of the line. Each fails the test if it took longer than it may: get
 * twice the timeout, set and tend what a busy machine needs for nothing. */
bool lined_get(struct lined *line, const char *key, struct once_bytes *ret);
void lined_set(struct lined *line, const char *key, const char *value);
void lined_tend(struct lined *line);
/* The value is there; NULL: Redis answers that there is none. */
void lined_check(struct lined *line, const char *key, const char *value);

/* The circuit is open, and its trouble says this. */
void lined_check_open(struct lined *line, const char *trouble);
/* It is closed, and has never been anything else. */
void lined_check_faultless(struct lined *line);
/* Tends until it is open, or closed. */
void lined_await(struct lined *line, bool open);
uint64_t lined_errors(struct lined *line);

void lined_start(struct redis_server *server, const char *const *settings);
void lined_restart(struct redis_server *server);
/* One command, whose answer holds this text. */
void lined_say(struct redis_server *server, const char *command,
	       const char *answer);

#endif
