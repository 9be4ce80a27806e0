/*
 * Was that COMMIT carried out? The database is asked for what it would have
 * left behind: positions, claims, parked rows. The idea to hold: "no" is always
 * a safe answer, the messages are run again and found to be duplicates; "yes"
 * is safe only if all of it is there, for somebody else may have handled a part
 * since.
 */
#include "batch.h"

#include "parked.h"

struct evidence {
	size_t found;
	size_t missing;
};

static void add_evidence(struct evidence *evidence, bool found)
{
	if (found)
		evidence->found++;
	else
		evidence->missing++;
}

static bool ask_for_move(struct once__pg *pg, const struct once__move *move,
			 struct evidence *evidence)
{
	const struct once_strand *strand = move->strand;
	struct once__partition partition = { strand->group, strand->topic,
					     strand->partition };
	struct once_position position;

	if (move->next_offset == strand->next_offset)
		return true;
	if (!once__positions_read(pg, &partition, &position))
		return false;
	add_evidence(evidence, position.next_offset == move->next_offset);
	return true;
}

/* A strand's position speaks for its messages; a duplicate left nothing. */
static bool ask_for_work(struct once__pg *pg, const struct once__work *work,
			 struct evidence *evidence)
{
	bool found = false;
	bool answered = true;

	if (work->strand != ONCE__NO_STRAND)
		return true;
	if (work->item->parked) {
		answered = once__parked_waits(pg, work, &found);
		found = !found;
	} else if (work->claimed)
		answered = once__log_holds(pg, work, &found);
	else if (once__work_is_parked(work))
		answered = once__parked_holds(pg, work, &found);
	else
		return true;
	add_evidence(evidence, found);
	return answered;
}

static bool ask(struct once__batch *batch, struct evidence *evidence)
{
	struct once__pg *pg = batch->session->pg;

	for (size_t i = 0; i < batch->move_count; i++)
		if (!ask_for_move(pg, &batch->moves[i], evidence))
			return false;
	for (size_t i = batch->doubt_from; i < batch->doubt_to; i++)
		if (!ask_for_work(pg, &batch->works[i], evidence))
			return false;
	return true;
}

static enum once_status find_out(struct once__batch *batch, bool *ret_committed,
				 struct once_error *err)
{
	struct once__pg *pg = batch->session->pg;
	struct evidence evidence = { 0, 0 };
	enum once_status status = ONCE_OK;

	once__pg_begin(pg);
	if (!ask(batch, &evidence))
		status = once__pg_error(pg, err);
	once__pg_rollback(pg);
	*ret_committed = evidence.found > 0 && evidence.missing == 0;
	return status;
}

enum once_status once_session_settle(struct once_session *session,
				     struct once_item *items, size_t count,
				     struct once_error *err)
{
	struct once__batch *batch = session->unsettled;
	bool committed = false;
	enum once_status status = once_session_connect(session, err);

	(void)items;
	(void)count;
	if (status != ONCE_OK || batch == NULL)
		return status;
	status = find_out(batch, &committed, err);
	if (status != ONCE_OK)
		return status;
	if (committed)
		once__batch_publish(batch, batch->doubt_from, batch->doubt_to);
	session->unsettled = NULL;
	return ONCE_OK;
}
