/*
 * redis_circuit.h - the inside of struct once__circuit, for the lines.
 *
 *     closed ──a line fails──► open ──after a pause──► probing (one line)
 *        ▲                      ▲                        │   │
 *        │                      └────────it fails────────┘   │
 *        └───────────────────Redis took a write──────────────┘
 *
 * The idea to hold: each opening and each probe begins an epoch. A connection
 * belongs to the epoch that it was made in; what an older one has to say is
 * about a Redis of the past.
 */
#ifndef ONCE__REDIS_CIRCUIT_H
#define ONCE__REDIS_CIRCUIT_H

#include "redis.h"
#include "redis_address.h"

#include <pthread.h>
#include <stdatomic.h>

enum once__circuit_state {
	ONCE__CIRCUIT_CLOSED,
	ONCE__CIRCUIT_OPEN,
	ONCE__CIRCUIT_PROBING
};

struct once__circuit {
	struct once__redis_url url; /* like the next two, never changed */
	int64_t timeout_ms;
	struct once__lookup *lookup;
	atomic_uint address;  /* which of several addresses is tried first */
	atomic_bool open;     /* written under the lock */
	pthread_mutex_t lock; /* of all that follows */
	bool probing;
	uint64_t epoch;
	int64_t due_ms;    /* for the next probe, or somebody else's */
	int64_t healed_ms; /* when it was closed */
	unsigned failures; /* probes that failed, and what preceded them */
	uint64_t errors;
	char trouble[sizeof(((struct once__circuit_view *)NULL)->trouble)];
};

/* How long a probe may be silent. */
int64_t once__circuit_patience_ms(const struct once__circuit *circuit);

/* What a line may do now. In `epoch` stands its own; PROBING begins a new one
 * for the line that takes the probe, and says that it still has it; CLOSED
 * gives the one that is. */
enum once__circuit_state once__circuit_enter(struct once__circuit *circuit,
					     uint64_t *epoch);

/* Something failed: count it, keep the text, and open the circuit, unless the
 * line is from an older epoch. */
void once__circuit_fail(struct once__circuit *circuit, uint64_t epoch,
			const char *text);
/* The probe of this epoch has succeeded: close. */
void once__circuit_heal(struct once__circuit *circuit, uint64_t epoch);
/* Whoever had the probe in this epoch goes: the next may take it at once. */
void once__circuit_leave(struct once__circuit *circuit, uint64_t epoch);

#endif
