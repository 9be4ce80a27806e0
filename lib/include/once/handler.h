/*
 * once/handler.h - all that a handler needs. A handler is a shared object that
 * defines `once_handler`.
 *
 * Stability: ONCE_HANDLER_ABI is raised when a field or a rule changes meaning.
 * A new field at the end of struct once_handler doesn't count: `size` tells
 * onced which fields are there.
 *
 * Threads: all functions here are called on the lane's thread, during the call
 * that brought their first argument.
 */
#ifndef ONCE_HANDLER_H
#define ONCE_HANDLER_H

#include <once/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ONCE_HANDLER_ABI 1u
#define ONCE_HANDLER_ABI_FIELDS \
	ONCE_HANDLER_ABI, (uint32_t)sizeof(struct once_handler)

struct pg_conn;       /* libpq's PGconn */
struct once_message;  /* one message */
struct once_call;     /* one attempt at handling it */
struct once_rows;     /* what once_exec() brought back */
struct once_settings; /* the route's `settings:` */

/* What happens after handle() returns. */
enum once_verdict {
	ONCE_DONE = 0,   /* commit the writes with the claim, for good */
	ONCE_RETRY = 1,  /* roll back, again after a pause; an attempt */
	ONCE_REJECT = 2, /* roll back, park it as dead with the reason */
	ONCE_PAUSE = 3   /* roll back, hold the partition; no attempt */
};

/* open(): make an instance. One for each lane, on that lane's thread, never
 * shown to another thread: an instance needs no locks. Nonzero = refused, the
 * reason said with once_refuse(); onced exits before it joins the group. */
typedef int once_open_f(struct once_settings *settings, void **ret_self);

/* handle(): one new message, inside an open transaction. `msg` and `call` end
 * with the call. A call can be repeated after a rollback: what must happen
 * once goes through once_send() and once_exec(). */
typedef enum once_verdict once_handle_f(void *self,
					const struct once_message *msg,
					struct once_call *call);

/* duplicate(): a message that was handled before, with the result stored then
 * (data NULL if none). Inside the transaction, like handle(). */
typedef enum once_verdict once_duplicate_f(void *self,
					   const struct once_message *msg,
					   struct once_bytes result,
					   struct once_call *call);

typedef void once_close_f(void *self);

struct once_handler {
	uint32_t abi;  /* ONCE_HANDLER_ABI */
	uint32_t size; /* sizeof(struct once_handler) */
	const char *name;
	once_open_f *open; /* optional: without it, self is NULL */
	once_handle_f *handle;
	once_duplicate_f *duplicate; /* optional */
	once_close_f *close;         /* optional */
};

/* What a handler defines and onced looks up; declared here so that the
 * definition is type-checked. */
ONCE_API extern const struct once_handler once_handler;

/* ---- the message (borrowed; ends with the call) ---- */

ONCE_API struct once_bytes once_msg_id(const struct once_message *msg);
/* data NULL: the route has no biz_id */
ONCE_API struct once_bytes once_biz_id(const struct once_message *msg);
ONCE_API const char *once_topic(const struct once_message *msg);
ONCE_API int32_t once_partition(const struct once_message *msg);
ONCE_API int64_t once_offset(const struct once_message *msg);
/* milliseconds since 1970 UTC; -1 if unknown */
ONCE_API int64_t once_time_ms(const struct once_message *msg);
ONCE_API struct once_bytes once_key(const struct once_message *msg);
ONCE_API struct once_bytes once_value(const struct once_message *msg);
/* The last header of that name; data NULL if there is none. */
ONCE_API struct once_bytes once_header(const struct once_message *msg,
				       const char *name);
/* The scalar at an RFC 6901 pointer into the value: a string decoded, a number
 * with its literal digits, `true` or `false`. data NULL: missing, null, an
 * object or array, or the value isn't JSON up to there. */
ONCE_API struct once_bytes once_json(const struct once_message *msg,
				     const char *pointer);

/* ---- writing, inside the message's transaction ---- */

struct once_param {
	struct once_bytes value;
	int binary; /* 0: text, the server infers the type; 1: its binary format
		     */
};

/* clang-format off */
#define ONCE_TEXT(bytes) { (bytes), 0 }
#define ONCE_BINARY(bytes) { (bytes), 1 }
#define ONCE_PARAMS(...)                            \
	(const struct once_param[]){ __VA_ARGS__ }, \
	sizeof((struct once_param[]){ __VA_ARGS__ }) / sizeof(struct once_param)
#define ONCE_NO_PARAMS NULL, 0
/* clang-format on */

