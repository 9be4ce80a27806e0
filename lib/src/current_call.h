/*
 * current_call.h - the call that is going on, for any thread to see: written by
 * the session's thread at each call, without a lock.
 *
 * What is read belongs together: all of it is of one call.
 */
#ifndef ONCE__CURRENT_CALL_H
#define ONCE__CURRENT_CALL_H

#include <once/once.h>
#include <stdatomic.h>

struct once__current_call {
	atomic_uint version;   /* odd: it is being written */
	atomic_llong began_ms; /* 0: none */
	atomic_size_t route;
	atomic_int partition;
	atomic_llong offset;
	atomic_ullong topic[ONCE_TOPIC_SIZE / sizeof(unsigned long long)];
};

/* Threads: the session's. */
void once__current_call_begin(struct once__current_call *current,
			      const struct once_item *item, int64_t began_ms);
void once__current_call_end(struct once__current_call *current);

/* Threads: any. */
void once__current_call_get(const struct once__current_call *current,
			    struct once_current_call *ret_call);

#endif
