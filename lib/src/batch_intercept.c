/*
 * A batch and the prefilters. The idea to hold: a hit is a rumour. It counts in
 * a try that has seen in its own transaction that the database has come past
 * what the mark tells of; and what is told to the prefilters was committed.
 */
#include "batch.h"

#include "bytes.h"
#include "error.h"

/* A row of the log that the prefilters are to be told of. */
struct once__note {
	size_t route;
	struct once__digest digest;
	struct once__mark mark;
	int64_t age_ms;
};

static struct once__intercept *intercept_of(const struct once__batch *batch)
{
	return &batch->session->intercept;
}

/* ---- ask ---- */

static bool may_ask(const struct once__work *work)
{
	return work->decided == ONCE_PENDING_ENDING && !work->item->parked;
}

/* duplicate() is owed the stored result, and that is in the log alone. */
static bool is_of_use(const struct once__work *work,
		      const struct once__mark *mark)
{
	return !mark->has_result ||
	       once__handler_duplicate(work->route->handler) == NULL;
}

static void take_hit(struct once__batch *batch, struct once__work *work,
		     const struct once__mark *mark, enum once_stage stage)
{
	struct once__hit *hit;

	if (!is_of_use(work, mark))
		return;
	hit = arena_take(batch->arena, sizeof(*hit));
	if (hit == NULL)
		return;
	hit->mark = *mark;
	hit->stage = stage;
	work->hit = hit;
}

static void make_keys(struct once__batch *batch)
{
	struct once__intercept *intercept = intercept_of(batch);
	struct once__marks *marks = intercept->prefilter->marks;

	for (size_t i = 0; i < batch->count; i++) {
		struct once__work *work = &batch->works[i];

		if (!may_ask(work))
			continue;
		once__intercept_key(intercept, work->item->route,
				    &work->msg.keys, &work->row_key);
		if (marks != NULL)
			once__marks_prefetch(marks, &work->row_key.digest);
	}
}

static void ask_local(struct once__batch *batch)
{
	struct once__marks *marks = intercept_of(batch)->prefilter->marks;
	struct once__mark mark;

	if (marks == NULL)
		return;
	for (size_t i = 0; i < batch->count; i++) {
		struct once__work *work = &batch->works[i];

		if (may_ask(work) && work->hit == NULL &&
		    once__marks_find(marks, &work->row_key.digest, &mark))
			take_hit(batch, work, &mark, ONCE_STAGE_LOCAL);
	}
}

static void take_value(struct once__batch *batch, struct once__work *work,
		       struct once_bytes value)
{
	struct once__mark mark;

	if (value.data == NULL)
		return;
	if (once__mark_parse(value, intercept_of(batch)->secret,
			     &work->row_key.digest, &mark))
		take_hit(batch, work, &mark, ONCE_STAGE_REDIS);
	else
		work->item->unproven |= 1u << ONCE_STAGE_REDIS;
}

/* false: Redis wasn't there. */
static bool ask_redis(struct once__batch *batch)
{
	struct once__intercept *intercept = intercept_of(batch);
	struct arena *arena = batch->arena;
	struct once_bytes *names;
	struct once_bytes *values;
	size_t count = 0;

	if (intercept->redis == NULL)
		return true;
	names = arena_take_zeroed(arena, batch->count, 2 * sizeof(*names));
	if (names == NULL)
		return true;
	values = names + batch->count;
	for (size_t i = 0; i < batch->count; i++) {
		struct once__work *work = &batch->works[i];
		struct once_bytes name;

		if (!may_ask(work) || work->hit != NULL)
			continue;
		name = once__intercept_name(intercept, work->item->route,
					    &work->row_key.digest, arena);
		if (name.data == NULL)
			return true;
		names[count] = name;
		batch->picked[count++] = work;
	}
	if (count == 0)
		return true;
	if (!once__redis_get(intercept->redis, names, count, values))
		return false;
	for (size_t i = 0; i < count; i++)
		take_value(batch, batch->picked[i], values[i]);
	return true;
}

static enum once_status refuse_to_go_on(const struct once_prefilter *prefilter,
					struct once_error *err)
{
	struct once__circuit_view view;

	once__circuit_get_view(prefilter->circuit, &view);
	return error_set(err, ONCE_TRANSIENT,
			 "Redis isn't there, and the prefilter's "
			 "on_unavailable is pause: %s",
			 view.trouble);
}

enum once_status once__batch_ask(struct once__batch *batch,
				 struct once_error *err)
{
	const struct once_prefilter *prefilter = intercept_of(batch)->prefilter;

	if (prefilter == NULL)
		return ONCE_OK;
	make_keys(batch);
	ask_local(batch);
	if (!ask_redis(batch) && prefilter->pause)
		return refuse_to_go_on(prefilter, err);
	return ONCE_OK;
}

void once__batch_ask_again(struct once__batch *batch)
{
	if (intercept_of(batch)->prefilter != NULL)
		ask_local(batch);
}

/* ---- prove ---- */

static bool has_rumour(const struct once__work *work)
{
	return work->hit != NULL && work->planned == ONCE_HANDLED_ENDING;
}

static enum once__proof prove(struct once__batch *batch,
			      const struct once__work *work)
{
	return once__tenures_prove(&intercept_of(batch)->tenures,
				   work->hit->mark.tenure,
				   work->hit->mark.offset);
}

