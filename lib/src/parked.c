/* A parked row holds all that Kafka held: it can be handled again when the
 * topic has long forgotten the message. */
#include "parked.h"

#include "bytes.h"
#include "pg_array.h"

static const char park_sql[] =
	"INSERT INTO once.parked (consumer_id, topic, partition, "
	"message_offset, state, attempts, cause, reason, sqlstate, msg_id, "
	"biz_id, fingerprint, original_fingerprint, message_time_ms, key, "
	"value, header_names, header_values) "
	"VALUES ($1::bigint, $2::text, $3::int4, $4::int8, 'dead', $5::int4, "
	"$6::text, $7::text, nullif($8::text, ''), $9::text, $10::text, "
	"$11::bytea, $12::bytea, $13::int8, $14::bytea, $15::bytea, "
	"$16::bytea[], $17::bytea[]) "
	"ON CONFLICT (consumer_id, topic, partition, message_offset, "
	"message_time_ms) "
	"DO UPDATE SET state = 'dead', retry_at = NULL, "
	"attempts = excluded.attempts, cause = excluded.cause, "
	"reason = excluded.reason, sqlstate = excluded.sqlstate";

static const char holds_sql[] =
	"SELECT 1 FROM once.parked WHERE consumer_id = $1::bigint "
	"AND topic = $2::text AND partition = $3::int4 "
	"AND message_offset = $4::int8 AND message_time_ms = $5::int8 "
	"AND state = 'dead' AND attempts = $6::int4 AND cause = $7::text";

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

static void send_row(struct once__pg *pg, const struct once__work *work,
		     struct once__pg_array *names,
		     struct once__pg_array *values)
{
	const struct once_item *item = work->item;
	const struct once_record *record = work->msg.record;
	const struct once__keys *keys = &work->msg.keys;
	char numbers[5][24];

	once__pg_send(
		pg, ONCE__PG_OURS, park_sql,
		ONCE_PARAMS(once__pg_int8(numbers[0], work->consumer_id),
			    ONCE_TEXT(bytes_text(record->topic)),
			    once__pg_int8(numbers[1], record->partition),
			    once__pg_int8(numbers[2], record->offset),
			    once__pg_int8(numbers[3], item->attempt),
			    ONCE_TEXT(bytes_text(once_cause_word(item->cause))),
			    ONCE_TEXT(reason_text(item)),
			    ONCE_TEXT(bytes_text(item->sqlstate)),
			    ONCE_TEXT(keys->msg_id), ONCE_TEXT(keys->biz_id),
			    ONCE_BINARY(keys->fingerprint),
			    ONCE_BINARY(work->stored.fingerprint),
			    once__pg_int8(numbers[4], record->time_ms),
			    ONCE_BINARY(record->key),
			    ONCE_BINARY(record->value),
			    once__pg_array_param(names),
			    once__pg_array_param(values)));
}

void once__parked_add(struct once__pg *pg, const struct once__work *work)
{
	struct once__pg_array names = { 0 };
	struct once__pg_array values = { 0 };

	fill_headers(work->msg.record, &names, &values);
	send_row(pg, work, &names, &values);
	once__pg_array_fini(&names);
	once__pg_array_fini(&values);
}

bool once__parked_holds(struct once__pg *pg, const struct once__work *work,
			bool *ret_holds)
{
	const struct once_item *item = work->item;
	const struct once_record *record = work->msg.record;
	const struct once_rows *rows;
	char numbers[5][24];

	rows = once__pg_exec(
		pg, ONCE__PG_OURS, holds_sql,
		ONCE_PARAMS(
			once__pg_int8(numbers[0], work->consumer_id),
			ONCE_TEXT(bytes_text(record->topic)),
			once__pg_int8(numbers[1], record->partition),
			once__pg_int8(numbers[2], record->offset),
			once__pg_int8(numbers[3], record->time_ms),
			once__pg_int8(numbers[4], item->attempt),
			ONCE_TEXT(bytes_text(once_cause_word(item->cause)))));
	if (rows == NULL)
		return false;
	*ret_holds = once_rows_count(rows) > 0;
	return true;
}
