/*
 * pg.h - one libpq session in pipeline mode.
 *
 * Statements are queued with once__pg_send() and answered later, in order; each
 * carries a tag (the message it belongs to), so that a failure is known to be
 * whose. After the first failure of a transaction nothing more is queued: roll
 * back.
 *
 * Threads: the session's. Errors are kept in the session: once__pg_failure().
 */
#ifndef ONCE__PG_H
#define ONCE__PG_H

#include <once/once.h>
#include <stdatomic.h>
#include <stdbool.h>

struct once__pg;
struct pg_conn;

/* The tag of statements that belong to no message. */
#define ONCE__PG_OURS SIZE_MAX
/* The tag of a statement that several messages have a share in. */
#define ONCE__PG_SHARED (SIZE_MAX - 1)

/* The size of a parameter that there was no memory to make. A statement that
 * is given one fails: as NULL it would do less than it was meant to. */
#define ONCE__PG_NOT_MADE SIZE_MAX

enum once__pg_commit {
	ONCE__PG_COMMITTED,
	ONCE__PG_NOT_COMMITTED, /* rolled back by the server */
	ONCE__PG_UNKNOWN        /* sent, and the session died */
};

/* What one failed statement means for those who didn't fail (design: by
 * SQLSTATE, never by text). */
enum once__pg_class {
	ONCE__PG_MESSAGE,     /* the fault is the statement's, or its data's */
	ONCE__PG_REPEAT,      /* the same again may succeed at once */
	ONCE__PG_LOCKED,      /* somebody holds a lock for too long */
	ONCE__PG_ENVIRONMENT, /* a right or a table that a handler needs is
				 missing */
	ONCE__PG_SERVER,      /* the server, the session, a resource */
	ONCE__PG_SCHEMA,      /* a table of ours isn't there */
	ONCE__PG_RIGHTS
};

struct once__pg_failure {
	size_t tag;
	enum once__pg_class class;
	bool answered;    /* by the server, to a statement */
	char sqlstate[6]; /* "" when libpq said it, not the server */
	char text[ONCE_REASON_SIZE];
};

/* What ends a wait, in ms. 0: nothing of ours does. */
struct once__pg_limits {
	int64_t idle_ms; /* silence of ours within a transaction, by the server;
			    and how long a host may be gone */
	int64_t lock_ms; /* a statement's wait for a lock, by the server */
	int64_t answer_ms; /* a statement, by the server; and `idle_ms` later,
			      by us: the session is lost */
};

#define ONCE__PG_USUAL_LIMITS \
	{ \
		.idle_ms = 10000, .lock_ms = 5000, .answer_ms = 60000 \
	}

/* Of a person's command, which may have to read a whole table. */
#define ONCE__PG_COMMAND_LIMITS \
	{ \
		.idle_ms = 10000, .lock_ms = 5000, .answer_ms = 300000 \
	}

/* The texts outlive the session. */
struct once__pg_options {
	const char *conninfo;
	const char *application_name;
	enum once_durability durability;
	enum once_isolation isolation;
	struct once__pg_limits limits;
};

enum once_status once__pg_open(const struct once__pg_options *options,
			       struct once__pg **ret_pg,
			       struct once_error *err);
void once__pg_close(struct once__pg *pg);
/* From now on `moved_ms` is when the server last said something. */
void once__pg_watch(struct once__pg *pg, atomic_llong *moved_ms);
bool once__pg_is_lost(const struct once__pg *pg);
/* As far as the server has said it: a standby, or told to take no writes.
 * Before version 14 servers don't say it, and false is returned. */
bool once__pg_is_read_only(const struct once__pg *pg);

void once__pg_begin(struct once__pg *pg);
/* The COMMIT of this transaction waits for the disk, whatever the session's do.
 */
void once__pg_make_durable(struct once__pg *pg);
/* Queue a statement; parameters are copied. */
void once__pg_send(struct once__pg *pg, size_t tag, const char *sql,
		   const struct once_param *params, size_t count);
/* Queue one of ours that has to change so many rows: another number is a
 * failure, for a trigger or a rule has swallowed what nobody would miss. */
void once__pg_send_exactly(struct once__pg *pg, size_t rows, const char *sql,
			   const struct once_param *params, size_t count);
/* Queue and wait; the rows live until the transaction ends. NULL: failed. */
const struct once_rows *once__pg_exec(struct once__pg *pg, size_t tag,
				      const char *sql,
				      const struct once_param *params,
				      size_t count);
