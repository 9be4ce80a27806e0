/*
 * trial.h - libonce on a database of the test's own: schema `once`, a table
 * `effect (msg_id, value)` that a handler writes one row to for each call that
 * is committed, and a session.
 */
#ifndef TEST_TRIAL_H
#define TEST_TRIAL_H

#include "pg_fixture.h"

#include <once/once.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
	TRIAL_ROUTES = 4
};

struct trial {
	struct pg_fixture pg;
	struct once_route *routes[TRIAL_ROUTES];
	size_t route_count;
	struct once_prefilter *prefilter; /* of sessions opened from then on */
	size_t max_messages;              /* the same */
	struct once_limits limits;        /* the same */
	once_meanwhile_f *meanwhile;      /* the same */
	void *meanwhile_arg;
	int64_t max_time_ms; /* the same */
	once_hurry_f *hurry; /* the same */
	struct once_session *session;
	struct once_run_stats stats; /* of the last run */
	struct once_error err;
};

/* What trial_handler does with a message whose value is "poison", after it has
 * written its effect. */
extern once_handle_f *trial_poison;
/* Calls of handle() in this process. */
extern atomic_uint trial_calls;
extern const struct once_handler trial_handler;

/* msg_id from header "id", biz_id from header "biz", three attempts,
 * trial_handler. */
struct once_route_options trial_route(void);

/* `options` NULL: one trial_route(). */
void trial_init(struct trial *trial, const struct once_route_options *options,
		size_t count);
void trial_fini(struct trial *trial);
/* One more session with the same routes, at `conninfo` or (NULL) at ours. */
struct once_session *trial_open_session(struct trial *trial,
					const char *conninfo);
/* Our session, opened anew. */
void trial_reopen(struct trial *trial, const char *conninfo);
int64_t trial_count(struct trial *trial, const char *sql);
/* The process id of the server's side of our session. */
int64_t trial_backend(struct trial *trial);

/* ---- messages ---- */

/* `count` items of topic "t", partition 0, offsets 0 and up; header "id" is
 * "m<offset>", header "biz" is "b<offset>", the value is "v". */
struct mail {
	struct once_item *items;
	size_t count;
	struct letter *letters;
};

void mail_init(struct mail *mail, size_t count);
void mail_fini(struct mail *mail);
void mail_set_id(struct mail *mail, size_t at, const char *id);
/* NULL: no such header. */
void mail_set_biz(struct mail *mail, size_t at, const char *biz);
/* NULL: a tombstone. Borrowed. */
void mail_set_value(struct mail *mail, size_t at, const char *value);
void mail_set_strand(struct mail *mail, size_t at, struct once_strand *strand);
/* PENDING again, as if the source gave them once more. */
void mail_again(struct mail *mail);
size_t mail_count(const struct mail *mail, enum once_ending ending);

/* Run all of it and expect that status; the text is in trial->err. */
void trial_run(struct trial *trial, struct mail *mail,
	       enum once_status expected);
void trial_run_by(struct trial *trial, struct once_session *session,
		  struct mail *mail, enum once_status expected);

#define ck_ending(item, expected) \
	ck_assert_msg((item).ending == (expected), "%s (%s): %s", \
		      once_ending_word((item).ending), \
		      once_cause_word((item).cause), (item).reason)

struct once_bytes bytes(const char *text);
bool is_text(struct once_bytes bytes, const char *text);

#endif
