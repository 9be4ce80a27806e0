/*
 * When a transaction has had its time, and with it the run. The idea to hold: a
 * cut only ever shortens the range that is tried. What is committed is a prefix
 * of the batch, so each strand's and, with each repetition, what it repeats; of
 * the rest nothing is left behind, neither a claim nor a step of a position.
 *
 * Claims come before the calls, and a claim that is taken back costs the server
 * two writes and others a wait. So a session learns how many calls fit, and
 * claims no more than that.
 */
#include "batch.h"

#include "clock.h"

/* ---- how many ---- */

static bool may_call(const struct once__work *work)
{
	bool repeats = work->lost || work->known || work->first != NULL;

	if (work->planned != ONCE_HANDLED_ENDING)
		return false;
	return !repeats ||
	       once__handler_duplicate(work->route->handler) != NULL;
}

size_t once__batch_fit(struct once__batch *batch, size_t from, size_t to)
{
	size_t fit = batch->session->fit;
	size_t calls = 0;

	for (size_t i = from; i < to; i++) {
		calls += may_call(&batch->works[i]);
		batch->fitted = calls > fit;
		if (batch->fitted)
			return i;
	}
	return to;
}

/* What handlers have sent takes its time only when it is waited for. */
void once__batch_learn(struct once__batch *batch)
{
	struct once_session *session = batch->session;
	double share;

	if (session->max_time_ns == 0 || batch->calls == 0)
		return;
	share = (double)session->max_time_ns /
		(double)(clock_ns() - batch->called_ns);
	if (share < 1) {
		session->fit = (size_t)((double)batch->calls * share);
		session->fit += session->fit == 0;
	} else if (batch->fitted && share >= 2) {
		session->fit *= 2;
	}
}

/* ---- the end ---- */

static bool is_hurried(const struct once_session *session)
{
	return session->hurry != NULL &&
	       session->hurry(session->hurry_arg) != 0;
}

static bool has_passed(const struct once_session *session, int64_t since_ns,
		       int64_t now_ns)
{
	return session->max_time_ns != 0 &&
	       now_ns - since_ns >= session->max_time_ns;
}

/* A transaction without a call would get nowhere, however often it is tried. */
bool once__batch_try_is_over(const struct once__batch *batch, int64_t now_ns)
{
	const struct once_session *session = batch->session;

	return batch->calls > 0 &&
	       (has_passed(session, batch->called_ns, now_ns) ||
		is_hurried(session));
}

bool once__batch_run_is_over(const struct once__batch *batch)
{
	const struct once_session *session = batch->session;

	return has_passed(session, batch->run_ns, clock_ns()) ||
	       is_hurried(session);
}
