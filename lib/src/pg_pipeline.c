/*
 * Statements go out without waiting for answers, in pieces that are large
 * enough to be cheap and small enough to be taken in.
 */
#include "clock.h"
#include "pg_impl.h"

#include <poll.h>
#include <string.h>

enum {
	POLL_EVERY = 32, /* sends between two looks at the socket */
	MOST_UNFLUSHED =
		4096,         /* bytes of parameters; libpq's buffer has 8192 */
	MOST_UNSENT = 4 << 20 /* bytes; then the server is waited for */
};

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
				      statement, -1 };

	if (statement->state != ONCE__PG_NEW)
		return true;
	if (!PQsendPrepare(pg->conn, statement->name, statement->sql, 0, NULL))
		return false;
	statement->state = ONCE__PG_SENT;
	statement->transaction = pg->transactions;
	statement->prepared_ms = clock_ms();
	once__pg_owe(pg, owed);
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

static bool execute(struct once__pg *pg, const struct once__pg_owed *owed,
		    const char *sql, bool binary,
		    const struct once_param *params, size_t count)
{
	struct once__pg_statement *statement = owed->statement;
	const int *formats = NULL;
	const char *const *values = copy_values(pg, owed->tag, params, count);
	const int *sizes = copy_sizes(pg, params, count, &formats);

	if (values == NULL || sizes == NULL) {
		once__pg_fail(pg, owed->tag, "53200", "out of memory");
		return true;
	}
	pg->unsynced = true;
	if (statement == NULL)
		return PQsendQueryParams(pg->conn, sql, (int)count, NULL,
					 values, sizes, formats, binary);
	return once__pg_prepare(pg, owed->tag, statement) &&
	       PQsendQueryPrepared(pg->conn, statement->name, (int)count,
				   values, sizes, formats, binary);
}

static bool is_flushed(struct once__pg *pg)
{
	if (pg->lost || PQflush(pg->conn) > 0)
		return false;
	pg->unsent = 0;
	return true;
}

/* Whatever reaches the server ends with a Sync: should this process freeze now,
 * or lose its host, the server sees a transaction that idles, and ends it. */
static void flush(struct once__pg *pg)
{
	once__pg_breathe(pg);
	once__pg_poll(pg);
}

/* libpq writes by itself what is more than its buffer, and so half a statement,
 * whose timeout runs while the next handler thinks: don't let it come to that.
 * It would also take in any amount, up to a limit where the session is lost. */
static void throttle(struct once__pg *pg)
{
	if (++pg->sends % POLL_EVERY != 0 && pg->unsent < MOST_UNFLUSHED)
		return;
	flush(pg);
	while (!is_flushed(pg) && !pg->lost && pg->unsent > MOST_UNSENT) {
		once__pg_wait_for(pg, POLLIN | POLLOUT);
		once__pg_take_answers(pg);
	}
}

static size_t size_of(const struct once_param *params, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		if (params[i].value.data != NULL)
			size += params[i].value.size;
	return size;
}

struct sending {
	enum once__pg_kind kind;
	size_t tag;
	bool keep;
	bool binary;  /* what is kept */
	int64_t rows; /* to be changed; -1: any number */
};

static bool is_new(const struct once__pg_statement *statement)
{
	return statement != NULL && statement->state == ONCE__PG_NEW;
}

static void send_it(struct once__pg *pg, const struct sending *sending,
		    const char *sql, const struct once_param *params,
		    size_t count)
{
	struct once__pg_owed owed = { sending->kind, sending->keep,
				      sending->tag, NULL, sending->rows };
	size_t size = size_of(params, count);

	if (pg->failed || pg->lost)
		return;
	owed.statement = once__pg_statements_get(&pg->statements, sql);
	if (sending->tag != ONCE__PG_OURS && !pg->touched)
		pg->touched = owed.statement == NULL ? once__pg_touches(sql)
						     : owed.statement->touches;
	if (pg->unsynced && pg->unsent + size >= MOST_UNFLUSHED)
		flush(pg);
	if (size >= MOST_UNFLUSHED && is_new(owed.statement) &&
	    once__pg_prepare(pg, owed.tag, owed.statement))
		flush(pg);
	if (pg->failed || pg->lost)
		return; /* an answer came meanwhile */
	if (!execute(pg, &owed, sql, sending->binary, params, count)) {
		once__pg_lose(pg);
		return;
	}
	arena_reset(&pg->params);
	if (pg->failed)
		return;
	once__pg_owe(pg, owed);
	pg->unsent += size;
	throttle(pg);
}

void once__pg_send(struct once__pg *pg, size_t tag, const char *sql,
		   const struct once_param *params, size_t count)
{
	struct sending sending = { ONCE__PG_KIND_EXECUTE, tag, false, false,
				   -1 };

	send_it(pg, &sending, sql, params, count);
}

void once__pg_send_exactly(struct once__pg *pg, size_t rows, const char *sql,
			   const struct once_param *params, size_t count)
{
	struct sending sending = { ONCE__PG_KIND_EXECUTE, ONCE__PG_OURS, false,
				   false, (int64_t)rows };

	send_it(pg, &sending, sql, params, count);
}

void once__pg_send_restore(struct once__pg *pg, size_t tag, const char *sql,
			   const struct once_param *params, size_t count)
{
	struct sending sending = { ONCE__PG_KIND_RESTORE, tag, false, false,
				   -1 };

	send_it(pg, &sending, sql, params, count);
}

static const struct once_rows *exec(struct once__pg *pg,
				    const struct sending *sending,
				    const char *sql,
				    const struct once_param *params,
				    size_t count)
{
	size_t before = pg->kept_count;

	send_it(pg, sending, sql, params, count);
	if (!once__pg_wait(pg) || pg->kept_count == before)
		return NULL;
	return (const struct once_rows *)pg->kept[pg->kept_count - 1];
}

const struct once_rows *once__pg_exec(struct once__pg *pg, size_t tag,
				      const char *sql,
				      const struct once_param *params,
				      size_t count)
{
	struct sending sending = { ONCE__PG_KIND_EXECUTE, tag, true, false,
				   -1 };

	return exec(pg, &sending, sql, params, count);
}

const struct once_rows *once__pg_exec_binary(struct once__pg *pg, size_t tag,
					     const char *sql,
					     const struct once_param *params,
					     size_t count)
{
	struct sending sending = { ONCE__PG_KIND_EXECUTE, tag, true, true, -1 };

	return exec(pg, &sending, sql, params, count);
}

void once__pg_send_control(struct once__pg *pg, const char *sql, bool kept)
{
	struct once__pg_owed owed = { ONCE__PG_KIND_EXECUTE, kept,
				      ONCE__PG_OURS, NULL, -1 };

	if (pg->lost)
		return;
	pg->unsynced = true;
	if (!PQsendQueryParams(pg->conn, sql, 0, NULL, NULL, NULL, NULL, 0))
		once__pg_lose(pg);
	else
		once__pg_owe(pg, owed);
}

void once__pg_breathe(struct once__pg *pg)
{
	struct once__pg_owed owed = { ONCE__PG_KIND_SYNC, false, ONCE__PG_OURS,
				      NULL, -1 };

	if (pg->lost)
		return;
	pg->unsynced = false;
	if (PQpipelineSync(pg->conn))
		once__pg_owe(pg, owed);
	else
		once__pg_lose(pg);
}

void once__pg_sync(struct once__pg *pg)
{
	if (pg->unsynced)
		once__pg_breathe(pg);
	once__pg_wait_for_all(pg);
}
