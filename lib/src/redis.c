/*
 * redis.c - a session's line: its connection, and what the circuit lets it do.
 *
 * The idea to hold: each call first asks the circuit. It may use the
 * connection, or move its probe on, or do nothing. Whatever goes wrong ends in
 * give_up(): the connection is dropped, and the circuit opens.
 */
#include "redis.h"

#include "bytes.h"
#include "clock.h"
#include "redis_circuit.h"
#include "redis_wire.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What may wait for a Redis that takes it too slowly. */
#define UNSENT_MAX_BYTES ((size_t)16 * 1024 * 1024)

static const char not_looked_up[] = "the name wasn't looked up in time";

struct once__redis {
	struct once__circuit *circuit;
	struct once__wire *wire;
	uint64_t epoch;   /* of the circuit; the wire is from it */
	int64_t began_ms; /* its last probe */
	bool probes;      /* the wire has the probe's write */
};

struct once__redis *once__redis_create(struct once__circuit *circuit)
{
	struct once__redis *redis = calloc(1, sizeof(*redis));

	if (redis == NULL)
		return NULL;
	redis->circuit = circuit;
	redis->wire = once__wire_create();
	if (redis->wire != NULL)
		return redis;
	free(redis);
	return NULL;
}

void once__redis_destroy(struct once__redis *redis)
{
	if (redis == NULL)
		return;
	once__circuit_leave(redis->circuit, redis->epoch);
	once__wire_destroy(redis->wire);
	free(redis);
}

/* Always false. An address that wasn't reached isn't tried first again. */
static bool give_up(struct once__redis *redis, const char *fault)
{
	if (once__wire_is_connecting(redis->wire))
		atomic_fetch_add(&redis->circuit->address, 1);
	once__circuit_fail(redis->circuit, redis->epoch, fault);
	once__wire_close(redis->wire);
	redis->probes = false;
	return false;
}

static bool give_up_waiting(struct once__redis *redis, int64_t waited_ms)
{
	char fault[96];

	snprintf(fault, sizeof(fault), "no %s within %lld ms",
		 once__wire_is_connecting(redis->wire) ? "connection"
						       : "answer",
		 (long long)waited_ms);
	return give_up(redis, fault);
}

/* ---- connecting ---- */

static void add_auth(struct once__redis *redis)
{
	const struct once__redis_url *url = &redis->circuit->url;
	const struct once_bytes words[] = { bytes_text("AUTH"),
					    bytes_text(url->user),
					    bytes_text(url->password) };

	if (url->user[0] != '\0')
		once__wire_add(redis->wire, words, COUNT(words));
	else if (url->password[0] != '\0')
		once__wire_add(
			redis->wire,
			(const struct once_bytes[]){ words[0], words[2] }, 2);
}

static void add_select(struct once__redis *redis)
{
	char number[16];
	struct once_bytes words[] = { bytes_text("SELECT"), { 0 } };

	if (redis->circuit->url.database == 0)
		return;
	snprintf(number, sizeof(number), "%u", redis->circuit->url.database);
	words[1] = bytes_text(number);
	once__wire_add(redis->wire, words, COUNT(words));
}

static bool open_wire(struct once__redis *redis,
		      const struct once__addresses *addresses)
{
	once__wire_open(redis->wire, addresses,
			atomic_load(&redis->circuit->address));
	if (!once__wire_is_open(redis->wire))
		return give_up(redis, "out of memory");
	add_auth(redis);
	add_select(redis);
	return true;
}

/* Begin a connection unless there is one. True: there is. A name that is still
 * being looked up is waited for until the deadline; 0: it isn't, and nothing is
 * given up. */
static bool connect_by(struct once__redis *redis, int64_t deadline_ms)
{
	struct once__addresses addresses;
	char fault[128];

	if (once__wire_is_open(redis->wire))
		return true;
	switch (once__lookup_get(redis->circuit->lookup, deadline_ms,
				 &addresses, fault, sizeof(fault))) {
	case ONCE__LOOKUP_FOUND:
		return open_wire(redis, &addresses);
	case ONCE__LOOKUP_FAILED:
		return give_up(redis, fault);
	case ONCE__LOOKUP_RUNNING:
		break;
	}
	return deadline_ms > 0 && give_up(redis, not_looked_up);
}

/* ---- moving ---- */

/* What can be done now. A Redis that has ended an idle connection (its option
 * `timeout`, a restart) has done nothing wrong: the next use connects again. */
static bool move(struct once__redis *redis)
{
	switch (once__wire_move(redis->wire)) {
	case ONCE__WIRE_MOVED:
		return true;
	case ONCE__WIRE_ENDED:
		once__wire_close(redis->wire);
		return true;
	case ONCE__WIRE_FAILED:
		break;
	}
	return give_up(redis, once__wire_fault(redis->wire));
}

