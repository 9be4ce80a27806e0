/*
 * Statements go out without waiting for answers. The idea to hold: `queue`
 * mirrors what the server still has to answer, in order, so each answer finds
 * the message it belongs to.
 */
#include "clock.h"
#include "pg_impl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
	POLL_EVERY = 32, /* sends between two looks at the socket */
	MOST_UNFLUSHED =
		4096,         /* bytes of parameters; libpq's buffer has 8192 */
	MOST_UNSENT = 4 << 20 /* bytes; then the server is waited for */
};

/* ---- the queue of answers owed ---- */

static bool grow_queue(struct once__pg *pg)
{
	size_t capacity = pg->capacity == 0 ? 1024 : pg->capacity * 2;
	struct once__pg_owed *queue = malloc(capacity * sizeof(*queue));

	if (queue == NULL)
		return false;
	for (size_t i = 0; i < pg->count; i++)
		queue[i] = pg->queue[(pg->head + i) & (pg->capacity - 1)];
	free(pg->queue);
	pg->queue = queue;
	pg->capacity = capacity;
	pg->head = 0;
	return true;
}

static void owe(struct once__pg *pg, struct once__pg_owed owed)
{
	if (pg->count == pg->capacity && !grow_queue(pg)) {
		once__pg_lose(
			pg); /* an answer we couldn't tell from the next */
		return;
	}
	pg->queue[(pg->head + pg->count) & (pg->capacity - 1)] = owed;
	pg->count++;
}

static void pop(struct once__pg *pg)
{
	pg->head = (pg->head + 1) & (pg->capacity - 1);
	pg->count--;
	if (++pg->answered == pg->mark)
		pg->marked_ns = clock_ns();
}

static bool keep(struct once__pg *pg, PGresult *res)
{
	if (pg->kept_count == pg->kept_capacity) {
		size_t capacity = pg->kept_capacity * 2 + 16;
		PGresult **kept = realloc(pg->kept, capacity * sizeof(*kept));

		if (kept == NULL)
			return false;
		pg->kept = kept;
		pg->kept_capacity = capacity;
	}
	pg->kept[pg->kept_count++] = res;
	return true;
}

bool once__pg_succeeded(const PGresult *res)
{
	ExecStatusType status = PQresultStatus(res);

	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
	       status == PGRES_EMPTY_QUERY;
}

/* An answer to the statement at the head of the queue. */
static void take_answer(struct once__pg *pg, PGresult *res)
{
	struct once__pg_owed *owed = &pg->queue[pg->head];
	ExecStatusType status = PQresultStatus(res);

	if (status == PGRES_PIPELINE_SYNC) {
		pop(pg);
	} else if (once__pg_succeeded(res)) {
		if (owed->kind == ONCE__PG_KIND_PREPARE)
			owed->statement->state = ONCE__PG_READY;
		if (owed->keep && keep(pg, res))
			return;
		if (owed->keep)
			once__pg_fail(pg, owed->tag, "53200", "out of memory");
	} else {
		if (owed->kind == ONCE__PG_KIND_PREPARE)
			owed->statement->state = ONCE__PG_NEW;
		if (status != PGRES_PIPELINE_ABORTED)
			once__pg_fail_with(pg, owed, res);
	}
	PQclear(res);
}

/* false: the next answer isn't complete yet. */
static bool take_next(struct once__pg *pg)
{
	PGresult *res;

	if (PQisBusy(pg->conn))
		return false;
	res = PQgetResult(pg->conn);
	if (res != NULL)
		take_answer(pg, res);
	else if (pg->queue[pg->head].kind != ONCE__PG_KIND_SYNC)
		pop(pg); /* libpq's mark between two statements */
	if (PQstatus(pg->conn) == CONNECTION_BAD)
		once__pg_lose(pg);
	return true;
}

static void take_answers(struct once__pg *pg)
{
	while (pg->count > 0 && !pg->lost && take_next(pg))
		;
}

/* Wait for the socket, and read what has come. -1: as long as it takes. */
static void wait_for(struct once__pg *pg, short events, int timeout_ms)
{
	struct pollfd fd = { PQsocket(pg->conn), events, 0 };

	if (fd.fd < 0 || (poll(&fd, 1, timeout_ms) < 0 && errno != EINTR)) {
		once__pg_lose(pg);
		return;
	}
	if ((fd.revents & (POLLIN | POLLERR | POLLHUP)) != 0 &&
	    !PQconsumeInput(pg->conn))
		once__pg_lose(pg);
}

