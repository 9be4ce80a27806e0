/* From a row of the table to a message's ending and cause. */
#include "outcome.h"

#include "route.h"

static const struct {
	enum once_ending ending;
	enum once_cause cause;
} outcomes[] = {
#define X(name, ending, cause, who, when, committed, counted) \
	{ ONCE_##ending##_ENDING, ONCE_CAUSE_##cause },
	ONCE__OUTCOME_TABLE(X)
#undef X
};

/* Who lets others pass has to stand aside while it waits. */
static enum once_ending ending_of(const struct once__work *work,
				  enum once__outcome outcome)
{
	enum once_ending ending = outcomes[outcome].ending;
	bool aside =
		work->route->order == ONCE_ORDER_NONE || work->item->parked;

	return ending == ONCE_RETRY_ENDING && aside ? ONCE_WAITING_ENDING
						    : ending;
}

void once__outcome_decide(struct once__work *work, enum once__outcome outcome)
{
	work->decided = ending_of(work, outcome);
	work->item->cause = outcomes[outcome].cause;
}

void once__outcome_plan(struct once__work *work, enum once__outcome outcome)
{
	work->planned = ending_of(work, outcome);
	work->item->cause = outcomes[outcome].cause;
}
