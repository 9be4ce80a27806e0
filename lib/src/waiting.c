/*
 * Parked messages whose time has come. Two transactions each: the first finds
 * one that nobody else has and writes down that it is in our hands; the second
 * locks its row and runs it like any other message. What dies between the two
 * leaves a message that waits as before, and a crash that is counted.
 */
#include "error.h"
#include "parked.h"
#include "session.h"

#include <string.h>

enum {
	TAKEN_DUE_MS = 100 /* all that are due are in others' hands */
};

static const char due_sql[] =
	"SELECT c.n, ceil(extract(epoch FROM d.retry_at - now()) * 1000)::int8 "
	"FROM unnest($1::int8[]) WITH ORDINALITY AS c (id, n) "
	"CROSS JOIN LATERAL (SELECT retry_at FROM once.parked "
	"WHERE consumer_id = c.id AND state = 'waiting' "
	"ORDER BY retry_at LIMIT 1) AS d ORDER BY 2 LIMIT 1";

static const char pick_sql[] =
	"SELECT topic, partition, message_offset, message_time_ms, attempts, "
	"encode(key, 'hex'), encode(value, 'hex') FROM once.parked "
	"WHERE consumer_id = $1::int8 AND state = 'waiting' "
	"AND retry_at <= now() ORDER BY retry_at LIMIT 1 "
	"FOR UPDATE SKIP LOCKED";

static const char headers_sql[] =
	"SELECT encode(h.name, 'hex'), encode(h.value, 'hex') "
	"FROM once.parked, unnest(header_names, header_values) "
	"WITH ORDINALITY AS h (name, value, n) " ONCE__THIS_PARKED
	"ORDER BY h.n";

static const char postpone_sql[] =
	"UPDATE once.parked SET retry_at = now() + $6::int8 * interval '1 ms' " ONCE__THIS_PARKED
	" AND state = 'waiting'";

/* ---- a row as a message ---- */

static struct once_bytes decode_hex(struct once_session *session,
				    struct once_bytes digits)
{
	size_t size = digits.size / 2;
	unsigned char *data;

	if (digits.data == NULL)
		return digits;
	data = arena_take_zeroed(&session->waiting, size + 1, 1);
	if (data == NULL || !bytes_parse_hex(digits, data, size)) {
		once__pg_fail(session->pg, ONCE__PG_OURS, "53200",
			      "out of memory");
		return bytes_of(NULL, 0);
	}
	return bytes_of(data, size);
}

static void take_headers(struct once_session *session,
			 const struct once_rows *rows,
			 struct once_record *record)
{
	size_t count = once_rows_count(rows);
	struct once_header *headers = arena_take_zeroed(
		&session->waiting, count + 1, sizeof(*headers));

	if (headers == NULL) {
		once__pg_fail(session->pg, ONCE__PG_OURS, "53200",
			      "out of memory");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		headers[i].name =
			decode_hex(session, once_rows_get(rows, i, 0)).data;
		headers[i].value =
			decode_hex(session, once_rows_get(rows, i, 1));
	}
	record->headers = headers;
	record->header_count = count;
}

static void take_row(struct once_session *session, const struct once_rows *rows,
		     struct once_item *item)
{
	struct once_record *record = &item->record;

	record->topic =
		arena_copy(&session->waiting, once_rows_get(rows, 0, 0));
	record->partition = (int32_t)once__rows_int64(rows, 0, 1);
	record->offset = once__rows_int64(rows, 0, 2);
	record->time_ms = once__rows_int64(rows, 0, 3);
	record->key = decode_hex(session, once_rows_get(rows, 0, 5));
	record->value = decode_hex(session, once_rows_get(rows, 0, 6));
	item->attempt = (unsigned)once__rows_int64(rows, 0, 4) + 1;
	item->parked = true;
	if (record->topic == NULL)
		once__pg_fail(session->pg, ONCE__PG_OURS, "53200",
			      "out of memory");
}

/* ---- the first transaction ---- */

/* Whose route has one, and when? -1: nobody's. */
static bool find_due(struct once_session *session, size_t *ret_route,
		     int64_t *ret_due_ms)
{
	struct once__pg_array ids = { 0 };
	const struct once_rows *rows;

	once__pg_array_init(&ids, ONCE__PG_INT8);
	for (size_t i = 0; i < session->route_count; i++)
		once__pg_array_add_int8(&ids, session->consumer_ids[i]);
	rows = once__pg_exec(session->pg, ONCE__PG_OURS, due_sql,
			     ONCE_PARAMS(once__pg_array_param(&ids)));
	once__pg_array_fini(&ids);
	if (rows == NULL)
		return false;
	*ret_due_ms = -1;
	if (once_rows_count(rows) == 0)
		return true;
	*ret_route = (size_t)once__rows_int64(rows, 0, 0) - 1;
	*ret_due_ms = once__rows_int64(rows, 0, 1);
	if (*ret_due_ms < 0)
		*ret_due_ms = 0;
	return true;
}

