/*
 * What the server owes. The idea to hold: `queue` mirrors it, in order, so each
 * answer finds the message it belongs to.
 */
#include "clock.h"
#include "pg_impl.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
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

static void check_changed(struct once__pg *pg, const struct once__pg_owed *owed,
			  PGresult *res)
{
	int64_t changed = strtoll(PQcmdTuples(res), NULL, 10);
	char text[ONCE_REASON_SIZE];

	if (owed->rows < 0 || owed->rows == changed)
		return;
	snprintf(text, sizeof(text),
		 "a statement of ours changed %lld rows instead of %lld; see "
		 "\"onced check\"",
		 (long long)changed, (long long)owed->rows);
	once__pg_fail(pg, owed->tag, "55000", text);
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
		else
			check_changed(pg, owed, res);
		if (owed->kind == ONCE__PG_KIND_RESTORE &&
		    !PQgetisnull(res, 0, 0))
			once__pg_note_stray(pg, owed->tag,
					    PQgetvalue(res, 0, 0));
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

/* false: nothing has come within the time (-1: any). */
static bool look(struct once__pg *pg, short events, int64_t timeout_ms)
{
	struct pollfd fd = { PQsocket(pg->conn), events, 0 };
	int ready = fd.fd < 0 ? -1 : poll(&fd, 1, (int)timeout_ms);

	if (ready < 0 && (fd.fd < 0 || errno != EINTR)) {
		once__pg_lose(pg);
		return true;
	}
	if ((fd.revents & (POLLIN | POLLERR | POLLHUP)) == 0)
		return ready > 0;
	if (!PQconsumeInput(pg->conn))
		once__pg_lose(pg);
	if (pg->moved_ms != NULL)
		atomic_store_explicit(pg->moved_ms, clock_ms(),
				      memory_order_relaxed);
	return true;
}

/* What is to be done next if it stays silent, and when. 0: give up. */
static int64_t next_look_ms(const struct once__pg *pg, bool has_asked,
			    int64_t silent_ms)
{
	int64_t left_ms = INT32_MAX;
	int64_t ask_ms = pg->options.limits.lock_ms / 2;

	if (pg->patience_ms != 0)
		left_ms = pg->patience_ms - silent_ms;
	if (ask_ms != 0 && !has_asked && ask_ms - silent_ms < left_ms)
		left_ms = ask_ms - silent_ms;
	if (left_ms < 0)
		return 0;
	return pg->impatient != NULL && left_ms > IMPATIENT_MS ? IMPATIENT_MS
							       : left_ms;
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
	pg->cancelled =
		handle != NULL && PQcancel(handle, unread, sizeof(unread)) == 1;
	PQfreeCancel(handle);
}

void once__pg_wait_for(struct once__pg *pg, short events)
{
	int64_t began_ms = clock_ms();
	int64_t silent_ms = 0;
	bool has_asked = false;

	while (!look(pg, events, next_look_ms(pg, has_asked, silent_ms))) {
		silent_ms = clock_ms() - began_ms;
		if (pg->patience_ms != 0 && silent_ms >= pg->patience_ms) {
			once__pg_give_up(pg);
			return;
		}
		if (pg->impatient != NULL && pg->impatient(pg->impatient_arg))
			cancel(pg);
		if (next_look_ms(pg, has_asked, silent_ms) > 0)
			continue;
		has_asked = true;
		once__pg_ask_blockers(pg);
	}
}

/* Move bytes both ways. Waiting is for who has asked for an answer. */
static void exchange(struct once__pg *pg, bool waits)
{
	int unsent = PQflush(pg->conn);
	short events = unsent > 0 ? POLLIN | POLLOUT : POLLIN;

	if (unsent < 0)
		once__pg_lose(pg);
	else if (waits)
		once__pg_wait_for(pg, events);
	else
		(void)look(pg, events, 0);
}

void once__pg_poll(struct once__pg *pg)
{
	if (pg->lost)
		return;
	exchange(pg, false);
	once__pg_take_answers(pg);
}

void once__pg_wait_for_all(struct once__pg *pg)
{
	once__pg_take_answers(pg);
	while (pg->count > 0 && !pg->lost) {
		exchange(pg, true);
		once__pg_take_answers(pg);
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

/* A Sync, not a flush: a server that has answered a flush takes itself for
 * busy, and no limit on idling counts. */
bool once__pg_wait(struct once__pg *pg)
{
	if (pg->unsynced)
		once__pg_breathe(pg);
	use_the_wait(pg);
	once__pg_wait_for_all(pg);
	return !pg->failed;
}
