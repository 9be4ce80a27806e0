/* The handler's side of a transaction. A statement that would end the
 * transaction is refused here, before it is sent: after it, the claims of other
 * messages would stand without their effects. */
#include "call.h"

#include "outcome.h"

#include "bytes.h"
#include "clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- what a handler may send ---- */

static const char *skip_comment(const char *sql)
{
	int depth = 1;

	if (sql[1] == '-')
		return sql + strcspn(sql, "\r\n");
	for (sql += 2; *sql != '\0' && depth > 0; sql++) {
		if (sql[0] == '*' && sql[1] == '/') {
			depth--;
			sql++;
		} else if (sql[0] == '/' && sql[1] == '*') {
			depth++;
			sql++;
		}
	}
	return sql;
}

static const char *first_word(const char *sql)
{
	for (;;) {
		sql += strspn(sql, " \t\r\n\f\v;");
		if (strncmp(sql, "--", 2) != 0 && strncmp(sql, "/*", 2) != 0)
			return sql;
		sql = skip_comment(sql);
	}
}

static bool is_word(const char *sql, const char *word)
{
	size_t size = strlen(word);
	char after;

	if ((*sql | 0x20) != *word) /* nearly always */
		return false;
	if (strncasecmp(sql, word, size) != 0)
		return false;
	after = sql[size];
	return !((after >= 'a' && after <= 'z') ||
		 (after >= 'A' && after <= 'Z') || after == '_' ||
		 (after >= '0' && after <= '9'));
}

/* clang-format off */
static const char ends_transaction[] =
	"the handler may not begin or end a transaction; return a verdict";
static const char forgets_statements[] =
	"the handler may not drop the session's statements; they aren't its own";

static const struct {
	const char *word;
	const char *refusal;
} refused[] = {
	{ "begin",      ends_transaction },
	{ "start",      ends_transaction },
	{ "commit",     ends_transaction },
	{ "end",        ends_transaction },
	{ "rollback",   ends_transaction },
	{ "abort",      ends_transaction },
	{ "prepare",    ends_transaction },
	{ "deallocate", forgets_statements },
	{ "discard",    forgets_statements },
	{ "execute",    "EXECUTE needs the raw session; use once_pgconn()" },
	{ "copy",       "COPY needs the raw session; use once_pgconn()" },
};
/* clang-format on */

/* NULL: it may go. The extended protocol takes one statement at a time, and
 * PostgreSQL refuses COMMIT inside a function or procedure of ours, so the
 * first word tells. */
static const char *why_refused(const char *sql)
{
	const char *word = first_word(sql);

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (is_word(word, refused[i].word))
			return refused[i].refusal;
	return NULL;
}

static bool may_send(struct once_call *call, const char *sql)
{
	const char *refusal = why_refused(sql);

	if (refusal == NULL)
		return true;
	once__pg_fail(call->pg, call->tag, "2D000", refusal);
	return false;
}

static bool leave_raw(struct once_call *call)
{
	if (!call->raw)
		return true;
	call->raw = false;
	if (once__pg_leave_raw(call->pg, call->tag))
		return true;
	call->saw_error = true; /* with its own eyes */
	return false;
}

void once_send(struct once_call *call, const char *sql,
	       const struct once_param *params, size_t count)
{
	if (leave_raw(call) && may_send(call, sql))
		once__pg_send(call->pg, call->tag, sql, params, count);
}

void once_collect(struct once_call *call, const char *sql,
		  const struct once_param *params, size_t count)
{
	call->work->shares = true;
	if (leave_raw(call) && may_send(call, sql))
		once__collect(call->collection, call->pg, call->tag, sql,
			      params, count);
}

void once_insert(struct once_call *call, const char *target,
		 const struct once_param *params, size_t count)
{
	call->work->shares = true;
	if (leave_raw(call))
		once__collect_insert(call->collection, call->pg, call->tag,
				     target, params, count);
}

/* Who waits for an answer may be looking for what was collected. */
const struct once_rows *once_exec(struct once_call *call, const char *sql,
				  const struct once_param *params, size_t count)
{
	const struct once_rows *rows = NULL;

	if (leave_raw(call) && may_send(call, sql)) {
		once__collect_send(call->collection, call->pg);
		rows = once__pg_exec(call->pg, call->tag, sql, params, count);
	}
	if (rows == NULL)
		call->saw_error = true;
	return rows;
}

