/*
 * batch.h - messages on their way through one transaction, or as few as their
 * failures allow.
 *
 *	batch_make.c        items become works, perhaps ahead of their run
 *	batch.c             the run: which range is tried, again, halved
 *	batch_try.c         one try: claim, handle, finish, COMMIT
 *	batch_brake.c       dead ones in a row: the next one halts
 *	batch_judge.c       a try that failed: whose fault it is
 *	batch_handle.c      the calls of a try, and what limits them
 *	batch_cut.c         when a try has had its time, and the run too
 *	batch_claim.c       the claims of a try, and who lost them
 *	batch_intercept.c   the prefilters: asked, proved, and after COMMIT told
 *	batch_duplicates.c  messages that repeat one of the same batch
 *	batch_suspects.c    those that may be what ends sessions: tried alone
 *	batch_turns.c       routes whose transactions deadlock: in turn
 *	batch_settle.c      whether an unanswered COMMIT was carried out
 */
#ifndef ONCE__BATCH_H
#define ONCE__BATCH_H

#include "clock.h"
#include "session.h"
#include "work.h"

struct once__slot; /* of the table of keys in this batch */

struct once__batch {
	struct once_session *session;
	struct arena *arena;
	const struct once_item *items; /* of which it was made */
	size_t item_count;
	struct once__work *works;
	size_t count;
	struct once__work **picked; /* room for `count` */
	struct once__slot *slots;
	size_t slot_count;        /* a power of two */
	struct once__move *moves; /* one for each strand */
	size_t move_count;
	size_t doubt_from; /* works whose COMMIT was never answered */
	size_t doubt_to;
	struct once__pg_failure last; /* that made a try fail */
	bool has_verdict;             /* of this try: a call has decided */
	int64_t began_ms;             /* this try */
	int64_t breathed_ms;          /* of this try: the server was told */
	size_t calls;                 /* of this try: handlers' functions */
	int64_t called_ns;            /* of this try: when its calls began */
	bool fitted;                  /* of this try: see once__batch_fit() */
	int64_t run_ns;               /* when its run began */
	const struct once__work *last_called; /* of this try */
	bool restores_each; /* settings, after each call: see batch_handle.c */
	struct once__note *notes; /* of this try: see batch_intercept.c */
	size_t note_count;
	int64_t keys_ns; /* what it took to make it */
	int64_t prefilter_ns;
	struct once_run_stats *stats;
	int64_t lap_ns; /* when the stage that is going on began */
};

struct once__note;

/* A stage that has `done` its work or failed ends, and the next one begins. */
static inline bool once__batch_lap(struct once__batch *batch, int64_t *stage_ns,
				   bool done)
{
	int64_t now_ns = clock_ns();

	*stage_ns += now_ns - batch->lap_ns;
	batch->lap_ns = now_ns;
	return done;
}

/* Of what is PENDING among the items. The prefilters are asked. If it was
 * prepared, it is that one. */
enum once_status once__batch_make(struct once_session *session,
				  struct once_item *items, size_t count,
				  struct once__batch **ret_batch,
				  struct once_error *err);

enum once__try {
	ONCE__TRY_COMMITTED,
	ONCE__TRY_DECIDED, /* a message has failed: again without it */
	ONCE__TRY_REPEAT,  /* a deadlock or the like: the same again */
	ONCE__TRY_UNCLEAR, /* a message of the range has failed: which? */
	ONCE__TRY_STOP     /* `err` says why; nothing was committed */
};

/* Try works[from..to) in one transaction. `to`, out: what was tried ends there,
 * perhaps for want of time; the rest is as it was. */
enum once__try once__batch_try(struct once__batch *batch, size_t from,
			       size_t *to, struct once_error *err);

/* It has failed, and is still open: what next? `committing`: in COMMIT. */
enum once__try once__batch_judge(struct once__batch *batch, size_t from,
				 size_t to, bool committing,
				 struct once_error *err);

/* The planned endings become true: their COMMIT was answered, or found. */
void once__batch_publish(struct once__batch *batch, size_t from, size_t to);

/* Its ending is, or is going to be, a row of once.parked. */
bool once__work_is_parked(const struct once__work *work);