static bool pick(struct once_session *session, struct once_item *item,
		 int64_t *ret_due_ms)
{
	int64_t consumer = session->consumer_ids[item->route];
	const struct once_rows *rows;
	struct once__parked_key key;

	rows = once__pg_exec(
		session->pg, ONCE__PG_OURS, pick_sql,
		ONCE_PARAMS(once__pg_int8(key.numbers[0], consumer)));
	if (rows == NULL)
		return false;
	if (once_rows_count(rows) == 0) {
		*ret_due_ms = TAKEN_DUE_MS;
		return true;
	}
	take_row(session, rows, item);
	if (once__pg_failure(session->pg) != NULL)
		return false;
	rows = once__pg_exec(
		session->pg, ONCE__PG_OURS, headers_sql,
		ONCE_PARAMS(ONCE__PARKED_KEY(&key, consumer, &item->record)));
	if (rows != NULL)
		take_headers(session, rows, &item->record);
	return once__pg_failure(session->pg) == NULL;
}

static bool find(struct once_session *session, struct once_item *item,
		 int64_t *ret_due_ms)
{
	if (!find_due(session, &item->route, ret_due_ms))
		return false;
	if (*ret_due_ms != 0)
		return true;
	return pick(session, item, ret_due_ms) &&
	       (!item->parked || once__session_brace(session, item));
}

/* ---- the second one ---- */

/* It waits for something: not an attempt. */
static enum once_status postpone(struct once_session *session,
				 const struct once_item *item,
				 struct once_error *err)
{
	const struct once_route *route = session->routes[item->route];
	enum once_status status = once_session_connect(session, err);
	char delay[24];
	struct once__parked_key key;

	if (status != ONCE_OK)
		return status;
	once__pg_begin(session->pg);
	once__pg_send(
		session->pg, ONCE__PG_OURS, postpone_sql,
		ONCE_PARAMS(ONCE__PARKED_KEY(&key,
					     session->consumer_ids[item->route],
					     &item->record),
			    once__pg_int8(delay, route->first_delay_ms)));
	return once__session_finish(session, once__pg_wait(session->pg), err);
}

/* It failed with what looks like the server's fault. If the server takes this,
 * it is less likely to be; and others get their turn. */
static enum once_status step_aside(struct once_session *session,
				   const struct once_item *item,
				   struct once_error *err)
{
	struct once_error unread;
	enum once_status status = postpone(session, item, &unread);

	if (status != ONCE_OK)
		return err->status;
	atomic_fetch_add(&session->routes[item->route]->shared->commits, 1);
	return ONCE_OK;
}

static enum once_status run(struct once_session *session,
			    struct once_item *item,
			    struct once_run_stats *ret_stats,
			    struct once_error *err)
{
	unsigned suspected = session->suspects.count;
	enum once_status status =
		once_session_run(session, item, 1, ret_stats, err);

	if (status == ONCE_FENCED)
		return ONCE_OK; /* another session was faster */
	if (status == ONCE_UNKNOWN)
		status = once_session_settle(session, item, 1, err);
	if (status == ONCE_OK && item->ending == ONCE_PAUSED_ENDING)
		status = postpone(session, item, err);
	if (status == ONCE_TRANSIENT && session->suspects.count != suspected)
		return step_aside(session, item, err);
	return status;
}

enum once_status once_session_run_waiting(struct once_session *session,
					  struct once_item *ret_item,
					  struct once_run_stats *ret_stats,
					  int64_t *ret_due_ms,
					  struct once_error *err)
{
	enum once_status status = once_session_connect(session, err);

	memset(ret_item, 0, sizeof(*ret_item));
	memset(ret_stats, 0, sizeof(*ret_stats));
	*ret_due_ms = -1;
	if (status != ONCE_OK)
		return status;
	arena_reset(&session->waiting);
	once__pg_begin(session->pg);
	status = once__session_finish(session,
				      find(session, ret_item, ret_due_ms), err);
	if (status != ONCE_OK || !ret_item->parked)
		return status;
	return run(session, ret_item, ret_stats, err);
}
