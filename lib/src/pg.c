/*
 * A libpq session that never waits for one answer before it sends the next
 * statement. The idea to hold: `queue` mirrors what the server still has to
 * answer, in order, so each answer finds the message it belongs to.
 */
#include "pg.h"

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "pg_statements.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	POLL_EVERY = 32, /* sends between two looks at the socket */
	MOST_UNFLUSHED =
		4096,         /* bytes of parameters; libpq's buffer has 8192 */
	MOST_UNSENT = 4 << 20 /* bytes; then the server is waited for */
};

enum kind {
	KIND_PREPARE,
	KIND_EXECUTE,
	KIND_SYNC
};

/* One answer that the server owes us. */
struct owed {
	enum kind kind;
	bool keep; /* the rows are wanted */
	size_t tag;
	struct once__pg_statement *statement; /* NULL: not a prepared one */
};

struct once__pg {
	PGconn *conn;
	enum once_isolation isolation;
	struct once__pg_statements statements;

	struct owed *queue; /* a ring */
	size_t capacity;    /* a power of two */
	size_t head;
	size_t count;

	PGresult **kept; /* rows that live until the transaction ends */
	size_t kept_count;
	size_t kept_capacity;

	struct arena params; /* copies of text parameters */
	unsigned sends;
	size_t unsent; /* bytes of parameters since all was flushed */
	int backend;   /* the process that the raw session belonged to */
	bool failed;
	bool lost;
	struct once__pg_failure failure;
};

/* ---- failures ---- */

/* clang-format off */
static const struct {
	const char *prefix; /* of the SQLSTATE */
	enum once__pg_class class;
	bool ours; /* only of our own statements; else it is the message's */
} classes[] = {
	{ "40001", ONCE__PG_REPEAT, false }, /* serialization_failure */
	{ "40P01", ONCE__PG_REPEAT, false }, /* deadlock_detected */
	{ "55P03", ONCE__PG_REPEAT, false }, /* lock_not_available */
	{ "57014", ONCE__PG_SERVER, true },  /* cancelled, timed out */
	{ "08",    ONCE__PG_SERVER, false }, /* connection */
	{ "25006", ONCE__PG_SERVER, false }, /* read_only_sql_transaction */
	{ "57P",   ONCE__PG_SERVER, false }, /* shutdown, crash, not yet up */
	{ "53",    ONCE__PG_SERVER, false }, /* no disk, memory, connections */
	{ "58030", ONCE__PG_SERVER, false }, /* input/output of the server */
	{ "XX001", ONCE__PG_SERVER, false }, /* corruption, of a table */
	{ "XX002", ONCE__PG_SERVER, false }, /* or of an index */
	{ "26000", ONCE__PG_SERVER, false }, /* our prepared statement is gone */
	{ "58",    ONCE__PG_SERVER, true },
	{ "XX",    ONCE__PG_SERVER, true },
	{ "42501", ONCE__PG_RIGHTS, true },
	{ "3F000", ONCE__PG_SCHEMA, true },
	{ "42P01", ONCE__PG_SCHEMA, true },
	{ "42703", ONCE__PG_SCHEMA, true },
};
/* clang-format on */

static enum once__pg_class classify(const char *sqlstate, size_t tag)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strncmp(sqlstate, classes[i].prefix,
			    strlen(classes[i].prefix)) == 0 &&
		    (tag == ONCE__PG_OURS || !classes[i].ours))
			return classes[i].class;
	return ONCE__PG_MESSAGE;
}

void once__pg_fail(struct once__pg *pg, size_t tag, const char *sqlstate,
		   const char *text)
{
	struct once__pg_failure *failure = &pg->failure;

	if (pg->failed)
		return;
	pg->failed = true;
	failure->tag = tag;
	failure->class = classify(sqlstate, tag);
	snprintf(failure->sqlstate, sizeof(failure->sqlstate), "%s", sqlstate);
	snprintf(failure->text, sizeof(failure->text), "%s", text);
	failure->text[strcspn(failure->text, "\n")] = '\0';
}

static void lose(struct once__pg *pg)
{
	const char *text = PQerrorMessage(pg->conn);

	pg->lost = true;
	once__pg_fail(pg, ONCE__PG_OURS, "08006",
		      *text != '\0' ? text : "the session was lost");
	pg->failure.class = ONCE__PG_SERVER;
}

static bool is_field(const PGresult *res, int field, const char *text)
{
	const char *value = PQresultErrorField(res, field);

	return value != NULL && strcmp(value, text) == 0;
}

/* No message is at fault if the session is over; nor if a table was altered
 * behind a prepared statement, which would fail for ever (plancache.c). */
