/*
 * redis.h - a session's line to Redis, and the circuit that all sessions of a
 * program share.
 *
 * The idea to hold: nobody waits for a Redis that doesn't answer. The first
 * failure opens the circuit; from then on every call returns at once, until a
 * probe, which never waits either, has seen Redis take a write and closes it.
 *
 * Threads: a circuit any; a line its session's.
 */
#ifndef ONCE__REDIS_H
#define ONCE__REDIS_H

#include <once/types.h>
#include <stdbool.h>

struct once__circuit;
struct once__redis;

struct once__circuit_view {
	bool open;
	uint64_t errors;   /* since the start: what failed, or was refused */
	char trouble[256]; /* the last failure, without secrets; "": none */
};

/* `url`: redis://[user:password@]host[:port][/database] or
 * unix://[user:password@]/path[?db=N]; copied. INVALID: not such a URL, with
 * what to write instead; nothing of it is shown. `timeout_ms`: what one round
 * trip, a connection included, may take in all. */
enum once_status once__circuit_create(const char *url, int64_t timeout_ms,
				      struct once__circuit **ret_circuit,
				      struct once_error *err) ONCE_MUST_CHECK;
void once__circuit_destroy(struct once__circuit *circuit);
void once__circuit_get_view(struct once__circuit *circuit,
			    struct once__circuit_view *ret_view);
bool once__circuit_is_open(const struct once__circuit *circuit);

/* Nothing is connected yet. NULL: no memory. The circuit outlives it. */
struct once__redis *once__redis_create(struct once__circuit *circuit);
void once__redis_destroy(struct once__redis *redis);

/* Get the values of all keys in one round trip; data NULL: there is none, or
 * it is no string. They live until the line's next call. false: there are none,
 * for the circuit is open (maybe since just now), or was while we asked. */
bool once__redis_get(struct once__redis *redis, const struct once_bytes *keys,
		     size_t count, struct once_bytes *ret_values);

/* Send values without waiting for the answers: they are read before the next
 * round trip, and one that refuses opens the circuit. Copied. `ttls_ms`: of
 * each; at least 1, or it is a refusal. */
void once__redis_set(struct once__redis *redis, const struct once_bytes *keys,
		     const struct once_bytes *values, const int64_t *ttls_ms,
		     size_t count);

/* Now and then, also when there is nothing to do: takes answers that are there,
 * and moves a probe on. Never waits. */
void once__redis_tend(struct once__redis *redis);

#endif