struct pg_conn *once_pgconn(struct once_call *call)
{
	struct pg_conn *conn = NULL;

	if (leave_raw(call)) {
		once__collect_send(call->collection, call->pg);
		conn = once__pg_enter_raw(call->pg);
	}
	call->raw = conn != NULL;
	if (conn == NULL)
		call->saw_error = true;
	return conn;
}

const char *once_sqlstate(const struct once_call *call)
{
	const struct once__pg_failure *failure = once__pg_failure(call->pg);

	if (failure == NULL || failure->tag != call->tag)
		return "";
	return failure->sqlstate;
}

void once_set_result(struct once_call *call, struct once_bytes result)
{
	struct once__work *work = call->work;

	work->result.size = result.size;
	work->result.data = NULL;
	if (result.data == NULL)
		return;
	if (result.size > ONCE_RESULT_MAX) {
		once__pg_fail(call->pg, call->tag, "54000",
			      "the result is larger than 1 MiB; keep it in a "
			      "table of your own, and its key as the result");
		return;
	}
	work->result.data = arena_copy(work->msg.arena, result);
	if (work->result.data == NULL)
		once__pg_fail(call->pg, call->tag, "53200", "out of memory");
}

/* ---- the call ---- */

unsigned once_attempt(const struct once_call *call)
{
	return call->work->item->attempt;
}

int64_t once_time_left_ms(const struct once_call *call)
{
	if (call->deadline_ms == 0)
		return INT64_MAX;
	return call->deadline_ms - clock_ms();
}

void once_because(struct once_call *call, const char *fmt, ...)
{
	char *reason = call->work->item->reason;
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, ONCE_REASON_SIZE, fmt, args);
	va_end(args);
}

void once_log(struct once_call *call, int level, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (call->log == NULL)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	call->log(call->log_arg, level, &call->work->msg, call->work->route,
		  text);
}

/* ---- from verdict to decision ---- */

static enum once__call_result decide(struct once__work *work,
				     enum once__outcome outcome)
{
	once__outcome_decide(work, outcome);
	return ONCE__CALL_VERDICT;
}

static enum once__call_result decide_again(struct once__work *work,
					   enum once__outcome outcome)
{
	unsigned most = work->route->max_attempts;

	if (most != 0 && work->item->attempt >= most)
		return decide(work, ONCE__OUTCOME_GAVE_UP);
	return decide(work, outcome);
}

static void give_reason(struct once_item *item,
			const struct once__pg_failure *failure)
{
	memcpy(item->sqlstate, failure->sqlstate, sizeof(item->sqlstate));
	if (item->reason[0] == '\0')
		snprintf(item->reason, sizeof(item->reason), "%s",
			 failure->text);
}

/* What a person has to do, behind what the server says. */
static void give_remedy(struct once_item *item,
			const struct once__pg_failure *failure)
{
	static const char *const remedies[][2] = {
		{ "42501", "grant it to the role that onced connects as" },
		{ "42P01", "create the table, or correct the search_path" },
		{ "42703", "add the column, or deploy the handler that fits" },
		{ "42883", "create the function, or correct the search_path" },
		{ "3F000", "create the schema, or correct the search_path" },
	};

	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (strcmp(failure->sqlstate, remedies[i][0]) == 0)
			snprintf(item->reason, sizeof(item->reason),
				 "%.180s; %s", failure->text, remedies[i][1]);
}

/* A statement of it failed, and its handler had nothing to say of that. */
static enum once__call_result decide_failed(
	struct once__work *work, const struct once__pg_failure *failure)
{
	give_reason(work->item, failure);
	if (strcmp(failure->sqlstate, "2D000") == 0)
		return decide(work, ONCE__OUTCOME_ENDED_IT);
	if (failure->class == ONCE__PG_LOCKED)
		return decide(work, ONCE__OUTCOME_BLOCKED);
	if (failure->class == ONCE__PG_ENVIRONMENT) {
		give_remedy(work->item, failure);
		return decide(work, ONCE__OUTCOME_UNEQUIPPED);
	}
	if (once__route_never(work->route, failure->sqlstate))
		return decide(work, ONCE__OUTCOME_HOPELESS);
	return decide_again(work, ONCE__OUTCOME_AGAIN_FAILED);
}

