/*
 * pg_impl.h - a session from within. Its parts:
 *
 *	pg.c           transactions
 *	pg_open.c      open and close
 *	pg_settings.c  what our SQL and its neighbours depend on
 *	pg_blockers.c  who has the lock that a statement waits for
 *	pg_pipeline.c  statements out
 *	pg_answers.c   answers in
 *	pg_failure.c   what a failure means, and whose it is
 *	pg_raw.c       the session without the pipeline
 *	pg_rows.c      what an answer holds
 */
#ifndef ONCE__PG_IMPL_H
#define ONCE__PG_IMPL_H

#include "pg.h"

#include "arena.h"
#include "pg_array.h"
#include "pg_statements.h"

#include <libpq-fe.h>

enum once__pg_kind {
	ONCE__PG_KIND_PREPARE,
	ONCE__PG_KIND_EXECUTE,
	ONCE__PG_KIND_RESTORE,
	ONCE__PG_KIND_SYNC
};

/* One answer that the server owes us. */
struct once__pg_owed {
	enum once__pg_kind kind;
	bool keep; /* the rows are wanted */
	size_t tag;
	struct once__pg_statement *statement; /* NULL: not a prepared one */
	int64_t rows; /* that it has to change; -1: any number */
};

struct once__pg {
	PGconn *conn;
	struct once__pg_options options;
	atomic_llong *moved_ms; /* NULL: nobody wants to know */
	struct once__pg_statements statements;

	struct once__pg_owed *queue; /* a ring */
	size_t capacity;             /* a power of two */
	size_t head;
	size_t count;

	PGresult **kept; /* rows that live until the transaction ends */
	size_t kept_count;
	size_t kept_capacity;

	once__pg_meanwhile_f *meanwhile; /* NULL: nothing */
	void *meanwhile_arg;
	once__pg_impatient_f *impatient; /* NULL: nobody */
	void *impatient_arg;
	bool cancelled; /* in this transaction, by us */

	/* the settings, by name: see pg_settings.c */
	struct once__pg_array names;
	struct once__pg_array values;
	size_t told; /* the first ones: a change of them is told */
	struct once__pg_stray strays[ONCE__PG_STRAYS_MAX];
	size_t stray_count;
	bool touched;
	bool committing;

	int64_t limited_ms;  /* see once__pg_limit(); negative: it isn't */
	int64_t patience_ms; /* for one answer; 0: any */
	char blockers[ONCE_REASON_SIZE]; /* "": none known */

	struct arena params; /* copies of text parameters */
	unsigned sends;
	size_t unsent; /* bytes of parameters since all was flushed */
	bool unsynced; /* something was sent since the last Sync */
	int backend;   /* the process that the raw session belonged to */
	unsigned transactions;
	unsigned generation;
	bool outdated; /* the statements are to be forgotten */
	bool failed;
	bool lost;
	struct once__pg_failure failure;
};

/* pg_failure.c */
void once__pg_lose(struct once__pg *pg);
/* The server, or something on the way to it, has been silent for too long. */
void once__pg_give_up(struct once__pg *pg);
void once__pg_fail_with(struct once__pg *pg, const struct once__pg_owed *owed,
			const PGresult *res);

/* pg_answers.c */
bool once__pg_succeeded(const PGresult *res);
/* Something was sent that will be answered. */
void once__pg_owe(struct once__pg *pg, struct once__pg_owed owed);
/* Those that are complete. */
void once__pg_take_answers(struct once__pg *pg);
/* Wait until the socket is ready (poll's events), and read what has come. */
void once__pg_wait_for(struct once__pg *pg, short events);
void once__pg_wait_for_all(struct once__pg *pg);

/* pg_pipeline.c */
bool once__pg_prepare(struct once__pg *pg, size_t tag,
		      struct once__pg_statement *statement);
/* See once__pg_restore(). */
void once__pg_send_restore(struct once__pg *pg, size_t tag, const char *sql,
			   const struct once_param *params, size_t count);
/* Without preparing it: BEGIN, COMMIT, ROLLBACK. */
void once__pg_send_control(struct once__pg *pg, const char *sql, bool kept);
/* End the pipeline's segment, and wait for all answers. */
void once__pg_sync(struct once__pg *pg);

/* pg_settings.c */
enum once_status once__pg_settings_pin(struct once__pg *pg,
				       struct once_error *err);
/* How long an answer may take, before a handler's timeout counts. */
int64_t once__pg_patience_ms(const struct once__pg_options *options);
void once__pg_settings_fini(struct once__pg *pg);
void once__pg_note_stray(struct once__pg *pg, size_t tag, const char *names);
/* Its text says that it may change settings. */
bool once__pg_touches(const char *sql);

/* pg_blockers.c */
/* Ask over another connection; sets `blockers`. */
void once__pg_ask_blockers(struct once__pg *pg);

/* pg.c */
/* Forget the last transaction's rows and its failure. */
void once__pg_clear(struct once__pg *pg);

#endif
