/*
 * A try has failed: whose fault is it, and so what next? The idea to hold: by
 * whose statement it was, and its SQLSTATE. What fails in COMMIT is somebody's
 * deferred work; whose, is known when he is alone.
 */
#include "batch.h"

#include "call.h"
#include "error.h"

enum {
	LONG_WAIT_MS = 1000 /* for a lock */
};

/* All that share the statement wait: to halve them would be to wait for the
 * lock as often. */
static enum once__try judge_shared_lock(struct once__batch *batch, size_t from,
					size_t to)
{
	enum once__try what = ONCE__TRY_UNCLEAR;

	for (size_t i = from; i < to; i++) {
		struct once__work *work = &batch->works[i];

		if (!work->shares || work->decided != ONCE_PENDING_ENDING)
			continue;
		once__call_fail_late(work, &batch->last);
		what = ONCE__TRY_DECIDED;
	}
	return what;
}

/* One that didn't wait for it (NOWAIT, a deadlock's other half) may have it at
 * once the next time. */
static enum once__try judge_lock(struct once__batch *batch, size_t from,
				 size_t to)
{
	bool waited = clock_ms() - batch->began_ms > LONG_WAIT_MS;
	struct once__work *work;

	if (batch->last.tag == ONCE__PG_OURS)
		return ONCE__TRY_STOP;
	if (batch->last.tag == ONCE__PG_SHARED)
		return judge_shared_lock(batch, from, to);
	work = &batch->works[batch->last.tag];
	if (waited || work->met_lock)
		return ONCE__TRY_UNCLEAR;
	work->met_lock = true;
	return ONCE__TRY_REPEAT;
}

static enum once__try judge_class(struct once__batch *batch, size_t from,
				  size_t to)
{
	switch (batch->last.class) {
	case ONCE__PG_REPEAT:
		return ONCE__TRY_REPEAT;
	case ONCE__PG_LOCKED:
		return judge_lock(batch, from, to);
	case ONCE__PG_SERVER:
		once__batch_suspect(batch, from, to);
		return ONCE__TRY_STOP;
	case ONCE__PG_SCHEMA:
	case ONCE__PG_RIGHTS:
		return ONCE__TRY_STOP;
	case ONCE__PG_MESSAGE:
	case ONCE__PG_ENVIRONMENT:
		break;
	}
	return ONCE__TRY_UNCLEAR;
}

/* A constraint or a trigger of the handler's tables that was put off. */
static void take_for_handlers(struct once__pg_failure *failure)
{
	if (failure->tag != ONCE__PG_OURS)
		return;
	failure->tag = ONCE__PG_SHARED;
	if (failure->class == ONCE__PG_SCHEMA ||
	    failure->class == ONCE__PG_RIGHTS)
		failure->class = ONCE__PG_ENVIRONMENT;
}

/* The server's fault, perhaps; but people want to know where they have to look
 * if it isn't. */
static void name_suspect(const struct once__batch *batch,
			 struct once_error *err)
{
	const struct once_record *record;

	if (batch->last.class != ONCE__PG_SERVER ||
	    batch->last.tag == ONCE__PG_OURS ||
	    batch->last.tag == ONCE__PG_SHARED)
		return;
	record = batch->works[batch->last.tag].msg.record;
	error_prefix(err, "a statement of message %lld of %s[%d]",
		     (long long)record->offset, record->topic,
		     (int)record->partition);
}

/* NULL: it isn't known. What several share is the fault of one that is alone.
 */
static struct once__work *culprit(struct once__batch *batch, size_t from,
				  size_t to)
{
	size_t tag = batch->last.tag;

	if (tag != ONCE__PG_OURS && tag != ONCE__PG_SHARED)
		return &batch->works[tag];
	return tag == ONCE__PG_SHARED && to - from == 1 ? &batch->works[from]
							: NULL;
}

enum once__try once__batch_judge(struct once__batch *batch, size_t from,
				 size_t to, bool committing,
				 struct once_error *err)
{
	const struct once__pg_failure *failure =
		once__pg_failure(batch->session->pg);
	struct once__work *work;
	enum once__try what;

	if (failure != NULL && once__batch_may_be_spoilt(batch, failure)) {
		batch->last = *failure;
		return ONCE__TRY_REPEAT;
	}
	if (failure == NULL || batch->has_verdict)
		return ONCE__TRY_DECIDED;
	batch->last = *failure;
	(void)once__pg_error(batch->session->pg, err);
	if (committing)
		take_for_handlers(&batch->last);
	name_suspect(batch, err);
	what = judge_class(batch, from, to);
	work = culprit(batch, from, to);
	if (what != ONCE__TRY_UNCLEAR || work == NULL)
		return what;
	if (work->decided == ONCE_PENDING_ENDING)
		once__call_fail_late(work, &batch->last);
	else if (committing)
		return ONCE__TRY_UNCLEAR;
	return ONCE__TRY_DECIDED;
}