static enum once__call_result judge_verdict(struct once__work *work,
					    enum once_verdict verdict)
{
	switch (verdict) {
	case ONCE_DONE:
		return ONCE__CALL_DONE;
	case ONCE_RETRY:
		return decide_again(work, ONCE__OUTCOME_AGAIN_ASKED);
	case ONCE_REJECT:
		return decide(work, ONCE__OUTCOME_REFUSED);
	case ONCE_PAUSE:
		return decide(work, ONCE__OUTCOME_DEPENDENT);
	}
	snprintf(work->item->reason, sizeof(work->item->reason),
		 "the handler returned %d, which is no verdict", (int)verdict);
	return decide(work, ONCE__OUTCOME_NO_VERDICT);
}

/* Its own statement failed, and the handler has had its say. RETRY is what one
 * says that doesn't know better: of what is no message's fault we do. */
static enum once__call_result judge_failure(
	struct once_call *call, enum once_verdict verdict,
	const struct once__pg_failure *failure)
{
	struct once__work *work = call->work;
	bool hidden = verdict == ONCE_DONE && call->saw_error;

	if (strcmp(failure->sqlstate, "2D000") == 0)
		return decide_failed(work, failure);
	if (failure->class != ONCE__PG_MESSAGE && !hidden &&
	    (verdict == ONCE_DONE || verdict == ONCE_RETRY))
		return ONCE__CALL_FAILED;
	if (verdict == ONCE_DONE && !hidden)
		return decide_failed(work, failure);
	give_reason(work->item, failure);
	if (hidden)
		return decide(work, ONCE__OUTCOME_HID_ERROR);
	return judge_verdict(work, verdict);
}

static bool is_late(const struct once_call *call, int64_t now_ns)
{
	return call->deadline_ms != 0 && now_ns / 1000000 > call->deadline_ms;
}

/* What it did so late may have been undone by the server already: a session
 * that was silent for too long is cut off. */
static enum once__call_result judge_lateness(struct once_call *call,
					     enum once_verdict verdict)
{
	struct once_item *item = call->work->item;

	if (verdict != ONCE_DONE)
		return judge_verdict(call->work, verdict);
	snprintf(item->reason, sizeof(item->reason),
		 "the call took %lld ms longer than the route's timeout",
		 (long long)-once_time_left_ms(call));
	return decide_again(call->work, ONCE__OUTCOME_AGAIN_LATE);
}

void once__call_fail_late(struct once__work *work,
			  const struct once__pg_failure *failure)
{
	(void)decide_failed(work, failure);
}

static enum once_verdict invoke(struct once_call *call, void *self)
{
	struct once__work *work = call->work;
	const struct once_handler *handler = work->route->handler;
	once_duplicate_f *duplicate = once__handler_duplicate(handler);

	if (!work->lost && work->first == NULL && !work->known)
		return handler->handle(self, &work->msg, call);
	if (duplicate != NULL)
		return duplicate(self, &work->msg, work->stored_result, call);
	return ONCE_DONE;
}

/* Not that of an earlier message of the batch, nor its own statement's. */
static bool is_nobodys(const struct once__pg_failure *failure)
{
	return failure == NULL || failure->tag == ONCE__PG_OURS;
}

/* A handler's verdict says more of these than their SQLSTATE does. */
static bool is_judged(enum once__pg_class class)
{
	return class == ONCE__PG_MESSAGE || class == ONCE__PG_ENVIRONMENT ||
	       class == ONCE__PG_LOCKED;
}

enum once__call_result once__call_run(struct once_call *call, void *self)
{
	const struct once__pg_failure *failure;
	enum once_verdict verdict;
	int64_t ended_ns;

	call->work->item->reason[0] = '\0';
	call->work->item->sqlstate[0] = '\0';
	verdict = invoke(call, self);
	(void)leave_raw(call);
	ended_ns = clock_ns();
	call->work->item->handler_ns += ended_ns - call->began_ns;
	failure = once__pg_failure(call->pg);
	if (is_late(call, ended_ns) && is_nobodys(failure))
		return judge_lateness(call, verdict);
	if (failure == NULL)
		return judge_verdict(call->work, verdict);
	if (failure->tag != call->tag || !is_judged(failure->class))
		return ONCE__CALL_FAILED;
	return judge_failure(call, verdict, failure);
}