/* Queue one statement. It runs before COMMIT, in order; if it fails, the
 * message fails and follows its route's retry policy. The fast way. `sql` and
 * `params` are copied. */
ONCE_API void once_send(struct once_call *call, const char *sql,
			const struct once_param *params, size_t count);

/* Insert a row into a table. The rows of all messages of the batch go out as
 * one INSERT for each target, for less than half of the server's work; else it
 * is what once_send() does with "INSERT INTO refund (no, amount) VALUES ($1,
 * $2)":
 *
 *	once_insert(call, "refund (no, amount)",
 *		    ONCE_PARAMS(ONCE_TEXT(no), ONCE_TEXT(amount)));
 *
 * When: at the end of the batch, behind all that was sent; or earlier, before
 * any message's once_exec() or once_pgconn(), which so find the rows. Targets
 * have the order of their first rows, and a target's rows that of the messages.
 * A statement sent later may run before: it doesn't find the row.
 *
 * If it fails, the batch is halved until the message is found whose row it is.
 * `target` is SQL, and no place for data. 1 to 64 parameters. Copied. */
ONCE_API void once_insert(struct once_call *call, const char *target,
			  const struct once_param *params, size_t count);

/* The same for a statement of your own, like an UPDATE or an INSERT with ON
 * CONFLICT. What the messages give as parameter i becomes one array, $i, of
 * type text[] (bytea[] where it is binary):
 *
 *	INSERT INTO seen (no, times) SELECT no, count(*)
 *	FROM unnest($1::text[]) AS r (no) GROUP BY no
 *	ON CONFLICT (no) DO UPDATE SET times = seen.times + excluded.times
 *
 * It runs once for all messages, or, as above, for those up to a once_exec() or
 * once_pgconn() and those behind it. It has its place in the same order. */
ONCE_API void once_collect(struct once_call *call, const char *sql,
			   const struct once_param *params, size_t count);

/* Run everything queued or collected, and one statement, and wait. NULL: it
 * failed, once_sqlstate() says how, and the transaction can only be rolled
 * back: return RETRY, REJECT or PAUSE. (DONE after that is a fault of the
 * handler: the message is parked dead.) The rows end with the call. */
ONCE_API const struct once_rows *once_exec(struct once_call *call,
					   const char *sql,
					   const struct once_param *params,
					   size_t count);
ONCE_API size_t once_rows_count(const struct once_rows *rows);
/* Rows that an INSERT, UPDATE, DELETE or SELECT touched. */
ONCE_API size_t once_rows_affected(const struct once_rows *rows);
ONCE_API struct once_bytes once_rows_get(const struct once_rows *rows,
					 size_t row, size_t column);
/* Of the first statement that failed in this call; "" if none did. */
ONCE_API const char *once_sqlstate(const struct once_call *call);

/* libpq's own session, in the transaction and out of pipeline mode: COPY, large
 * objects, your own SQL library. Slower. Don't end the transaction: COMMIT
 * would fail, and the message would be parked dead. NULL: a statement queued
 * before has failed; return RETRY, REJECT or PAUSE. */
ONCE_API struct pg_conn *once_pgconn(struct once_call *call);

#define ONCE_RESULT_MAX ((size_t)1 << 20)

/* Kept with the claim and given to duplicate() later. Copied. One of more than
 * ONCE_RESULT_MAX bytes fails the message. */
ONCE_API void once_set_result(struct once_call *call, struct once_bytes result);

/* ---- the call ---- */

/* 1 at first */
ONCE_API unsigned once_attempt(const struct once_call *call);
/* Until the route's `timeout`; negative when it is past. */
ONCE_API int64_t once_time_left_ms(const struct once_call *call);
/* Why the verdict isn't DONE: kept with a parked message and logged. */
ONCE_API void once_because(struct once_call *call, const char *fmt, ...)
	ONCE_PRINTF(2, 3);
/* A line in the log, with the message's coordinates and keys. `level` is one of
 * <syslog.h>'s. */
ONCE_API void once_log(struct once_call *call, int level, const char *fmt, ...)
	ONCE_PRINTF(3, 4);

/* ---- the settings ---- */

/* The last of that name, or `otherwise`. Only open() has them, and what it asks
 * for is all that there is: any other name in the route's settings is refused
 * when it has returned. */
ONCE_API const char *once_setting(const struct once_settings *settings,
				  const char *name, const char *otherwise);
ONCE_API void once_refuse(struct once_settings *settings, const char *fmt, ...)
	ONCE_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#endif
