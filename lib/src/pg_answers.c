/*
 * What the server owes. The idea to hold: `queue` mirrors it, in order, so each
 * answer finds the message it belongs to.
 */
#include "pg_impl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

enum {
	IMPATIENT_MS = 20
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

void once__pg_owe(struct once__pg *pg, struct once__pg_owed owed)
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

void once__pg_take_answers(struct once__pg *pg)
{
	while (pg->count > 0 && !pg->lost && take_next(pg))
		;
}

void once__pg_wait_for(struct once__pg *pg, short events, int timeout_ms)
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
		once__pg_wait_for(pg, unsent > 0 ? POLLIN | POLLOUT : POLLIN,
				  timeout_ms);
}

void once__pg_poll(struct once__pg *pg)
{
	if (pg->lost)
		return;
	exchange(pg, 0);
	once__pg_take_answers(pg);
}

void once__pg_impatient(struct once__pg *pg, once__pg_impatient_f *impatient,
			void *arg)
{
	pg->impatient = impatient;
	pg->impatient_arg = arg;
}

/* If that can't be told the server, it is waited for after all. */
static void cancel(struct once__pg *pg)
{
	PGcancel *handle = PQgetCancel(pg->conn);
	char unread[256];

	pg->impatient = NULL;
	pg->cancelled = handle != NULL &&
			PQcancel(handle, unread, sizeof(unread)) == 1;
	PQfreeCancel(handle);
}

void once__pg_wait_for_all(struct once__pg *pg)
{
	once__pg_take_answers(pg);
	while (pg->count > 0 && !pg->lost) {
		exchange(pg, pg->impatient == NULL ? -1 : IMPATIENT_MS);
		once__pg_take_answers(pg);
		if (pg->count > 0 && !pg->lost && pg->impatient != NULL &&
		    pg->impatient(pg->impatient_arg))
			cancel(pg);
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
	once__pg_wait_for_all(pg);
	return !pg->failed;
}