bool once__batch_prove(struct once__batch *batch, size_t from, size_t to)
{
	struct once__tenures *tenures = &intercept_of(batch)->tenures;

	if (intercept_of(batch)->prefilter == NULL)
		return true;
	once__tenures_begin(tenures);
	for (size_t i = from; i < to; i++) {
		struct once__work *work = &batch->works[i];

		if (has_rumour(work) && prove(batch, work) == ONCE__TO_BE_ASKED)
			once__tenures_add(tenures, work->hit->mark.tenure);
	}
	if (!once__tenures_ask(tenures, batch->session->pg))
		return false;
	for (size_t i = from; i < to; i++) {
		struct once__work *work = &batch->works[i];

		if (!has_rumour(work))
			continue;
		work->known = prove(batch, work) == ONCE__PROVED;
		if (!work->known)
			work->item->unproven |= 1u << work->hit->stage;
	}
	return true;
}

/* ---- note and tell ---- */

static void add_note(struct once__batch *batch, const struct once__work *work,
		     const struct once__keys *row,
		     const struct once__row_key *key, bool has_result,
		     int64_t age_ms)
{
	struct once__note *note = &batch->notes[batch->note_count++];

	note->route = work->item->route;
	note->digest = key->digest;
	note->age_ms = age_ms;
	note->mark = (struct once__mark){
		.tenure = work->item->strand->tenure,
		.offset = work->msg.record->offset,
		.other = key->other,
		.has_fingerprint =
			row->fingerprint.size == ONCE__FINGERPRINT_SIZE,
		.has_result = has_result,
	};
	if (note->mark.has_fingerprint)
		memcpy(note->mark.fingerprint, row->fingerprint.data,
		       sizeof(note->mark.fingerprint));
}

/* A row that was met counts like one that was written: it was there before our
 * step. */
static void note_work(struct once__batch *batch, const struct once__work *work)
{
	const struct once_strand *strand = work->item->strand;
	struct once__row_key met;

	if (strand == NULL || strand->tenure == 0)
		return;
	if (work->claimed && work->planned == ONCE_HANDLED_ENDING) {
		add_note(batch, work, &work->msg.keys, &work->row_key,
			 work->result.data != NULL, 0);
	} else if (work->lost) {
		once__intercept_key(intercept_of(batch), work->item->route,
				    &work->stored, &met);
		add_note(batch, work, &work->stored, &met,
			 work->stored_result.data != NULL, work->stored_age_ms);
	}
}

void once__batch_note(struct once__batch *batch, size_t from, size_t to)
{
	batch->note_count = 0;
	if (intercept_of(batch)->prefilter == NULL)
		return;
	if (batch->notes == NULL)
		batch->notes = arena_take_zeroed(batch->arena, batch->count,
						 sizeof(*batch->notes));
	for (size_t i = from; i < to && batch->notes != NULL; i++)
		note_work(batch, &batch->works[i]);
}

static void tell_local(const struct once__batch *batch)
{
	const struct once_prefilter *prefilter = intercept_of(batch)->prefilter;

	for (size_t i = 0; i < batch->note_count; i++) {
		const struct once__note *note = &batch->notes[i];

		once__marks_put(
			prefilter->marks, &note->digest, &note->mark,
			once__prefilter_life_ms(prefilter, note->age_ms));
	}
}

/* A row that was met has less of the retention before it than one that was
 * written. 0: nothing. */
static int64_t ttl_of(const struct once_prefilter *prefilter,
		      const struct once__note *note)
{
	int64_t life_ms = once__prefilter_life_ms(prefilter, note->age_ms);

	return life_ms < 0 || life_ms > prefilter->ttl_ms ? prefilter->ttl_ms
							  : life_ms;
}

static void tell_redis(const struct once__batch *batch)
{
	struct once__intercept *intercept = intercept_of(batch);
	struct arena *arena = batch->arena;
	size_t most = batch->note_count;
	size_t count = 0;
	struct once_bytes *names =
		arena_take_zeroed(arena, most, 2 * sizeof(*names));
	unsigned char *data = arena_take(arena, most * ONCE__MARK_SIZE);
	int64_t *ttls_ms = arena_take_zeroed(arena, most, sizeof(*ttls_ms));
	struct once_bytes *values = names + most;

	if (names == NULL || data == NULL || ttls_ms == NULL)
		return;
	for (size_t i = 0; i < most; i++) {
		const struct once__note *note = &batch->notes[i];

		ttls_ms[count] = ttl_of(intercept->prefilter, note);
		if (ttls_ms[count] == 0)
			continue;
		once__mark_format(&note->mark, intercept->secret, &note->digest,
				  data);
		values[count] = bytes_of(data, ONCE__MARK_SIZE);
		data += ONCE__MARK_SIZE;
		names[count] = once__intercept_name(intercept, note->route,
						    &note->digest, arena);
		if (names[count++].data == NULL)
			return;
	}
	once__redis_set(intercept->redis, names, values, ttls_ms, count);
}

void once__batch_tell(struct once__batch *batch)
{
	struct once__intercept *intercept = intercept_of(batch);

	if (intercept->prefilter == NULL)
		return;
	for (size_t i = 0; i < batch->move_count; i++)
		if (once__move_is_useful(&batch->moves[i]))
			once__tenures_learn(&intercept->tenures,
					    batch->moves[i].strand->tenure,
					    batch->moves[i].next_offset);
	if (batch->note_count == 0)
		return;
	if (intercept->prefilter->marks != NULL)
		tell_local(batch);
	if (intercept->redis != NULL)
		tell_redis(batch);
}
