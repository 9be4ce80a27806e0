/*
 * redis_address.h - the addresses of a host, looked up where nobody waits.
 *
 * getaddrinfo() may take many seconds when a name server is gone, and a lane
 * must not. So a name is looked up by a thread of its own, which nobody joins:
 * what it writes into lives as long as one of the two needs it. Numbers and
 * paths are addresses at once.
 */
#ifndef ONCE__REDIS_ADDRESS_H
#define ONCE__REDIS_ADDRESS_H

#include "redis_url.h"

#include <stdbool.h>
#include <sys/socket.h>

enum {
	ONCE__ADDRESSES_MAX = 4
};

struct once__addresses {
	struct {
		struct sockaddr_storage storage;
		socklen_t size;
	} list[ONCE__ADDRESSES_MAX];
	size_t count;
};

enum once__lookup_state {
	ONCE__LOOKUP_FOUND,
	ONCE__LOOKUP_RUNNING,
	ONCE__LOOKUP_FAILED
};

struct once__lookup;

/* Begins the first look-up. NULL: no memory. */
struct once__lookup *once__lookup_create(const struct once__redis_url *url);
void once__lookup_destroy(struct once__lookup *lookup);

/* Look again, unless that is under way; what is known stays until then, and
 * when nothing is found. */
void once__lookup_start(struct once__lookup *lookup);

/* Waits for a look-up that runs until `deadline_ms` of clock_ms(), unless
 * addresses are known from before. FAILED: `ret_fault`, of `size`, says why. */
enum once__lookup_state once__lookup_get(struct once__lookup *lookup,
					 int64_t deadline_ms,
					 struct once__addresses *ret_addresses,
					 char *ret_fault, size_t size);

#endif