static void excuse(struct once__pg *pg, const struct owed *owed,
		   const PGresult *res)
{
	if (is_field(res, PG_DIAG_SEVERITY_NONLOCALIZED, "FATAL") ||
	    is_field(res, PG_DIAG_SEVERITY_NONLOCALIZED, "PANIC")) {
		pg->failure.class = ONCE__PG_SERVER;
	} else if (owed->statement != NULL &&
		   is_field(res, PG_DIAG_SOURCE_FUNCTION,
			    "RevalidateCachedQuery")) {
		owed->statement->state = ONCE__PG_UNFIT;
		pg->failure.class = ONCE__PG_REPEAT;
	}
}

static void fail_with(struct once__pg *pg, const struct owed *owed,
		      const PGresult *res)
{
	bool is_first = !pg->failed;
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	const char *primary = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

	once__pg_fail(pg, owed->tag, sqlstate == NULL ? "08006" : sqlstate,
		      primary == NULL ? PQresultErrorMessage(res) : primary);
	if (is_first)
		excuse(pg, owed, res);
}

const struct once__pg_failure *once__pg_failure(const struct once__pg *pg)
{
	return pg->failed ? &pg->failure : NULL;
}

enum once_status once__pg_error(const struct once__pg *pg,
				struct once_error *err)
{
	static const enum once_status statuses[] = {
		[ONCE__PG_MESSAGE] = ONCE_BUG,
		[ONCE__PG_REPEAT] = ONCE_TRANSIENT,
		[ONCE__PG_SERVER] = ONCE_TRANSIENT,
		[ONCE__PG_SCHEMA] = ONCE_CONFIG,
		[ONCE__PG_RIGHTS] = ONCE_DENIED,
	};
	const struct once__pg_failure *failure = &pg->failure;

	if (!pg->failed)
		return error_set(err, ONCE_BUG, "nothing failed");
	error_set(err, statuses[failure->class], "%s", failure->text);
	if (err != NULL)
		memcpy(err->sqlstate, failure->sqlstate, sizeof(err->sqlstate));
	return statuses[failure->class];
}

bool once__pg_is_lost(const struct once__pg *pg)
{
	return pg->lost;
}

/* ---- the queue of answers owed ---- */