/* Move bytes both ways. Waiting is for who has asked for an answer. */
static void exchange(struct once__pg *pg, int timeout_ms)
{
	int unsent = PQflush(pg->conn);

	if (unsent < 0)
		once__pg_lose(pg);
	else
		wait_for(pg, unsent > 0 ? POLLIN | POLLOUT : POLLIN,
			 timeout_ms);
}

void once__pg_poll(struct once__pg *pg)
{
	if (pg->lost)
		return;
	exchange(pg, 0);
	take_answers(pg);
}

static void wait_for_all(struct once__pg *pg)
{
	take_answers(pg);
	while (pg->count > 0 && !pg->lost) {
		exchange(pg, -1);
		take_answers(pg);
	}
}

void once__pg_meanwhile(struct once__pg *pg, once__pg_meanwhile_f *meanwhile,
			void *arg)
{
	pg->meanwhile = meanwhile;
	pg->meanwhile_arg = arg;
}

static void use_the_wait(struct once__pg *pg)
{
	once__pg_meanwhile_f *meanwhile = pg->meanwhile;

	if (meanwhile == NULL || pg->count == 0 || pg->lost)
		return;
	pg->meanwhile = NULL;
	once__pg_poll(pg); /* so that all is on its way */
	meanwhile(pg->meanwhile_arg);
}

static void ask_for_answers(struct once__pg *pg)
{
	if (pg->count > 0 && !pg->lost && !PQsendFlushRequest(pg->conn))
		once__pg_lose(pg);
}

bool once__pg_wait(struct once__pg *pg)
{
	ask_for_answers(pg);
	use_the_wait(pg);
	wait_for_all(pg);
	return !pg->failed;
}

void once__pg_mark(struct once__pg *pg)
{
	pg->mark = pg->answered + pg->count;
	pg->marked_ns = pg->count == 0 ? clock_ns() : 0;
	ask_for_answers(pg);
}

int64_t once__pg_marked_ns(const struct once__pg *pg)
{
	return pg->marked_ns;
}

/* ---- sending ---- */

bool once__pg_check_text(struct once__pg *pg, size_t tag,
			 struct once_bytes value)
{
	if (value.data == NULL || memchr(value.data, '\0', value.size) == NULL)
		return true;
	once__pg_fail(pg, tag, "22021",
		      "a text parameter holds a NUL byte; give it as binary, "
		      "or clean it");
	return false;
}

static const char *const *copy_values(struct once__pg *pg, size_t tag,
				      const struct once_param *params,
				      size_t count)
{
	const char **values =
		arena_take(&pg->params, (count + 1) * sizeof(*values));

	for (size_t i = 0; values != NULL && i < count; i++) {
		struct once_bytes value = params[i].value;

		if (value.data == NULL && value.size == ONCE__PG_NOT_MADE)
			return NULL;
		values[i] = value.data;
		if (value.data == NULL || params[i].binary)
			continue;
		if (!once__pg_check_text(pg, tag, value))
			return NULL;
		values[i] = arena_copy(&pg->params, value);
		if (values[i] == NULL)
			return NULL;
	}
	return values;
}

static const int *copy_sizes(struct once__pg *pg,
			     const struct once_param *params, size_t count,
			     const int **ret_formats)
{
	int *sizes = arena_take(&pg->params, 2 * (count + 1) * sizeof(*sizes));

	if (sizes == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		sizes[i] = (int)params[i].value.size;
		sizes[count + i] = params[i].binary;
	}
	*ret_formats = sizes + count;
	return sizes;
}

bool once__pg_prepare(struct once__pg *pg, size_t tag,
		      struct once__pg_statement *statement)
{
	struct once__pg_owed owed = { ONCE__PG_KIND_PREPARE, false, tag,
				      statement };

	if (statement->state != ONCE__PG_NEW)
		return true;
	if (!PQsendPrepare(pg->conn, statement->name, statement->sql, 0, NULL))
		return false;
	statement->state = ONCE__PG_SENT;
	statement->transaction = pg->transactions;
	statement->prepared_ms = clock_ms();
	owe(pg, owed);
	return true;
}