/* The same for those who don't wait: for them, silence ends here. */
static bool move_patiently(struct once__redis *redis)
{
	int64_t patience_ms = once__circuit_patience_ms(redis->circuit);

	if (!once__wire_is_open(redis->wire))
		return true;
	if (!move(redis))
		return false;
	if (!once__wire_is_open(redis->wire) ||
	    once__wire_owed(redis->wire) == 0 ||
	    clock_ms() - once__wire_moved_ms(redis->wire) <= patience_ms)
		return true;
	return give_up_waiting(redis, patience_ms);
}

static bool wait_for_answers(struct once__redis *redis, int64_t deadline_ms)
{
	while (move(redis)) {
		if (once__wire_owed(redis->wire) == 0)
			return true;
		if (!once__wire_wait(redis->wire, deadline_ms))
			return give_up_waiting(redis,
					       redis->circuit->timeout_ms);
	}
	return false;
}

/* ---- the probe ---- */

/* A write, so that a Redis which is full, or a replica, stays away. */
static void add_probe(struct once__redis *redis)
{
	const struct once_bytes words[] = { bytes_text("SET"),
					    bytes_text("once:probe"),
					    bytes_text("1"), bytes_text("PX"),
					    bytes_text("1000") };

	once__wire_add(redis->wire, words, COUNT(words));
	redis->probes = true;
}

static void begin_probe(struct once__redis *redis)
{
	once__wire_close(redis->wire);
	redis->probes = false;
	redis->began_ms = clock_ms();
	once__lookup_start(redis->circuit->lookup);
}

/* True: it has succeeded, and the connection is there to use. */
static bool move_probe(struct once__redis *redis)
{
	int64_t patience_ms = once__circuit_patience_ms(redis->circuit);

	if (!redis->probes && connect_by(redis, 0))
		add_probe(redis);
	if (!redis->probes)
		return clock_ms() - redis->began_ms > patience_ms &&
		       give_up(redis, not_looked_up);
	if (!move_patiently(redis) || once__wire_owed(redis->wire) > 0)
		return false;
	redis->probes = false;
	once__circuit_heal(redis->circuit, redis->epoch);
	return true;
}

/* Ask the circuit. True: the line may use Redis; connected or not. */
static bool enter(struct once__redis *redis)
{
	uint64_t epoch = redis->epoch;
	enum once__circuit_state state =
		once__circuit_enter(redis->circuit, &epoch);
	bool is_new = epoch != redis->epoch;

	redis->epoch = epoch;
	if (state == ONCE__CIRCUIT_PROBING && is_new)
		begin_probe(redis);
	else if (state == ONCE__CIRCUIT_OPEN || is_new)
		once__wire_close(redis->wire);
	return state == ONCE__CIRCUIT_CLOSED ||
	       (state == ONCE__CIRCUIT_PROBING && move_probe(redis));
}

/* ---- what sessions call ---- */

static bool ask(struct once__redis *redis, const struct once_bytes *keys,
		size_t count, int64_t deadline_ms)
{
	if (!move_patiently(redis) || !connect_by(redis, deadline_ms))
		return false;
	once__wire_add_get(redis->wire, keys, count);
	return wait_for_answers(redis, deadline_ms);
}

bool once__redis_get(struct once__redis *redis, const struct once_bytes *keys,
		     size_t count, struct once_bytes *ret_values)
{
	int64_t deadline_ms = clock_ms() + redis->circuit->timeout_ms;

	if (!enter(redis))
		return false;
	if (count == 0)
		return true;
	if (!ask(redis, keys, count, deadline_ms))
		return false;
	once__wire_get_values(redis->wire, ret_values);
	return true;
}

static struct once_bytes format_ttl(int64_t ttl_ms, char text[static 32])
{
	snprintf(text, 32, "%lld", (long long)ttl_ms);
	return bytes_text(text);
}

static bool add_set(struct once__redis *redis, struct once_bytes key,
		    struct once_bytes value, int64_t ttl_ms)
{
	char ttl[32];
	const struct once_bytes words[] = { bytes_text("SET"), key, value,
					    bytes_text("PX"),
					    format_ttl(ttl_ms, ttl) };

	if (once__wire_unsent_bytes(redis->wire) > UNSENT_MAX_BYTES &&
	    !move(redis))
		return false;
	if (once__wire_unsent_bytes(redis->wire) > UNSENT_MAX_BYTES)
		return give_up(redis, "takes too slowly what is sent to it");
	once__wire_add(redis->wire, words, COUNT(words));
	return true;
}

void once__redis_set(struct once__redis *redis, const struct once_bytes *keys,
		     const struct once_bytes *values, const int64_t *ttls_ms,
		     size_t count)
{
	if (count == 0 || !enter(redis) || !move_patiently(redis) ||
	    !connect_by(redis, 0))
		return;
	for (size_t i = 0; i < count; i++)
		if (!add_set(redis, keys[i], values[i], ttls_ms[i]))
			return;
	move_patiently(redis);
}

void once__redis_tend(struct once__redis *redis)
{
	if (enter(redis))
		move_patiently(redis);
}
