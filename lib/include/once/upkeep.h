/*
 * once/upkeep.h - retention: the log is cleaned of what is old, by one at a
 * time, in transactions that are short.
 *
 * A row goes when it is older than the retention by the database's clock, and
 * no group that reads under its scope stands at or before its message: however
 * long a group was away, what it reads again is still known.
 *
 * Threads: a cleaner belongs to the thread that opened it.
 */
#ifndef ONCE_UPKEEP_H
#define ONCE_UPKEEP_H

#include <once/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct once_cleaner;

/* When the database's clock was last found right by this program: its time, and
 * that of a clock of ours that nobody sets. All zero: never. */
struct once_clock_seen {
	int64_t database_ms;
	int64_t own_ms;
};

/* The time of what the source of messages brought last, in ms since 1970; 0:
 * nothing yet. Threads: the cleaner's. */
typedef int64_t once_source_time_f(void *arg);

struct once_cleaner_options {
	const char *conninfo;
	const char *application_name; /* for pg_stat_activity */
	const char *const *scopes;    /* they outlive it */
	size_t scope_count;
	int64_t retention_ms; /* -1: for ever, nothing is removed; 0: only
			       * what the groups of a scope have said counts */
	int dry_run;          /* only count */
	const char *person;   /* NULL: else each transaction that removes */
	const char *subject;  /* something says so in once.audit: who, what */

	/* What else speaks for the database's clock. */
	struct once_clock_seen *clocks;  /* by scope; they outlive it, to be
					  * given to the next; NULL: none */
	once_source_time_f *source_time; /* NULL: none */
	void *source_arg;
	int clock_is_right; /* a person says so */
};

/* Connect. TRANSIENT: the server isn't there now. CONFIG: the schema is another
 * one. */
ONCE_API enum once_status once_cleaner_open(
	const struct once_cleaner_options *options,
	struct once_cleaner **ret_cleaner,
	struct once_error *err) ONCE_MUST_CHECK;
ONCE_API void once_cleaner_close(struct once_cleaner *cleaner);

/* What one transaction did. */
struct once_clean_step {
	size_t scope;    /* index into the options' */
	int64_t removed; /* dry_run: would be */
	int64_t kept;    /* old, but a group may read them again */
	int64_t took_ms;
	int busy;     /* another cleaner has this scope now */
	int in_doubt; /* nothing of it is removed: the database's clock may be
		       * wrong, */
	char doubt[256]; /* as this says, and what to do; else "" */
	int scope_done;  /* until the next round */
	int round_done;  /* the next step begins a new round */
};

/*
 * One transaction's worth: old rows of one scope, so many as take a tenth or a
 * fifth of a second. It waits for nobody's lock. A round goes over each scope
 * once, from its oldest row on.
 *
 * The longest retention counts that a group has said for the scope (by its
 * instances, see once_instance) or the options say.
 *
 * Errors: INVALID, nobody has said how long the rows of the scope are kept;
 * TRANSIENT and the others. They leave the database as it was before the step;
 * close the cleaner.
 */
ONCE_API enum once_status once_cleaner_step(
	struct once_cleaner *cleaner, struct once_clean_step *ret_step,
	struct once_error *err) ONCE_MUST_CHECK;

/* The log of one scope. */
struct once_log_reading {
	const char *scope; /* ends with the call */
	int64_t rows;      /* exact below 10,000, else the planner's guess */
	int exact;
	int64_t oldest_ms;  /* age of the oldest row; -1: there is none */
	int64_t overdue_ms; /* since when the oldest that may go should have
			     * gone; 0: there is none */
	int known;          /* it is one of the options' scopes, */
	size_t index;       /* this one */
};

typedef void once_log_reading_f(void *arg,
				const struct once_log_reading *reading);

/* Told of each scope that the database knows. Cheap: by an index. */
ONCE_API enum once_status once_cleaner_read(
	struct once_cleaner *cleaner, once_log_reading_f *told, void *arg,
	struct once_error *err) ONCE_MUST_CHECK;

/* Whose parked messages: those for a route of a group, and those that any route
 * of the scope may take. */
struct once_parked_place {
	const char *scope;
	const char *group;
	const char *route;
};

struct once_parked_count {
	int64_t waiting;
	int64_t dead;
};

/* `ret_counts`: one for each place. It reads an index, not the messages; of a
 * million it takes a while, so not in a session that handles messages. */
ONCE_API enum once_status once_cleaner_count_parked(
	struct once_cleaner *cleaner, const struct once_parked_place *places,
	size_t count, struct once_parked_count *ret_counts,
	struct once_error *err) ONCE_MUST_CHECK;

/* once_cleaner_read() in a session of its own, which needs no right to remove
 * anything. */
ONCE_API enum once_status once_log_read(
	const struct once_cleaner_options *options, once_log_reading_f *told,
	void *arg, struct once_error *err) ONCE_MUST_CHECK;

/* Before a scope is cleaned that isn't one's own: INVALID, the database doesn't
 * know it; FENCED, a running process reads under it. */
ONCE_API enum once_status once_cleaner_check_foreign(
	struct once_cleaner *cleaner, const char *scope,
	struct once_error *err) ONCE_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
