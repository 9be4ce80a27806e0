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

/* Where a session looks: its routes' own rows, and those of their scopes that
 * are nobody's (see 0006_upkeep.sql). $1 to $4: scope, group, route, which of
 * the session's. */
#define PLACES \
	"unnest($1::int8[], $2::text[], $3::text[], $4::int8[]) " \
	"AS r (consumer_id, group_name, route, n)"

#define WAITS_THERE \
	"FROM once.parked AS p WHERE p.consumer_id = r.consumer_id " \
	"AND p.group_name = r.group_name AND p.route = r.route " \
	"AND p.state = 'waiting' "

static const char due_sql[] =
	"SELECT pg_catalog.ceil(extract(epoch FROM pg_catalog.min(d.retry_at) "
	"- pg_catalog.now()) * 1000::numeric)::int8 "
	"FROM " PLACES " CROSS JOIN LATERAL (SELECT p.retry_at " WAITS_THERE
	"ORDER BY p.retry_at LIMIT 1) AS d";

/* Place by place until one has a row that nobody holds: no other row is locked,
 * and none that is locked hides another. Each time in another order, so that no
 * route's backlog comes before all of another's. */
static const char pick_sql[] =
	"SELECT d.* FROM (SELECT * FROM " PLACES " ORDER BY "
	"pg_catalog.random()) AS r "
	"CROSS JOIN LATERAL (SELECT p.topic, p.partition, p.message_offset, "
	"p.message_time_ms, p.attempts, pg_catalog.encode(p.key, 'hex'), "
	"pg_catalog.encode(p.value, 'hex'), p.log_generation, r.n " WAITS_THERE
	"AND p.retry_at <= pg_catalog.now() ORDER BY p.retry_at LIMIT 1 "
	"FOR UPDATE OF p SKIP LOCKED) AS d LIMIT 1";

static const char headers_sql[] =
	"SELECT pg_catalog.encode(h.name, 'hex'), pg_catalog.encode(h.value, "
	"'hex') "
	"FROM once.parked, unnest(header_names, header_values) "
	"WITH ORDINALITY AS h (name, value, n) " ONCE__THIS_PARKED
	"ORDER BY h.n";

static const char postpone_sql[] =
	"UPDATE once.parked SET retry_at = pg_catalog.now() + "
	"$7::int8::float8 * interval '1 ms' " ONCE__THIS_PARKED
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
	record->log_generation = (int32_t)once__rows_int64(rows, 0, 7);
	item->attempt = (unsigned)once__rows_int64(rows, 0, 4) + 1;
	item->route = (size_t)once__rows_int64(rows, 0, 8);
	item->parked = true;
	if (record->topic == NULL)
		once__pg_fail(session->pg, ONCE__PG_OURS, "53200",
			      "out of memory");
}

/* ---- the first transaction ---- */

struct places {
	struct once__pg_array consumers;
	struct once__pg_array groups;
	struct once__pg_array routes;
	struct once__pg_array numbers;
};

static void add_place(struct places *places, const struct once_session *session,
		      size_t route, const char *group, const char *name)
{
	once__pg_array_add_int8(&places->consumers,
				session->consumer_ids[route]);
	once__pg_array_add(&places->groups, bytes_text(group));
	once__pg_array_add(&places->routes, bytes_text(name));
	once__pg_array_add_int8(&places->numbers, (int64_t)route);
}

static void places_init(struct places *places,
			const struct once_session *session)
{
	const char *group = once__session_group(session);

	memset(places, 0, sizeof(*places));
	once__pg_array_init(&places->consumers, ONCE__PG_INT8);
	once__pg_array_init(&places->groups, ONCE__PG_TEXT);
	once__pg_array_init(&places->routes, ONCE__PG_TEXT);
	once__pg_array_init(&places->numbers, ONCE__PG_INT8);
	for (size_t i = 0; i < session->route_count; i++) {
		add_place(places, session, i, "", "");
		if (group[0] != '\0')
			add_place(places, session, i, group,
				  session->routes[i]->name);
	}
}

static void places_fini(struct places *places)
{
	once__pg_array_fini(&places->consumers);
	once__pg_array_fini(&places->groups);
	once__pg_array_fini(&places->routes);
	once__pg_array_fini(&places->numbers);
}

static const struct once_rows *ask_places(struct once_session *session,
					  struct places *places,
					  const char *sql)
{
	return once__pg_exec(
		session->pg, ONCE__PG_OURS, sql,
		ONCE_PARAMS(once__pg_array_param(&places->consumers),
			    once__pg_array_param(&places->groups),
			    once__pg_array_param(&places->routes),
			    once__pg_array_param(&places->numbers)));
}

/* When is the next one due, whoever holds it? -1: there is none. */
static bool find_due(struct once_session *session, struct places *places,
		     int64_t *ret_due_ms)
{
	const struct once_rows *rows = ask_places(session, places, due_sql);

	*ret_due_ms = -1;
	if (rows == NULL)
		return false;
	if (once_rows_get(rows, 0, 0).data == NULL)
		return true;
	*ret_due_ms = once__rows_int64(rows, 0, 0);
	if (*ret_due_ms < 0)
		*ret_due_ms = 0;
	return true;
}

static bool pick(struct once_session *session, struct places *places,
		 struct once_item *item, int64_t *ret_due_ms)
{
	const struct once_rows *rows = ask_places(session, places, pick_sql);
	struct once__parked_key key;

	if (rows == NULL)
		return false;
	if (once_rows_count(rows) == 0) {
		*ret_due_ms = TAKEN_DUE_MS;
		return true;
	}
	take_row(session, rows, item);
	if (once__pg_failure(session->pg) != NULL)
		return false;
	rows = once__pg_exec(session->pg, ONCE__PG_OURS, headers_sql,
			     ONCE_PARAMS(ONCE__PARKED_KEY(
				     &key, session->consumer_ids[item->route],
				     &item->record)));
	if (rows != NULL)
		take_headers(session, rows, &item->record);
	return once__pg_failure(session->pg) == NULL;
}

static bool find(struct once_session *session, struct once_item *item,
		 int64_t *ret_due_ms)
{
	struct places places;
	bool found;

	places_init(&places, session);
	found = find_due(session, &places, ret_due_ms) &&
		(*ret_due_ms != 0 || pick(session, &places, item, ret_due_ms));
	places_fini(&places);
	return found && (!item->parked || once__session_brace(session, item));
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
	once__session_let_go(session);
	status = once__session_finish(session, once__pg_wait(session->pg), err);
	if (status == ONCE_OK)
		session->in_hand = false;
	return status;
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
