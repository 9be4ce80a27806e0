/* A parked row holds all that Kafka held: it can be handled again when the
 * topic has long forgotten the message. Parked again, it says what is so now:
 * keys by the templates of today, and when. */
#include "parked.h"

#include "backoff.h"
#include "route.h"

static const char park_sql[] =
	"INSERT INTO once.parked (consumer_id, topic, partition, "
	"message_offset, message_time_ms, log_generation, attempts, cause, "
	"reason, sqlstate, msg_id, biz_id, fingerprint, original_fingerprint, "
	"key, value, header_names, header_values, state, retry_at, crashes, "
	"group_name, route) "
	"VALUES ($1::bigint, $2::text, $3::int4, $4::int8, $5::int8, $6::int4, "
	"$7::int4, $8::text, $9::text, nullif($10::text, ''), $11::text, "
	"$12::text, $13::bytea, $14::bytea, $15::bytea, $16::bytea, "
	"$17::bytea[], $18::bytea[], $19::text, "
	"pg_catalog.now() + $20::int8::float8 * interval '1 ms', $21::int4, "
	"$22::text, "
	"$23::text) "
	"ON CONFLICT (consumer_id, topic, partition, message_offset, "
	"message_time_ms, log_generation) DO UPDATE "
	"SET state = excluded.state, "
	"retry_at = excluded.retry_at, "
	"attempts = greatest(parked.attempts, excluded.attempts), "
	"crashes = excluded.crashes, cause = excluded.cause, "
	"reason = excluded.reason, sqlstate = excluded.sqlstate, "
	"msg_id = excluded.msg_id, biz_id = excluded.biz_id, "
	"fingerprint = excluded.fingerprint, "
	"original_fingerprint = excluded.original_fingerprint, "
	"group_name = excluded.group_name, route = excluded.route, "
	"parked_at = excluded.parked_at";

static const char remove_sql[] = "DELETE FROM once.parked " ONCE__THIS_PARKED;

static const char waits_sql[] = "SELECT 1 FROM once.parked " ONCE__THIS_PARKED
				"AND state = 'waiting' AND attempts = $7::int4";

static const char lock_sql[] =
	"SELECT 1 FROM once.parked " ONCE__THIS_PARKED
	"AND state = 'waiting' AND attempts = $7::int4 FOR UPDATE SKIP LOCKED";

static const char holds_sql[] =
	"SELECT 1 FROM once.parked " ONCE__THIS_PARKED
	"AND state = $7::text AND attempts = $8::int4 AND cause = $9::text";

#define KEY_OF(key, work) \
	ONCE__PARKED_KEY(key, (work)->consumer_id, (work)->msg.record)

/* ---- the row ---- */

static void fill_headers(const struct once_record *record,
			 struct once__pg_array *names,
			 struct once__pg_array *values)
{
	once__pg_array_init(names, ONCE__PG_BYTEA);
	once__pg_array_init(values, ONCE__PG_BYTEA);
	for (size_t i = 0; i < record->header_count; i++) {
		once__pg_array_add(names, bytes_text(record->headers[i].name));
		once__pg_array_add(values, record->headers[i].value);
	}
}

/* What a handler gave as a reason may be any bytes; the column takes text. */
static struct once_bytes reason_text(const struct once_item *item)
{
	struct once_bytes reason = bytes_text(item->reason);

	while (reason.size > 0 && !bytes_are_utf8(reason))
		reason.size--; /* mostly a character cut at the end */
	return reason;
}

/* NULL: it doesn't wait. */
static struct once_param delay_of(const struct once__work *work, char text[24])
{
	static const struct once_param none;
	const struct once_route *route = work->route;

	if (work->planned != ONCE_WAITING_ENDING)
		return none;
	return once__pg_int8(text, backoff_ms(work->item->attempt,
					      route->first_delay_ms,
					      route->max_delay_ms));
}

static const char *state_of(const struct once__work *work)
{
	return work->planned == ONCE_WAITING_ENDING ? "waiting" : "dead";
}

static void send_row(struct once__pg *pg, const struct once__work *work,
		     const char *group, struct once__pg_array *names,
		     struct once__pg_array *values)
{
	const struct once_item *item = work->item;
	const struct once__keys *keys = &work->msg.keys;
	struct once__parked_key key;
	char numbers[3][24];

	once__pg_send_exactly(
		pg, 1, park_sql,
		ONCE_PARAMS(
			KEY_OF(&key, work),
			once__pg_int8(numbers[0], item->attempt),
			ONCE_TEXT(bytes_text(once_cause_word(item->cause))),
			ONCE_TEXT(reason_text(item)),
			ONCE_TEXT(bytes_text(item->sqlstate)),
			ONCE_TEXT(keys->msg_id), ONCE_TEXT(keys->biz_id),
			ONCE_BINARY(keys->fingerprint),
			ONCE_BINARY(work->stored.fingerprint),
			ONCE_BINARY(work->msg.record->key),
			ONCE_BINARY(work->msg.record->value),
			once__pg_array_param(names),
			once__pg_array_param(values),
			ONCE_TEXT(bytes_text(state_of(work))),
			delay_of(work, numbers[1]),
			once__pg_int8(numbers[2], item->crashes),
			ONCE_TEXT(bytes_text(group)),
			ONCE_TEXT(bytes_text(
				group[0] == '\0' ? "" : work->route->name))));
}

void once__parked_add(struct once__pg *pg, const struct once__work *work,
		      const char *group)
{
	struct once__pg_array names = { 0 };
	struct once__pg_array values = { 0 };

	fill_headers(work->msg.record, &names, &values);
	send_row(pg, work, group, &names, &values);
	once__pg_array_fini(&names);
	once__pg_array_fini(&values);
}

void once__parked_remove(struct once__pg *pg, const struct once__work *work)
{
	struct once__parked_key key;

	once__pg_send(pg, ONCE__PG_OURS, remove_sql,
		      ONCE_PARAMS(KEY_OF(&key, work)));
}

/* ---- questions ---- */

static bool ask_if_waiting(struct once__pg *pg, const char *sql,
			   const struct once__work *work, bool *ret_waits)
{
	const struct once_rows *rows;
	struct once__parked_key key;
	char attempts[24];

	rows = once__pg_exec(
		pg, ONCE__PG_OURS, sql,
		ONCE_PARAMS(KEY_OF(&key, work),
			    once__pg_int8(attempts,
					  (int64_t)work->item->attempt - 1)));
	if (rows == NULL)
		return false;
	*ret_waits = once_rows_count(rows) > 0;
	return true;
}

bool once__parked_lock(struct once__pg *pg, const struct once__work *work,
		       bool *ret_waits)
{
	return ask_if_waiting(pg, lock_sql, work, ret_waits);
}

bool once__parked_waits(struct once__pg *pg, const struct once__work *work,
			bool *ret_waits)
{
	return ask_if_waiting(pg, waits_sql, work, ret_waits);
}

bool once__parked_holds(struct once__pg *pg, const struct once__work *work,
			bool *ret_holds)
{
	const struct once_item *item = work->item;
	const struct once_rows *rows;
	struct once__parked_key key;
	char attempts[24];

	rows = once__pg_exec(pg, ONCE__PG_OURS, holds_sql,
			     ONCE_PARAMS(KEY_OF(&key, work),
					 ONCE_TEXT(bytes_text(state_of(work))),
					 once__pg_int8(attempts, item->attempt),
					 ONCE_TEXT(bytes_text(once_cause_word(
						 item->cause)))));
	if (rows == NULL)
		return false;
	*ret_holds = once_rows_count(rows) > 0;
	return true;
}
