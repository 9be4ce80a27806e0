/* Who is new? One statement for each scope of a batch, its rows in the one
 * order in which all batches lock; and one more look at those that lost. */
#include "batch.h"
#include "bytes.h"
#include "fault.h"

#include <stdlib.h>

static int compare_works(const void *a, const void *b)
{
	const struct once__work *left = *(struct once__work *const *)a;
	const struct once__work *right = *(struct once__work *const *)b;
	int order;

	if (left->consumer_id != right->consumer_id)
		return left->consumer_id < right->consumer_id ? -1 : 1;
	order = bytes_compare(left->msg.keys.biz_id, right->msg.keys.biz_id);
	if (order != 0)
		return order;
	return bytes_compare(left->msg.keys.msg_id, right->msg.keys.msg_id);
}

static bool claims(const struct once__work *work)
{
	return work->planned == ONCE_HANDLED_ENDING && work->first == NULL &&
	       !work->known && !work->lost;
}

static bool has_lost(const struct once__work *work)
{
	return claims(work) && !work->claimed;
}

typedef bool choose_f(const struct once__work *work);

static bool are_sorted(struct once__work *const *works, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (compare_works(&works[i - 1], &works[i]) > 0)
			return false;
	return true;
}

/* In the one order in which all batches lock. Keys that count upwards, as many
 * do, come in it. */
static size_t pick(struct once__batch *batch, size_t from, size_t to,
		   choose_f *choose)
{
	size_t count = 0;

	for (size_t i = from; i < to; i++)
		if (choose(&batch->works[i]))
			batch->picked[count++] = &batch->works[i];
	if (!are_sorted(batch->picked, count))
		qsort(batch->picked, count, sizeof(struct once__work *),
		      compare_works);
	return count;
}

/* Where the run of one consumer's works that starts at `from` ends. */
static size_t end_of_consumer(struct once__work *const *works, size_t from,
			      size_t count)
{
	size_t to = from + 1;

	while (to < count && works[to]->consumer_id == works[from]->consumer_id)
		to++;
	return to;
}

typedef bool consumer_step_f(struct once__log *log, struct once__pg *pg,
			     struct once__work *const *works, size_t count);

static bool for_each_consumer(struct once__batch *batch, size_t count,
			      consumer_step_f *step)
{
	struct once_session *session = batch->session;

	for (size_t from = 0; from < count;) {
		size_t to = end_of_consumer(batch->picked, from, count);

		if (!step(&session->claims, session->pg, batch->picked + from,
			  to - from))
			return false;
		from = to;
	}
	return true;
}

/* The rest of a duplicate's story (when it was, with what result) is for
 * prefilters. */
static bool may_sift(const struct once_session *session)
{
	return session->intercept.prefilter == NULL;
}

bool once__session_sifts(const struct once_session *session)
{
	return session->claims.sifts > 0 && may_sift(session);
}

/* Those that a transaction has more to do with than to pass over them. */
static size_t count_busy(const struct once__batch *batch, size_t from,
			 size_t to)
{
	size_t count = 0;

	for (size_t i = from; i < to; i++) {
		const struct once__work *work = &batch->works[i];

		if (work->planned == ONCE_HELD_ENDING)
			continue;
		count += (!work->lost && work->first == NULL) ||
			 once__handler_duplicate(work->route->handler) != NULL;
	}
	return count;
}

static bool sift(struct once__batch *batch, size_t from, size_t to)
{
	struct once_session *session = batch->session;

	if (!may_sift(session))
		return true;
	if (once__session_sifts(session) &&
	    !for_each_consumer(batch, pick(batch, from, to, claims),
			       once__log_sift))
		return false;
	/* Though it isn't sifted any more, it may be the half of what was. */
	if (session->max_messages != 0 &&
	    count_busy(batch, from, to) > session->max_messages)
		once__pg_fail(
			session->pg, ONCE__PG_OURS, "P0001",
			"fewer of them were there before than was expected");
	return once__pg_failure(session->pg) == NULL;
}

/* What is in the log counts more than what is in the batch. Looked for before
 * the claims, for a later one of the batch may claim the operation. */
static bool find_for_askers(struct once__batch *batch, size_t from, size_t to)
{
	size_t count = pick(batch, from, to, once__work_asks);

	if (!for_each_consumer(batch, count, once__log_find))
		return false;
	for (size_t i = 0; i < count; i++)
		if (batch->picked[i]->lost)
			batch->picked[i]->first = NULL;
	return true;
}

static bool find_for_losers(struct once__batch *batch, size_t from, size_t to)
{
	size_t count = pick(batch, from, to, has_lost);

	if (!for_each_consumer(batch, count, once__log_find))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!batch->picked[i]->lost) /* deleted before we could look */
			once__pg_fail(batch->session->pg, ONCE__PG_OURS,
				      "40001", "a claim's rival has vanished");
	return true;
}

static bool claim(struct once__batch *batch, size_t from, size_t to)
{
	size_t count = pick(batch, from, to, claims);

	return for_each_consumer(batch, count, once__log_claim);
}

/* One that sifting would have found. */
static bool is_plain(const struct once__work *work)
{
	const struct once__keys *keys = &work->msg.keys;
	const struct once__keys *stored = &work->stored;

	return work->stored_result.data == NULL &&
	       bytes_equal(stored->fingerprint, keys->fingerprint) &&
	       (keys->biz_id.data == NULL ||
		bytes_equal(stored->biz_id, keys->biz_id));
}

/* Duplicates come in swarms: a position was put back, a topic is replayed. */
static void expect(struct once__batch *batch, size_t from, size_t to)
{
	bool sifts = may_sift(batch->session);
	bool plain = false;
	bool odd = false;

	for (size_t i = from; i < to; i++) {
		const struct once__work *work = &batch->works[i];
		bool is_found = sifts && work->lost && is_plain(work);

		plain = plain || is_found;
		odd = odd || (work->lost && !is_found);
	}
	once__log_expect(&batch->session->claims, plain, odd);
}

bool once__batch_claim(struct once__batch *batch, size_t from, size_t *to)
{
	if (!find_for_askers(batch, from, *to) || !sift(batch, from, *to))
		return false;
	*to = once__batch_fit(batch, from, *to);
	if (!claim(batch, from, *to) || !find_for_losers(batch, from, *to))
		return false;
	expect(batch, from, *to);
	if (once__batch_has_stray(batch, from, *to)) /* halves part the two */
		once__pg_fail(batch->session->pg, ONCE__PG_OURS, "P0001",
			      "a message repeats one that wasn't new");
	fault_point("after_claim");
	return once__pg_failure(batch->session->pg) == NULL;
}

static bool is_claimed(const struct once__work *work)
{
	return work->claimed;
}

static bool unclaim(struct once__log *log, struct once__pg *pg,
		    struct once__work *const *works, size_t count)
{
	once__log_unclaim(log, pg, works, count);
	return true;
}

void once__batch_unclaim(struct once__batch *batch, size_t from, size_t to)
{
	(void)for_each_consumer(batch, pick(batch, from, to, is_claimed),
				unclaim);
}

static bool has_result(const struct once__work *work)
{
	return work->claimed && work->result.data != NULL;
}

static bool set_results(struct once__log *log, struct once__pg *pg,
			struct once__work *const *works, size_t count)
{
	once__log_set_results(log, pg, works, count);
	return true;
}

void once__batch_set_results(struct once__batch *batch, size_t from, size_t to)
{
	(void)for_each_consumer(batch, pick(batch, from, to, has_result),
				set_results);
}
