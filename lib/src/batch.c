/*
 * The run of a batch. A range is tried as one transaction; the first message
 * that fails is taken out and the rest tried again; if another fails, the range
 * is halved, so that many failures cost a logarithm of tries each, not all the
 * others' work every time.
 */
#include "batch.h"

#include "backoff.h"
#include "call.h"
#include "error.h"

#include <time.h>

enum {
	MOST_SIFTED = 16, /* times as many as may be claimed */
	MOST_REPEATS = 50,
	MOST_REPEATS_TOGETHER = 3,
	REPEAT_FIRST_MS = 1,
	REPEAT_MAX_MS = 50
};

static void pause_before_repeat(unsigned repeats)
{
	int64_t ms = backoff_ms(repeats, REPEAT_FIRST_MS, REPEAT_MAX_MS);
	struct timespec pause = { 0, ms * 1000000 };

	nanosleep(&pause, NULL);
}

/* What a message alone repeats in vain is mostly others' doing, and it waits. A
 * deadlock takes two; but a serialization failure may be what a statement says
 * whoever else is there. */
static enum once__try give_way(struct once__batch *batch, size_t at)
{
	struct once__suspects *suspects = &batch->session->suspects;
	struct once__work *work = &batch->works[at];
	struct once__pg_failure failure = batch->last;
	struct once__suspect *suspect;

	if (failure.tag == ONCE__PG_OURS)
		return ONCE__TRY_STOP;
	failure.class = ONCE__PG_LOCKED;
	if (once__sqlstate_is(failure.sqlstate, "40001")) {
		suspect = once__suspects_add(suspects, work, &failure, false);
		if (once__suspect_is_proven(suspect)) {
			once__suspect_pay(suspect);
			failure.class = ONCE__PG_MESSAGE;
		}
	}
	once__call_fail_late(work, &failure);
	return ONCE__TRY_DECIDED;
}

/* In company it isn't repeated for long: in halves, they get out of each
 * other's way. */
static enum once__try repeat(struct once__batch *batch, size_t from, size_t to,
			     unsigned *repeats)
{
	bool alone = to - from == 1;

	once__batch_meet(batch, from, to);
	batch->stats->repeated++;
	if (++*repeats <= (alone ? MOST_REPEATS : MOST_REPEATS_TOGETHER)) {
		pause_before_repeat(*repeats);
		return ONCE__TRY_REPEAT;
	}
	*repeats = 0;
	return alone ? give_way(batch, from) : ONCE__TRY_UNCLEAR;
}

/* Until it is committed, halved, or stopped. `to`, out: where what was tried
 * last ends. */
static enum once__try try_again_and_again(struct once__batch *batch,
					  size_t from, size_t *to,
					  struct once_error *err)
{
	size_t end = *to;
	unsigned repeats = 0;
	unsigned failures = 0;

	for (;;) {
		enum once__try what;

		*to = end;
		what = once__batch_try(batch, from, to, err);
		once__batch_end_turn(batch);
		if (what == ONCE__TRY_REPEAT)
			what = repeat(batch, from, *to, &repeats);
		if (what == ONCE__TRY_REPEAT)
			continue;
		if (what == ONCE__TRY_DECIDED &&
		    (++failures == 1 || *to - from == 1))
			continue;
		return what;
	}
}

static enum once_status run_range(struct once__batch *batch, size_t from,
				  size_t *to, struct once_error *err);

/* A half that was cut is the last one: what comes behind it has to wait. */
static enum once_status run_halves(struct once__batch *batch, size_t from,
				   size_t *to, struct once_error *err)
{
	size_t middle = from + (*to - from) / 2;
	size_t reached = middle;
	enum once_status status = run_range(batch, from, &reached, err);

	if (status == ONCE_OK && reached == middle)
		return run_range(batch, middle, to, err);
	*to = reached;
	return status;
}