const char *once__pg_name(struct once__pg *pg, size_t tag, const char *sql)
{
	struct once__pg_statement *statement =
		once__pg_statements_get(&pg->statements, sql);

	if (pg->failed || pg->lost || statement == NULL)
		return NULL;
	if (!once__pg_prepare(pg, tag, statement))
		once__pg_lose(pg);
	return pg->lost ? NULL : statement->name;
}

static bool execute(struct once__pg *pg, size_t tag, const char *sql,
		    struct once__pg_statement *statement,
		    const struct once_param *params, size_t count)
{
	const int *formats = NULL;
	const char *const *values = copy_values(pg, tag, params, count);
	const int *sizes = copy_sizes(pg, params, count, &formats);

	if (values == NULL || sizes == NULL) {
		once__pg_fail(pg, tag, "53200", "out of memory");
		return true;
	}
	if (statement == NULL)
		return PQsendQueryParams(pg->conn, sql, (int)count, NULL,
					 values, sizes, formats, 0);
	return once__pg_prepare(pg, tag, statement) &&
	       PQsendQueryPrepared(pg->conn, statement->name, (int)count,
				   values, sizes, formats, 0);
}

static bool is_flushed(struct once__pg *pg)
{
	if (pg->lost || PQflush(pg->conn) > 0)
		return false;
	pg->unsent = 0;
	return true;
}

/* libpq writes by itself what is more than its buffer, and so half a statement,
 * whose timeout runs while the next handler thinks: don't let it come to that.
 * It would also take in any amount, up to a limit where the session is lost. */
static void throttle(struct once__pg *pg, const struct once_param *params,
		     size_t count)
{
	for (size_t i = 0; i < count; i++)
		pg->unsent += params[i].value.size;
	if (++pg->sends % POLL_EVERY != 0 && pg->unsent < MOST_UNFLUSHED)
		return;
	once__pg_poll(pg);
	while (!is_flushed(pg) && !pg->lost && pg->unsent > MOST_UNSENT) {
		wait_for(pg, POLLIN | POLLOUT, -1);
		take_answers(pg);
	}
}

static void send_kept(struct once__pg *pg, size_t tag, bool kept,
		      const char *sql, const struct once_param *params,
		      size_t count)
{
	struct once__pg_owed owed = { ONCE__PG_KIND_EXECUTE, kept, tag, NULL };

	if (pg->failed || pg->lost)
		return;
	owed.statement = once__pg_statements_get(&pg->statements, sql);
	if (!execute(pg, tag, sql, owed.statement, params, count)) {
		once__pg_lose(pg);
		return;
	}
	arena_reset(&pg->params);
	if (pg->failed)
		return;
	owe(pg, owed);
	throttle(pg, params, count);
}

void once__pg_send(struct once__pg *pg, size_t tag, const char *sql,
		   const struct once_param *params, size_t count)
{
	send_kept(pg, tag, false, sql, params, count);
}

const struct once_rows *once__pg_exec(struct once__pg *pg, size_t tag,
				      const char *sql,
				      const struct once_param *params,
				      size_t count)
{
	size_t before = pg->kept_count;

	send_kept(pg, tag, true, sql, params, count);
	if (!once__pg_wait(pg) || pg->kept_count == before)
		return NULL;
	return (const struct once_rows *)pg->kept[pg->kept_count - 1];
}

void once__pg_send_control(struct once__pg *pg, const char *sql, bool kept)
{
	struct once__pg_owed owed = { ONCE__PG_KIND_EXECUTE, kept,
				      ONCE__PG_OURS, NULL };

	if (pg->lost)
		return;
	if (!PQsendQueryParams(pg->conn, sql, 0, NULL, NULL, NULL, NULL, 0))
		once__pg_lose(pg);
	else
		owe(pg, owed);
}

void once__pg_breathe(struct once__pg *pg)
{
	struct once__pg_owed owed = { ONCE__PG_KIND_SYNC, false, ONCE__PG_OURS,
				      NULL };

	if (pg->lost)
		return;
	if (PQpipelineSync(pg->conn))
		owe(pg, owed);
	else
		once__pg_lose(pg);
}

void once__pg_sync(struct once__pg *pg)
{
	once__pg_breathe(pg);
	wait_for_all(pg);
}