static bool grow_queue(struct once__pg *pg)
{
	size_t capacity = pg->capacity == 0 ? 1024 : pg->capacity * 2;
	struct owed *queue = malloc(capacity * sizeof(*queue));

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

static void owe(struct once__pg *pg, struct owed owed)
{
	if (pg->count == pg->capacity && !grow_queue(pg)) {
		lose(pg); /* an answer we couldn't tell from the next */
		return;
	}
	pg->queue[(pg->head + pg->count) & (pg->capacity - 1)] = owed;
	pg->count++;
}

static void pop(struct once__pg *pg)
{
	pg->head = (pg->head + 1) & (pg->capacity - 1);
	pg->count--;
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

static bool succeeded(const PGresult *res)
{
	ExecStatusType status = PQresultStatus(res);

	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
	       status == PGRES_EMPTY_QUERY;
}

/* An answer to the statement at the head of the queue. */
static void take_answer(struct once__pg *pg, PGresult *res)
{
	struct owed *owed = &pg->queue[pg->head];
	ExecStatusType status = PQresultStatus(res);

	if (status == PGRES_PIPELINE_SYNC) {
		pop(pg);
	} else if (succeeded(res)) {
		if (owed->kind == KIND_PREPARE)
			owed->statement->state = ONCE__PG_READY;
		if (owed->keep && keep(pg, res))
			return;
		if (owed->keep)
			once__pg_fail(pg, owed->tag, "53200", "out of memory");
	} else {
		if (owed->kind == KIND_PREPARE)
			owed->statement->state = ONCE__PG_NEW;
		if (status != PGRES_PIPELINE_ABORTED)
			fail_with(pg, owed, res);
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
	else if (pg->queue[pg->head].kind != KIND_SYNC)
		pop(pg); /* libpq's mark between two statements */
	if (PQstatus(pg->conn) == CONNECTION_BAD)
		lose(pg);
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
		lose(pg);
		return;
	}
	if ((fd.revents & (POLLIN | POLLERR | POLLHUP)) != 0 &&
	    !PQconsumeInput(pg->conn))
		lose(pg);
}

/* Move bytes both ways. Waiting is for who has asked for an answer. */
static void exchange(struct once__pg *pg, int timeout_ms)
{
	int unsent = PQflush(pg->conn);

	if (unsent < 0)
		lose(pg);
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

bool once__pg_wait(struct once__pg *pg)
{
	if (pg->count > 0 && !pg->lost && !PQsendFlushRequest(pg->conn))
		lose(pg);
	wait_for_all(pg);
	return !pg->failed;
}

/* ---- sending ---- */

static const char *const *copy_values(struct once__pg *pg, size_t tag,
				      const struct once_param *params,
				      size_t count)
{
	const char **values =
		arena_take(&pg->params, (count + 1) * sizeof(*values));

	for (size_t i = 0; values != NULL && i < count; i++) {
		struct once_bytes value = params[i].value;

		values[i] = value.data;
		if (value.data == NULL || params[i].binary)
			continue;
		if (memchr(value.data, '\0', value.size) != NULL) {
			once__pg_fail(pg, tag, "22021",
				      "a text parameter holds a NUL byte; "
				      "give it as binary, or clean it");
			return NULL;
		}
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

static bool prepare(struct once__pg *pg, size_t tag,
		    struct once__pg_statement *statement)
{
	struct owed owed = { KIND_PREPARE, false, tag, statement };

	if (statement->state != ONCE__PG_NEW)
		return true;
	if (!PQsendPrepare(pg->conn, statement->name, statement->sql, 0, NULL))
		return false;
	statement->state = ONCE__PG_SENT;
	owe(pg, owed);
	return true;
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
	return prepare(pg, tag, statement) &&
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
	struct owed owed = { KIND_EXECUTE, kept, tag, NULL };

	if (pg->failed || pg->lost)
		return;
	owed.statement = once__pg_statements_get(&pg->statements, sql);
	if (!execute(pg, tag, sql, owed.statement, params, count)) {
		lose(pg);
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

static void send_control(struct once__pg *pg, const char *sql, bool kept)
{
	struct owed owed = { KIND_EXECUTE, kept, ONCE__PG_OURS, NULL };

	if (pg->lost)
		return;
	if (!PQsendQueryParams(pg->conn, sql, 0, NULL, NULL, NULL, NULL, 0))
		lose(pg);
	else
		owe(pg, owed);
}

static void sync_and_wait(struct once__pg *pg)
{
	struct owed owed = { KIND_SYNC, false, ONCE__PG_OURS, NULL };

	if (pg->lost)
		return;
	if (!PQpipelineSync(pg->conn)) {
		lose(pg);
		return;
	}
	owe(pg, owed);
	wait_for_all(pg);
}

/* ---- transactions ---- */

static void clear_transaction(struct once__pg *pg)
{
	for (size_t i = 0; i < pg->kept_count; i++)
		PQclear(pg->kept[i]);
	pg->kept_count = 0;
	if (!pg->lost)
		pg->failed = false;
}

void once__pg_begin(struct once__pg *pg)
{
	static const char *const begins[] = {
		[ONCE_READ_COMMITTED] = "BEGIN ISOLATION LEVEL READ COMMITTED",
		[ONCE_REPEATABLE_READ] =
			"BEGIN ISOLATION LEVEL REPEATABLE READ",
		[ONCE_SERIALIZABLE] = "BEGIN ISOLATION LEVEL SERIALIZABLE",
	};

	clear_transaction(pg);
	send_control(pg, begins[pg->isolation], false);
}

enum once__pg_commit once__pg_commit(struct once__pg *pg)
{
	bool committed;

	if (pg->failed || pg->lost)
		return ONCE__PG_NOT_COMMITTED;
	clear_transaction(pg);
	send_control(pg, "COMMIT", true);
	sync_and_wait(pg);
	if (pg->lost)
		return ONCE__PG_UNKNOWN;
	if (pg->failed || pg->kept_count != 1)
		return ONCE__PG_NOT_COMMITTED;
	committed = strcmp(PQcmdStatus(pg->kept[0]), "COMMIT") == 0;
	if (!committed)
		once__pg_fail(pg, ONCE__PG_OURS, "25P02",
			      "COMMIT was answered with a rollback");
	return committed ? ONCE__PG_COMMITTED : ONCE__PG_NOT_COMMITTED;
}

void once__pg_rollback(struct once__pg *pg)
{
	bool useless = pg->failed && pg->failure.class == ONCE__PG_SERVER;

	sync_and_wait(pg);
	clear_transaction(pg);
	send_control(pg, "ROLLBACK", false);
	sync_and_wait(pg);
	if (!pg->lost &&
	    (useless || PQtransactionStatus(pg->conn) != PQTRANS_IDLE))
		lose(pg); /* the next one may find a better server */
	clear_transaction(pg);
}

/* ---- the raw session ---- */

static const char defer_sql[] =
	"SET CONSTRAINTS once.commit_guard_released_fkey DEFERRED";
static const char guard_sql[] =
	"INSERT INTO once.commit_guard (backend, released) "
	"VALUES (pg_backend_pid(), -1)";
static const char release_sql[] =
	"DELETE FROM once.commit_guard WHERE backend = pg_backend_pid()";

/* Beforehand, so that it tells whether the session's statements are still there
 * when the handler is done. */
static void prepare_release(struct once__pg *pg)
{
	struct once__pg_statement *statement =
		once__pg_statements_get(&pg->statements, release_sql);

	if (!pg->failed && !pg->lost && statement != NULL &&
	    !prepare(pg, ONCE__PG_OURS, statement))
		lose(pg);
}

struct pg_conn *once__pg_enter_raw(struct once__pg *pg)
{
	once__pg_send(pg, ONCE__PG_OURS, defer_sql, NULL, 0);
	once__pg_send(pg, ONCE__PG_OURS, guard_sql, NULL, 0);
	prepare_release(pg);
	sync_and_wait(pg);
	if (pg->failed || pg->lost)
		return NULL;
	if (!PQexitPipelineMode(pg->conn) ||
	    PQsetnonblocking(pg->conn, 0) != 0) {
		lose(pg);
		return NULL;
	}
	pg->backend = PQbackendPID(pg->conn);
	return pg->conn;
}

static const char ended_text[] = "the handler ended the transaction";

/* NULL: it is still the session, and the transaction, that we gave away. */
static const char *raw_fault(const struct once__pg *pg)
{
	PGTransactionStatusType status = PQtransactionStatus(pg->conn);

	if (PQbackendPID(pg->conn) != pg->backend)
		return "the handler opened another session";
	if (status == PQTRANS_IDLE)
		return ended_text;
	if (status != PQTRANS_INTRANS && status != PQTRANS_INERROR)
		return "the handler left the session busy";
	return NULL;
}

/* A guard that is gone was rolled back, whatever has begun since. */
static bool release_guard(struct once__pg *pg, size_t tag)
{
	const struct once_rows *rows =
		once__pg_exec(pg, ONCE__PG_OURS, release_sql, NULL, 0);

	if (rows != NULL && once_rows_affected(rows) == 1)
		return true;
	if (rows != NULL) {
		once__pg_fail(pg, tag, "2D000", ended_text);
	} else if (strcmp(pg->failure.sqlstate, "26000") == 0) {
		pg->failed = false;
		pg->lost = true;
		once__pg_fail(pg, tag, "2D000",
			      "the handler dropped the session's statements");
	}
	return false;
}

bool once__pg_leave_raw(struct once__pg *pg, size_t tag)
{
	const char *fault = raw_fault(pg);

	if (PQstatus(pg->conn) == CONNECTION_BAD) {
		lose(pg);
		return false;
	}
	if (PQtransactionStatus(pg->conn) == PQTRANS_INERROR)
		once__pg_fail(pg, tag, "25P02",
			      "the handler left the transaction failed");
	if (fault != NULL)
		once__pg_fail(pg, tag, "2D000", fault);
	if (fault != NULL || PQsetnonblocking(pg->conn, 1) != 0 ||
	    !PQenterPipelineMode(pg->conn)) {
		pg->lost = true; /* who knows what else it did */
		return false;
	}
	return !pg->failed && release_guard(pg, tag);
}

static bool run_script(struct once__pg *pg, const char *sql)
{
	static const struct owed owed = { .tag = ONCE__PG_OURS };
	PGresult *res = PQexec(pg->conn, sql);

	if (!succeeded(res))
		fail_with(pg, &owed, res);
	PQclear(res);
	return !pg->failed;
}

bool once__pg_script(struct once__pg *pg, const char *sql)
{
	bool done;

	clear_transaction(pg);
	if (pg->lost)
		return false;
	if (!PQexitPipelineMode(pg->conn) || PQsetnonblocking(pg->conn, 0)) {
		lose(pg);
		return false;
	}
	done = run_script(pg, sql);
	if (PQsetnonblocking(pg->conn, 1) || !PQenterPipelineMode(pg->conn))
		lose(pg);
	return done && !pg->lost;
}

/* ---- open and close ---- */

static void drop_notice(void *arg, const char *message)
{
	(void)arg;
	(void)message;
}

static PGconn *connect_to(const struct once__pg_options *options)
{
	/* What stands before dbname is a default; what stands behind it
	 * overrules the user's conninfo. */
	const char *const names[] = { "connect_timeout",
				      "keepalives_idle",
				      "keepalives_interval",
				      "tcp_user_timeout",
				      "dbname",
				      "fallback_application_name",
				      "client_encoding",
				      NULL };
	const char *const values[] = { "10",
				       "10",
				       "5",
				       "20000",
				       options->conninfo,
				       options->application_name == NULL
					       ? "libonce"
					       : options->application_name,
				       "UTF8",
				       NULL };

	return PQconnectdbParams(names, values, 1);
}

static enum once_status settle_session(struct once__pg *pg,
				       enum once_durability durability)
{
	static const char *const settings[] = {
		[ONCE_DURABILITY_DATABASE] =
			"SET client_min_messages = warning",
		[ONCE_DURABILITY_SOURCE] = "SET client_min_messages = warning; "
					   "SET synchronous_commit = off",
	};
	PGresult *res = PQexec(pg->conn, settings[durability]);
	bool done = succeeded(res);

	PQclear(res);
	if (!done || PQsetnonblocking(pg->conn, 1) != 0 ||
	    !PQenterPipelineMode(pg->conn))
		return ONCE_TRANSIENT;
	return ONCE_OK;
}

/* Keys are UTF-8, and one that the database can't hold would stop its lane. */
static enum once_status check_encoding(struct once__pg *pg,
				       struct once_error *err)
{
	const char *encoding = PQparameterStatus(pg->conn, "server_encoding");

	if (encoding == NULL || strcmp(encoding, "UTF8") == 0 ||
	    strcmp(encoding, "SQL_ASCII") == 0)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "the database's encoding is %s; create one with "
			 "ENCODING 'UTF8'",
			 encoding);
}

enum once_status once__pg_open(const struct once__pg_options *options,
			       struct once__pg **ret_pg, struct once_error *err)
{
	struct once__pg *pg = calloc(1, sizeof(*pg));
	enum once_status status = ONCE_TRANSIENT;

	if (pg == NULL)
		return error_no_memory(err);
	pg->isolation = options->isolation;
	pg->conn = connect_to(options);
	if (pg->conn == NULL) {
		error_no_memory(err);
		goto fail;
	}
	if (PQstatus(pg->conn) != CONNECTION_OK)
		goto refused;
	PQsetNoticeProcessor(pg->conn, drop_notice, NULL);
	if (settle_session(pg, options->durability) != ONCE_OK)
		goto refused;
	status = check_encoding(pg, err);
	if (status != ONCE_OK)
		goto fail;
	*ret_pg = pg;
	return ONCE_OK;

refused:
	error_set(err, ONCE_TRANSIENT, "could not connect to the database: %s",
		  PQerrorMessage(pg->conn));
	if (err != NULL)
		err->text[strcspn(err->text, "\n")] = '\0';
fail:
	once__pg_close(pg);
	return status;
}

void once__pg_close(struct once__pg *pg)
{
	if (pg == NULL)
		return;
	pg->lost = true;
	clear_transaction(pg);
	PQfinish(pg->conn);
	once__pg_statements_fini(&pg->statements);
	arena_fini(&pg->params);
	free(pg->kept);
	free(pg->queue);
	free(pg);
}

/* ---- rows: struct once_rows is libpq's PGresult under another name ---- */

static const PGresult *result_of(const struct once_rows *rows)
{
	return (const PGresult *)rows;
}

size_t once_rows_count(const struct once_rows *rows)
{
	return (size_t)PQntuples(result_of(rows));
}

size_t once_rows_affected(const struct once_rows *rows)
{
	union {
		const PGresult *borrowed;
		PGresult *asked; /* PQcmdTuples reads, but isn't const */
	} res = { result_of(rows) };

	return (size_t)strtoull(PQcmdTuples(res.asked), NULL, 10);
}

struct once_bytes once_rows_get(const struct once_rows *rows, size_t row,
				size_t column)
{
	const PGresult *res = result_of(rows);
	int at = (int)row;
	int field = (int)column;

	if (row >= once_rows_count(rows) || field >= PQnfields(res) ||
	    PQgetisnull(res, at, field))
		return bytes_of(NULL, 0);
	return bytes_of(PQgetvalue(res, at, field),
			(size_t)PQgetlength(res, at, field));
}

int64_t once__rows_int64(const struct once_rows *rows, size_t row,
			 size_t column)
{
	struct once_bytes value = once_rows_get(rows, row, column);

	return value.data == NULL ? 0 : strtoll(value.data, NULL, 10);
}

int once_libpq_version(void)
{
	return PQlibVersion();
}