/* `to`, out: all before it is committed. */
static enum once_status run_range(struct once__batch *batch, size_t from,
				  size_t *to, struct once_error *err)
{
	enum once__try what = try_again_and_again(batch, from, to, err);

	if (what == ONCE__TRY_COMMITTED)
		return ONCE_OK;
	if (what == ONCE__TRY_STOP || *to - from == 1)
		return err->status;
	return run_halves(batch, from, to, err);
}

/* Where a transaction that begins at `from` ends. What has a mark isn't
 * counted: it will hardly be claimed. Nor will most of what is sifted. */
static size_t end_of_range(const struct once__batch *batch, size_t from)
{
	const struct once_session *session = batch->session;
	size_t most =
		session->max_messages == 0 ? SIZE_MAX : session->max_messages;
	size_t end = batch->count;
	size_t unknown = 0;
	size_t to = from;

	if (session->most_at_once != 0 && end - from > session->most_at_once)
		end = from + session->most_at_once;
	if (most != SIZE_MAX && once__session_sifts(session))
		most *= MOST_SIFTED;
	for (; to < end; to++) {
		unknown += batch->works[to].hit == NULL;
		if (unknown > most)
			break;
	}
	return to;
}

static enum once_status run_ranges(struct once__batch *batch,
				   struct once_error *err)
{
	enum once_status status;
	size_t from = 0;

	batch->run_ns = clock_ns();
	do {
		size_t to = end_of_range(batch, from);

		status = run_range(batch, from, &to, err);
		from = to;
	} while (status == ONCE_OK && from < batch->count &&
		 !once__batch_run_is_over(batch));
	return status;
}

/* The attempt has ended and left nothing to commit, such as a pause. If this
 * fails, the next attempt overwrites the row. */
static void let_go(struct once_session *session)
{
	if (!session->in_hand || once__pg_is_lost(session->pg))
		return;
	once__pg_begin(session->pg);
	once__session_let_go(session);
	session->in_hand = once__pg_commit(session->pg) != ONCE__PG_COMMITTED;
	if (session->in_hand)
		once__pg_rollback(session->pg);
}

/* Each alone, on a session that has just done its work for the others. */
static enum once_status run_suspects(struct once__batch *batch,
				     struct once_error *err)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct once__suspect *suspect = batch->works[i].suspect;
		enum once_status status;
		size_t to = i + 1;

		if (suspect == NULL || !once__batch_take_back(batch, i))
			continue;
		status = run_range(batch, i, &to, err);
		if (status != ONCE_OK)
			return status;
		/* Its place in the table may be another's by now. */
		suspect = once__suspects_find(&batch->session->suspects,
					      &batch->works[i]);
		if (suspect != NULL &&
		    once_ending_is_final(batch->works[i].item->ending))
			suspect->place = 0;
	}
	batch->session->most_at_once = 0; /* all went well */
	return ONCE_OK;
}

enum once_status once_session_run(struct once_session *session,
				  struct once_item *items, size_t count,
				  struct once_run_stats *ret_stats,
				  struct once_error *err)
{
	struct once_run_stats unwanted;
	struct once_error unread;
	struct once__batch *batch = NULL;
	enum once_status status;

	ret_stats = ret_stats == NULL ? &unwanted : ret_stats;
	err = err == NULL ? &unread : err;
	*ret_stats = (struct once_run_stats){ 0 };
	error_clear(err);
	status = once_session_connect(session, err);
	if (status == ONCE_OK)
		status = once__batch_make(session, items, count, &batch, err);
	if (status != ONCE_OK || batch->count == 0)
		return status;
	batch->stats = ret_stats;
	ret_stats->keys_ns = batch->keys_ns;
	ret_stats->prefilter_ns = batch->prefilter_ns;
	batch->restores_each = session->restores_any;
	once__batch_set_aside(batch);
	status = run_ranges(batch, err);
	if (status == ONCE_OK)
		status = run_suspects(batch, err);
	if (status == ONCE_UNKNOWN)
		session->unsettled = batch;
	if (status == ONCE_OK || status == ONCE_FENCED)
		let_go(session);
	return status;
}