/* The same, with the columns in binary: text as it is, bytea without a coat.
 * Numbers come as text if they are cast to it. */
const struct once_rows *once__pg_exec_binary(struct once__pg *pg, size_t tag,
					     const char *sql,
					     const struct once_param *params,
					     size_t count);
/* Free the rows that were got since `kept` of this transaction's were there. */
size_t once__pg_kept(const struct once__pg *pg);
void once__pg_forget(struct once__pg *pg, size_t kept);
/* What to do the next time that this transaction waits for answers, once: the
 * server has something to work on. */
typedef void once__pg_meanwhile_f(void *arg);
void once__pg_meanwhile(struct once__pg *pg, once__pg_meanwhile_f *meanwhile,
			void *arg);
/* Asked now and then while the transaction waits for answers, until its COMMIT:
 * true, and what the server is at is cancelled, as a failure to be repeated.
 * NULL: nobody is asked. */
typedef bool once__pg_impatient_f(void *arg);
void once__pg_impatient(struct once__pg *pg, once__pg_impatient_f *impatient,
			void *arg);
/* Take the answers that are here already. */
void once__pg_poll(struct once__pg *pg);
/* Let the server know, without waiting for it, that for now nothing comes: from
 * here on its idle_in_transaction_session_timeout counts. */
void once__pg_breathe(struct once__pg *pg);
/* Limits of what is sent from here on, within this transaction, until
 * once__pg_restore(): a handler's statements may take `timeout_ms` (0: any
 * time), and it may think for as long. Nothing, if they are so already. */
void once__pg_limit(struct once__pg *pg, int64_t timeout_ms);
/* Wait for all answers. false: something failed. */
bool once__pg_wait(struct once__pg *pg);
enum once__pg_commit once__pg_commit(struct once__pg *pg);
/* Back to an idle session, whatever state it was in; else it is lost. */
void once__pg_rollback(struct once__pg *pg);

/* It is that SQLSTATE, or of that class of them ("22"). */
bool once__sqlstate_is(const char *sqlstate, const char *prefix);

/* Of the first failed statement since begin; NULL: none failed. */
const struct once__pg_failure *once__pg_failure(const struct once__pg *pg);
/* As a status and a text for a caller who gives up. */
enum once_status once__pg_error(const struct once__pg *pg,
				struct once_error *err);

/* Several statements outside a transaction, with the simple protocol. */
bool once__pg_script(struct once__pg *pg, const char *sql);

/* The raw session: out of pipeline mode and back. NULL and false: failed. */
struct pg_conn *once__pg_enter_raw(struct once__pg *pg);
bool once__pg_leave_raw(struct once__pg *pg, size_t tag);

/* Prepare a statement without running it. NULL: it failed, or the session has
 * prepared so many that it prepares no more. */
const char *once__pg_name(struct once__pg *pg, size_t tag, const char *sql);

/* ---- settings: see pg_settings.c ---- */

enum {
	ONCE__PG_STRAYS_MAX = 8
};

/* Settings that were found changed. */
struct once__pg_stray {
	size_t tag; /* of the message after which they were */
	char names[ONCE_REASON_SIZE];
};

/* Put the session's settings back to what they were at connect, limits
 * included; `tag`: the message that is to answer for a change, or
 * ONCE__PG_OURS. */
void once__pg_restore(struct once__pg *pg, size_t tag);
/* Something was sent, since begin or restore, whose text says that it may
 * change settings. */
bool once__pg_is_touched(const struct once__pg *pg);
/* What this transaction's restores have found, as far as it is answered. */
const struct once__pg_stray *once__pg_strays(const struct once__pg *pg,
					     size_t *ret_count);

/* Another number once the session's statements were forgotten, because a table
 * was altered: what they have told of it isn't true any more. */
unsigned once__pg_generation(const struct once__pg *pg);

/* May it be a text parameter? If not, that is the failure. */
bool once__pg_check_text(struct once__pg *pg, size_t tag,
			 struct once_bytes value);

/* A failure found by us, not by the server. */
void once__pg_fail(struct once__pg *pg, size_t tag, const char *sqlstate,
		   const char *text);

/* Columns as int64; 0 where NULL. */
int64_t once__rows_int64(const struct once_rows *rows, size_t row,
			 size_t column);

#endif
