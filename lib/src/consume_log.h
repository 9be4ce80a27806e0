/*
 * consume_log.h - the table whose unique keys decide whether a message is new.
 *
 *	consume_log.c       claims, and who was there before
 *	consume_log_sift.c  a look beforehand, where most were there before
 *
 * All works of a call have one consumer_id, and their keys are pairwise
 * different. Threads: the session's. false: see once__pg_failure().
 */
#ifndef ONCE__CONSUME_LOG_H
#define ONCE__CONSUME_LOG_H

#include "pg.h"
#include "pg_array.h"
#include "work.h"

/* Memory that is used again for each batch. All zero at first. */
struct once__log {
	struct once__pg_array msg_ids;
	struct once__pg_array biz_ids;
	struct once__pg_array fingerprints;
	struct once__pg_array topics;
	struct once__pg_array partitions;
	struct once__pg_array offsets;
	unsigned sifts;   /* batches that are to be sifted first */
	unsigned careful; /* claims until all-or-nothing is tried again */
};

/* Empty the arrays of keys, and fill them: the first three. */
void once__log_fill_keys(struct once__log *log, struct once__work *const *works,
			 size_t count);

/* After a batch: what will the next ones be like? `plain`: duplicates were met
 * such as sifting finds; `odd`: there were others, or conflicts. */
void once__log_expect(struct once__log *log, bool plain, bool odd);

/* Before the claims: which ones are plainly known, by a committed row under the
 * same key with the same fingerprint and no result? Sets `lost`, `stored`,
 * `key_kind`; the others may be new, or not. `stored.msg_id` has no data where
 * the operation is there under another message; `stored_age_ms` isn't told.
 * Works of which some have no biz_id are claimed with care instead. */
bool once__log_sift(struct once__log *log, struct once__pg *pg,
		    struct once__work *const *works, size_t count);

/* Insert a row for each, in the order given (sorted, so that concurrent batches
 * lock in one order); sets `claimed`. Waits for transactions that hold the same
 * keys. */
bool once__log_claim(struct once__log *log, struct once__pg *pg,
		     struct once__work *const *works, size_t count);

/* Take back what was claimed in this transaction: it is as if they had never
 * come. */
void once__log_unclaim(struct once__log *log, struct once__pg *pg,
		       struct once__work *const *works, size_t count);

/* For those that weren't claimed: who was first. Sets `lost`, `stored`,
 * `stored_result`, `key_kind`. A row that has vanished since leaves `lost`
 * unset. */
bool once__log_find(struct once__log *log, struct once__pg *pg,
		    struct once__work *const *works, size_t count);

/* Keep with the rows they claimed the results that handlers set: all have one.
 */
void once__log_set_results(struct once__log *log, struct once__pg *pg,
			   struct once__work *const *works, size_t count);

/* Did this very message's claim survive? For an unanswered COMMIT. */
bool once__log_holds(struct once__pg *pg, const struct once__work *work,
		     bool *ret_holds);

void once__log_fini(struct once__log *log);

#endif
