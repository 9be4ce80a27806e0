/*
 * redis_wire.h - one connection to Redis: commands go out, answers come in,
 * and nothing waits unless it is told how long. Its own socket, because
 * hiredis's would look up names, be inherited by children and raise SIGPIPE.
 */
#ifndef ONCE__REDIS_WIRE_H
#define ONCE__REDIS_WIRE_H

#include "redis_address.h"

struct once__wire;

enum once__wire_move {
	ONCE__WIRE_MOVED,  /* as far as it goes without waiting */
	ONCE__WIRE_ENDED,  /* closed by Redis, which owed us nothing */
	ONCE__WIRE_FAILED, /* see once__wire_fault(); good for nothing now */
};

/* NULL: no memory. */
struct once__wire *once__wire_create(void);
void once__wire_destroy(struct once__wire *wire);

/* Begin to connect: `first` picks one of the addresses, those behind it follow
 * when it refuses. What comes of it is seen in once__wire_move(). */
void once__wire_open(struct once__wire *wire,
		     const struct once__addresses *addresses, unsigned first);
/* Forgets what it was sent, what it owes, and the values it gave. */
void once__wire_close(struct once__wire *wire);
bool once__wire_is_open(const struct once__wire *wire);
/* The address isn't reached yet. */
bool once__wire_is_connecting(const struct once__wire *wire);

/* Add a command to what is to be sent. The answer must be "OK". */
void once__wire_add(struct once__wire *wire, const struct once_bytes *words,
		    size_t count);
/* Add the MGET of these keys, count > 0: the last command before its answer. */
void once__wire_add_get(struct once__wire *wire, const struct once_bytes *keys,
			size_t count);
/* After MOVED with nothing owed: what was got; borrowed until the wire's next
 * add, close or destroy. */
void once__wire_get_values(const struct once__wire *wire,
			   struct once_bytes *ret_values);

enum once__wire_move once__wire_move(struct once__wire *wire);
/* Until there may be something to move, or the time is over: false. */
bool once__wire_wait(const struct once__wire *wire, int64_t deadline_ms);

size_t once__wire_owed(const struct once__wire *wire); /* answers */
size_t once__wire_unsent_bytes(const struct once__wire *wire);
/* When bytes went or came last, of clock_ms(). */
int64_t once__wire_moved_ms(const struct once__wire *wire);
const char *once__wire_fault(const struct once__wire *wire);

#endif
