/*
 * instance.h - what others can learn of a running program, and of one that has
 * died: its row, its lock, and what it had in hand.
 */
#ifndef ONCE__INSTANCE_H
#define ONCE__INSTANCE_H

#include "pg.h"

/* Where a message of a consumer stands. */
struct once__place {
	int64_t consumer_id;
	const char *topic;
	int32_t partition;
	int64_t offset;
	int32_t log_generation;
};

/* Queue the row and the lock of this session. */
void once__instance_sign_on(struct once__pg *pg,
			    const struct once_instance *instance);
/* Queue that its group claims under these, and wants their rows to be kept for
 * so long (0: not said): the cleaner asks for the positions of such groups. */
void once__instance_join(struct once__pg *pg,
			 const struct once_instance *instance,
			 const int64_t *consumer_ids, size_t count,
			 int64_t retention_ms);
void once__instance_sign_off(struct once__pg *pg,
			     const struct once_instance *instance);

/* Write down what `lane` is about to handle alone, and count the instances that
 * have died on it. The transaction needn't reach the disk: it is for the death
 * of a process, not of the server. */
bool once__instance_brace(struct once__pg *pg,
			  const struct once_instance *instance, unsigned lane,
			  const struct once__place *place,
			  unsigned *ret_crashes);
/* Queue that the attempt has ended: who dies from now on didn't die of it. */
void once__instance_let_go(struct once__pg *pg,
			   const struct once_instance *instance, unsigned lane);

#endif