/* Call the handlers for works[from..to), `to` as for once__batch_try(); what
 * they send isn't waited for. false: a message was decided, or see
 * once__pg_failure(). */
bool once__batch_handle(struct once__batch *batch, size_t from, size_t *to);

/* Before the claims: where works[from..to) has to end, so that there is time
 * for all calls. */
size_t once__batch_fit(struct once__batch *batch, size_t from, size_t to);
/* After the calls of a try, and the answers to what they sent: how many fit? */
void once__batch_learn(struct once__batch *batch);
/* Before a call: is it one for the next transaction? */
bool once__batch_try_is_over(const struct once__batch *batch, int64_t now_ns);
/* After a COMMIT: does the rest of the batch wait for another run? */
bool once__batch_run_is_over(const struct once__batch *batch);

/* All is answered: has a handler left settings changed? false: see
 * once__pg_failure(). */
bool once__batch_judge_settings(struct once__batch *batch);
/* A statement failed as it would under settings that an earlier handler left:
 * the same range again, and a look after each call. */
bool once__batch_may_be_spoilt(struct once__batch *batch,
			       const struct once__pg_failure *failure);

/* Before the first try: what do the prefilters know of the batch? TRANSIENT:
 * they aren't there, and are to be waited for. */
enum once_status once__batch_ask(struct once__batch *batch,
				 struct once_error *err);
/* Before the run of a batch that was asked about ahead: what came in between is
 * here, if it is anywhere. */
void once__batch_ask_again(struct once__batch *batch);
/* In a try: which hits are proved? Sets `known`. false: see
 * once__pg_failure(). */
bool once__batch_prove(struct once__batch *batch, size_t from, size_t to);
/* Before COMMIT, note what the prefilters are to be told; after it, tell. */
void once__batch_note(struct once__batch *batch, size_t from, size_t to);
void once__batch_tell(struct once__batch *batch);

/* Find, among works[from..to) that are to be handled, those that repeat an
 * earlier one, and set their `first` and `key_kind`. */
void once__batch_find_duplicates(struct once__batch *batch, size_t from,
				 size_t to);

/* It repeats the message of one in the batch, but not its operation, which may
 * have a row in the log. */
bool once__work_asks(const struct once__work *work);

/* After the claims: is there one that repeats a message which wasn't new, but
 * not by the key that was there before? What it repeats says nothing of it. */
bool once__batch_has_stray(const struct once__batch *batch, size_t from,
			   size_t to);

/* A try of works[from..to) ended with what looks like the server's fault:
 * remember whose statement it was. */
void once__batch_suspect(struct once__batch *batch, size_t from, size_t to);
/* Before the run: suspects are HELD, so that the others go first; those that
 * are proven have failed. */
void once__batch_set_aside(struct once__batch *batch);
/* It is to be tried now; false: it waits behind another one of its strand. */
bool once__batch_take_back(struct once__batch *batch, size_t at);

/* Is one too many dead among what is planned? Then it is decided: HALTED. */
bool once__batch_brake(struct once__batch *batch, size_t from, size_t to);
/* They are committed. */
void once__batch_count_dead(struct once__batch *batch, size_t from, size_t to);

/* The try of works[from..to) that failed has met a deadlock. */
void once__batch_meet(struct once__batch *batch, size_t from, size_t to);
/* Before the transaction, and in it: wait until it is our turn, where routes
 * take turns. */
void once__batch_begin_turn(struct once__batch *batch, size_t from, size_t to);
void once__batch_take_turns(struct once__batch *batch);
/* The try is over. */
void once__batch_end_turn(struct once__batch *batch);

size_t once__batch_slots_needed(size_t count);

/* Claim what works[from..to) plan to handle, `to` as for once__batch_try();
 * sets `claimed` or `lost`. false: see once__pg_failure(). */
bool once__batch_claim(struct once__batch *batch, size_t from, size_t *to);
/* Take the claims of works[from..to) back, in the same transaction. */
void once__batch_unclaim(struct once__batch *batch, size_t from, size_t to);
/* Queue the results that their handlers have set. */
void once__batch_set_results(struct once__batch *batch, size_t from, size_t to);

#endif
