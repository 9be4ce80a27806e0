/*
 * once/parked.h - looking at messages set aside, and deciding what becomes of
 * them. For a person's hands: onced's commands, an admin page.
 *
 *	list     what is there, message by message
 *	show     the same, with all that Kafka held
 *	redrive  dead messages are due again: some session of their route takes
 *	         each up and runs it through the same claim, so that one which
 *	         was handled meanwhile is a duplicate
 *	discard  they are gone for good; once.audit keeps where they were and
 *	         their keys
 *
 * Consumers may run. Work is done in bounded transactions, each with its row in
 * once.audit; a message that somebody else is just handling is skipped.
 *
 * Threads: any; each call has a session of its own.
 */
#ifndef ONCE_PARKED_H
#define ONCE_PARKED_H

#include <once/once.h>

#ifdef __cplusplus
extern "C" {
#endif

enum once_parked_state {
	ONCE_PARKED_ANY,
	ONCE_PARKED_WAITING, /* for its next attempt */
	ONCE_PARKED_DEAD     /* for a person */
};

/* Which messages: those that fit all that is given. All zero: every one. */
struct once_parked_filter {
	/* Scopes: that begin with "<group>/", or that are listed. */
	const char *group;
	const char *const *scopes;
	size_t scope_count;

	enum once_parked_state state;
	const char *cause; /* a word of ONCE_CAUSE_TABLE */
	const char *topic;
	const int32_t *partition;
	const int64_t *offset;
	/* Exactly its msg_id, its biz_id, or its Kafka key. */
	struct once_bytes key;
	/* Since it was parked last, by the database's clock; 0: any time. */
	int64_t older_than_ms;
	int64_t newer_than_ms;
	int64_t limit; /* 0: none */
	/* Of a scope that groups share: those for this group's handlers, or
	 * for anybody's. NULL: all. */
	const char *for_group;
};

/* A parked message. All of it is borrowed and ends with the call. */
struct once_parked_message {
	const char *scope;
	const char *topic;
	int32_t partition;
	int64_t offset;
	int64_t time_ms;        /* the record's own; -1: unknown */
	int32_t log_generation; /* the record's */

	enum once_parked_state state;
	const char *cause;
	const char *reason;
	const char *sqlstate; /* "": no database said it */
	int64_t attempts;
	int64_t crashes;
	struct once_bytes msg_id; /* NULL data: a bad key */
	struct once_bytes biz_id; /* NULL data: none */
	const char *parked_at;    /* "2026-01-31T23:59:59Z" */
	const char *retry_at;     /* likewise; "": it isn't waiting */
	int64_t value_bytes;      /* -1: a tombstone */
	const char *group;        /* whose handler takes it up; "": any that */
	const char *route;        /* has its scope */

	/* Of once_parked_show() only. */
	struct once_bytes key;
	struct once_bytes value;
	const struct once_header *headers;
	size_t header_count;
	struct once_bytes fingerprint;          /* NULL data: none */
	struct once_bytes original_fingerprint; /* of whom it conflicts with */
};

/* Returns 0 to be told of the next one. */
typedef int once_parked_f(void *arg, const struct once_parked_message *msg);

/* In the order of topic, partition, offset, scope by scope. It isn't one
 * snapshot: messages come and go meanwhile. */
ONCE_API enum once_status once_parked_list(
	const char *conninfo, const struct once_parked_filter *filter,
	once_parked_f *told, void *arg, struct once_error *err) ONCE_MUST_CHECK;

/* Whole messages, one in memory at a time. Several may have the same offset: of
 * several scopes, or of a topic that was made again. */
ONCE_API enum once_status once_parked_show(
	const char *conninfo, const struct once_parked_filter *filter,
	once_parked_f *told, void *arg, struct once_error *err) ONCE_MUST_CHECK;

struct once_parked_order {
	struct once_parked_filter filter;
	const char *person; /* "name@host", for once.audit */
	int dry_run;        /* only count */
	/* Of a redrive: from now on they are for this route, which has their
	 * scope. Then waiting ones may be meant, too. NULL: as before. */
	const char *to_group;
	const char *to_route;
};

struct once_parked_result {
	int64_t changed; /* or would be */
	int64_t skipped; /* just handled, or changed, by somebody else */
};

/*
 * Of the filter's messages, the dead ones. They begin again: no attempts, no
 * crashes. A message is taken up once by a call, even if it is soon dead again.
 *
 * Errors: INVALID (the filter), TRANSIENT, UNKNOWN (the last COMMIT wasn't
 * answered), CONFIG, DENIED. `ret_result` counts what is committed before it;
 * to call it again is safe.
 */
ONCE_API enum once_status once_parked_redrive(
	const char *conninfo, const struct once_parked_order *order,
	struct once_parked_result *ret_result,
	struct once_error *err) ONCE_MUST_CHECK;

/* All of the filter's messages: with ONCE_PARKED_ANY, waiting ones, too. */
ONCE_API enum once_status once_parked_discard(
	const char *conninfo, const struct once_parked_order *order,
	struct once_parked_result *ret_result,
	struct once_error *err) ONCE_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
