/*
 * outcome.h - the one table of how a message can end, and why: whatever decides
 * the ending of a message names a row of it. docs/reliability.md prints it.
 */
#ifndef ONCE__OUTCOME_H
#define ONCE__OUTCOME_H

#include "work.h"

/* clang-format off */

/* X(name, ending, cause, who decides, when, what is committed, what is counted)
 *
 * AGAIN_… of a route with `order: none`, or of a message that was parked
 * already, ends WAITING instead of RETRY: see once__outcome_decide(). */
#define ONCE__OUTCOME_TABLE(X)                                               \
	X(DONE, HANDLED, NONE, "plan_work",                                  \
	  "the handler returned DONE and all its statements succeeded",      \
	  "claim, the handler's writes, position", "onced_handled_total")    \
	X(REPEATED, DUPLICATE, NONE, "plan_repetition",                      \
	  "another message has its `msg_id` or `biz_id`, and the payload agrees", \
	  "position, what `duplicate()` wrote",                              \
	  "onced_intercepts_total, onced_backstop_hits_total")               \
	X(CONFLICTED, CONFLICT, CONFLICT, "plan_repetition",                 \
	  "another message has its key, and the payload differs",            \
	  "position, a parked row (`on_conflict: park`)",                    \
	  "onced_conflicts_total")                                           \
	X(UNKEYED, DEAD, BAD_KEY, "decide_bad_key",                          \
	  "a template yields no key (`on_bad_key: park`)",                   \
	  "position, a parked row", "onced_dead_total")                      \
	X(UNKEYED_HALT, HALTED, BAD_KEY, "decide_bad_key",                   \
	  "a template yields no key (`on_bad_key: halt`)",                   \
	  "nothing", "onced_partition_halted")                               \
	X(REFUSED, DEAD, REJECTED, "judge_verdict",                          \
	  "the handler returned REJECT",                                     \
	  "position, a parked row", "onced_dead_total")                      \
	X(NO_VERDICT, DEAD, VERDICT, "judge_verdict",                        \
	  "the handler returned something that is no verdict",               \
	  "position, a parked row", "onced_dead_total")                      \
	X(ENDED_IT, DEAD, TRANSACTION, "decide_failed",                      \
	  "the handler began or ended a transaction",                        \
	  "position, a parked row", "onced_dead_total")                      \
	X(HID_ERROR, DEAD, HIDDEN, "judge_failure",                          \
	  "the handler saw a statement fail and returned DONE",              \
	  "position, a parked row", "onced_dead_total")                      \
	X(HOPELESS, DEAD, PERMANENT, "decide_failed",                        \
	  "a statement failed with an SQLSTATE of `retry.never`",            \
	  "position, a parked row", "onced_dead_total")                      \
	X(GAVE_UP, DEAD, ATTEMPTS, "decide_again",                           \
	  "`max_attempts` have failed",                                      \
	  "position, a parked row", "onced_dead_total")                      \
	X(KILLER, DEAD, CRASHED, "decide_crashed",                           \
	  "`max_crashes` processes have died on it",                         \
	  "position, a parked row", "onced_dead_total")                      \
	X(BRAKED, HALTED, DEAD_ROW, "decide_brake",                          \
	  "it would be dead, and `halt_after_dead` before it were, all of that cause", \
	  "nothing", "onced_partition_halted")                               \
	X(AGAIN_ASKED, RETRY, ASKED, "judge_verdict",                        \
	  "the handler returned RETRY",                                      \
	  "attempts; `order: none`: position, a waiting row",                \
	  "onced_retries_total")                                             \
	X(AGAIN_FAILED, RETRY, STATEMENT, "decide_failed",                   \
	  "a statement of the handler failed, or the COMMIT for its sake",   \
	  "attempts; `order: none`: position, a waiting row",                \
	  "onced_retries_total")                                             \
	X(AGAIN_LATE, RETRY, TIMEOUT, "judge_lateness",                      \
	  "the call took longer than `timeout`",                             \
	  "attempts; `order: none`: position, a waiting row",                \
	  "onced_retries_total")                                             \
	X(DEPENDENT, PAUSED, ASKED, "judge_verdict",                         \
	  "the handler returned PAUSE",                                      \
	  "nothing: no attempt", "onced_paused_total")                       \
	X(UNEQUIPPED, PAUSED, ENVIRONMENT, "decide_failed",                  \
	  "a statement needs a right, table, column, function or schema that is missing (42501, 42P01, 42703, 42883, 3F000)", \
	  "nothing: no attempt", "onced_paused_total")                       \
	X(BLOCKED, PAUSED, LOCKED, "decide_failed",                          \
	  "a statement waited too long for somebody's lock (55P03)",         \
	  "nothing: no attempt", "onced_paused_total")
/* clang-format on */

enum once__outcome {
#define X(name, ending, cause, who, when, committed, counted) \
	ONCE__OUTCOME_##name,
	ONCE__OUTCOME_TABLE(X)
#undef X
};

/* Decided: whatever else happens to its batch, this message ends so. */
void once__outcome_decide(struct once__work *work, enum once__outcome outcome);
/* Planned: true if this try is committed. */
void once__outcome_plan(struct once__work *work, enum once__outcome outcome);

#endif
