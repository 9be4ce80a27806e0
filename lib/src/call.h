/* call.h - one attempt at handling one message: what the handler's functions
 * act on. */
#ifndef ONCE__CALL_H
#define ONCE__CALL_H

#include "collect.h"
#include "pg.h"
#include "work.h"

struct once_call {
	struct once__pg *pg;
	struct once__collection *collection;
	struct once__work *work;
	size_t tag;
	int64_t began_ns;    /* monotonic */
	int64_t deadline_ms; /* likewise; 0: none */
	once_log_f *log;
	void *log_arg;
	bool raw;       /* the session is out of pipeline mode */
	bool saw_error; /* the handler was told that a statement failed */
};

/* What a finished call came to. */
enum once__call_result {
	ONCE__CALL_DONE,
	ONCE__CALL_VERDICT, /* `decided`, cause and reason stand in the work */
	ONCE__CALL_FAILED   /* a statement did; see once__pg_failure() */
};

/* One of its queued statements failed after the call had returned. */
void once__call_fail_late(struct once__work *work,
			  const struct once__pg_failure *failure);

/* Run handle(), or duplicate() where the work has lost its claim. */
enum once__call_result once__call_run(struct once_call *call, void *self);

#endif
