/*
 * fault.h - named points where a test kills or freezes the process, to see what
 * that leaves behind. Compiled in by ONCE_FAULT_POINTS only; then
 * ONCE_FAULT="after_claim:3" kills with SIGKILL at the third visit, and
 * "after_claim:3:stop" freezes it there with SIGSTOP.
 */
#ifndef ONCE_FAULT_H
#define ONCE_FAULT_H

/* clang-format off */
#define FAULT_POINT_TABLE(X)                                              \
	X(after_pull,          "messages were taken, nothing was begun")  \
	X(after_claim,         "claims are inserted, no handler was called") \
	X(in_handler,          "handlers were called, their statements queued") \
	X(before_commit,       "all is answered, COMMIT isn't sent")      \
	X(after_commit,        "committed, nobody knows yet")             \
	X(after_completion,    "the source knows, nothing is stored")     \
	X(after_store,         "the offset is stored, not committed")     \
	X(after_offset_commit, "the offset commit was sent")
/* clang-format on */

#ifdef ONCE_FAULT_POINTS
void fault_point(const char *name);
#else
static inline void fault_point(const char *name)
{
	(void)name;
}
#endif

#endif
