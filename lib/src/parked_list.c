/* Reading parked messages. A page is copied and its transaction ended before it
 * is told: whoever is told may sit before a pager all night. */
#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "parked_scan.h"
#include "pg.h"
#include "schema.h"

enum {
	PAGE_ROWS = 500
};

/* clang-format off */
#define LISTED                                                           \
	"SELECT " ONCE__PARKED_PLACE ", c.scope, p.state, p.cause, "     \
	"p.reason, coalesce(p.sqlstate, ''), p.attempts, p.crashes, "    \
	"p.msg_id, p.biz_id, "                                           \
	"pg_catalog.to_char(p.parked_at AT TIME ZONE 'UTC', " \
	""                       \
	"'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), "                            \
	"coalesce(pg_catalog.to_char(p.retry_at AT TIME ZONE 'UTC', " \
	""               \
	"'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), ''), "                       \
	"coalesce(pg_catalog.octet_length(p.value), -1), p.group_name, p.route"
/* clang-format on */

static const char list_sql[] = LISTED ONCE__PARKED_PAGE;

static const char show_sql[] = LISTED
	", pg_catalog.encode(p.key, 'hex'), pg_catalog.encode(p.value, 'hex'), "
	"pg_catalog.encode(p.fingerprint, 'hex'), "
	"pg_catalog.encode(p.original_fingerprint, 'hex')" ONCE__PARKED_PAGE;

static const char headers_sql[] =
	"SELECT pg_catalog.encode(h.name, 'hex'), pg_catalog.encode(h.value, "
	"'hex') "
	"FROM once.parked AS p, "
	"unnest(p.header_names, p.header_values) WITH ORDINALITY "
	"AS h (name, value, at) "
	"WHERE (" ONCE__PARKED_PLACE ") = "
	"($1::int8, $2::text, $3::int4, $4::int8, $5::int8, $6::int4) "
	"ORDER BY h.at";

/* ONCE__PARKED_PLACE is in front. */
enum column {
	TOPIC = 1,
	PARTITION,
	OFFSET,
	TIME_MS,
	LOG_GENERATION,
	SCOPE,
	STATE,
	CAUSE,
	REASON,
	SQLSTATE,
	ATTEMPTS,
	CRASHES,
	MSG_ID,
	BIZ_ID,
	PARKED_AT,
	RETRY_AT,
	VALUE_BYTES,
	GROUP,
	ROUTE,
	KEY,
	VALUE,
	FINGERPRINT,
	ORIGINAL
};

struct reading {
	struct once__pg *pg;
	struct once__parked_scan scan;
	bool whole; /* with key, value, headers */
	once_parked_f *told;
	void *arg;

	/* the page */
	struct arena arena;
	struct once_parked_message *messages;
	size_t count;
	int64_t wanted;
	bool broken; /* no memory */
};

/* ---- copying what a row holds ---- */

static const char *copy_text(struct reading *reading,
			     const struct once_rows *rows, size_t row,
			     enum column column)
{
	char *copy =
		arena_copy(&reading->arena, once_rows_get(rows, row, column));

	reading->broken |= copy == NULL;
	return copy;
}

static struct once_bytes copy_bytes(struct reading *reading,
				    const struct once_rows *rows, size_t row,
				    enum column column)
{
	struct once_bytes bytes = once_rows_get(rows, row, column);

	if (bytes.data == NULL)
		return bytes;
	bytes.data = arena_copy(&reading->arena, bytes);
	reading->broken |= bytes.data == NULL;
	return bytes;
}

/* With a NUL behind it. */
static struct once_bytes copy_hex(struct reading *reading,
				  const struct once_rows *rows, size_t row,
				  size_t column)
{
	struct once_bytes digits = once_rows_get(rows, row, column);
	size_t size = digits.size / 2;
	unsigned char *data;

	if (digits.data == NULL)
		return digits;
	data = arena_take(&reading->arena, size + 1);
	if (data == NULL || !bytes_parse_hex(digits, data, size)) {
		reading->broken = true;
		return bytes_of(NULL, 0);
	}
	data[size] = '\0';
	return bytes_of(data, size);
}

static enum once_parked_state state_of(const struct once_rows *rows, size_t row)
{
	struct once_bytes word = once_rows_get(rows, row, STATE);

	return bytes_equal(word, bytes_text("dead")) ? ONCE_PARKED_DEAD
						     : ONCE_PARKED_WAITING;
}

static void copy_row(struct reading *reading, const struct once_rows *rows,
		     size_t row)
{
	reading->messages[row] = (struct once_parked_message){
		.scope = copy_text(reading, rows, row, SCOPE),
		.topic = copy_text(reading, rows, row, TOPIC),
		.partition = (int32_t)once__rows_int64(rows, row, PARTITION),
		.offset = once__rows_int64(rows, row, OFFSET),
		.time_ms = once__rows_int64(rows, row, TIME_MS),
		.log_generation =
			(int32_t)once__rows_int64(rows, row, LOG_GENERATION),
		.state = state_of(rows, row),
		.cause = copy_text(reading, rows, row, CAUSE),
		.reason = copy_text(reading, rows, row, REASON),
		.sqlstate = copy_text(reading, rows, row, SQLSTATE),
		.attempts = once__rows_int64(rows, row, ATTEMPTS),
		.crashes = once__rows_int64(rows, row, CRASHES),
		.msg_id = copy_bytes(reading, rows, row, MSG_ID),
		.biz_id = copy_bytes(reading, rows, row, BIZ_ID),
		.parked_at = copy_text(reading, rows, row, PARKED_AT),
		.retry_at = copy_text(reading, rows, row, RETRY_AT),
		.value_bytes = once__rows_int64(rows, row, VALUE_BYTES),
		.group = copy_text(reading, rows, row, GROUP),
		.route = copy_text(reading, rows, row, ROUTE),
	};
}

static void copy_contents(struct reading *reading, const struct once_rows *rows,
			  size_t row)
{
	struct once_parked_message *msg = &reading->messages[row];

	msg->key = copy_hex(reading, rows, row, KEY);
	msg->value = copy_hex(reading, rows, row, VALUE);
	msg->fingerprint = copy_hex(reading, rows, row, FINGERPRINT);
	msg->original_fingerprint = copy_hex(reading, rows, row, ORIGINAL);
}

static void copy_headers(struct reading *reading, const struct once_rows *rows,
			 struct once_parked_message *msg)
{
	struct once_header *headers;

	msg->header_count = once_rows_count(rows);
	headers = arena_take_zeroed(&reading->arena, msg->header_count + 1,
				    sizeof(*headers));
	msg->headers = headers;
	reading->broken |= headers == NULL;
	for (size_t i = 0; headers != NULL && i < msg->header_count; i++) {
		headers[i].name = copy_hex(reading, rows, i, 0).data;
		headers[i].value = copy_hex(reading, rows, i, 1);
	}
}

/* ---- a page ---- */

/* Of the row where the scan stands. */
static bool read_headers(struct reading *reading,
			 struct once_parked_message *msg)
{
	const struct once__parked_scan *scan = &reading->scan;
	const struct once_rows *rows;
	char numbers[5][24];

	rows = once__pg_exec(
		reading->pg, ONCE__PG_OURS, headers_sql,
		ONCE_PARAMS(once__pg_int8(numbers[0], scan->consumer_id),
			    ONCE_TEXT(bytes_text(scan->topic.data)),
			    once__pg_int8(numbers[1], scan->partition),
			    once__pg_int8(numbers[2], scan->offset),
			    once__pg_int8(numbers[3], scan->time_ms),
			    once__pg_int8(numbers[4], scan->log_generation)));
	if (rows != NULL)
		copy_headers(reading, rows, msg);
	return rows != NULL;
}

static bool copy_page(struct reading *reading, const struct once_rows *rows)
{
	reading->count = once_rows_count(rows);
	reading->messages =
		arena_take_zeroed(&reading->arena, reading->count + 1,
				  sizeof(*reading->messages));
	reading->broken |= reading->messages == NULL;
	for (size_t i = 0; i < reading->count && !reading->broken; i++) {
		copy_row(reading, rows, i);
		reading->broken |=
			!once__parked_scan_move(&reading->scan, rows, i, 0);
		if (!reading->whole)
			continue;
		copy_contents(reading, rows, i);
		if (!read_headers(reading, &reading->messages[i]))
			return false;
	}
	return true;
}

static enum once_status read_page(struct reading *reading,
				  struct once_error *err)
{
	const struct once_rows *rows;
	enum once_status status = ONCE_OK;

	arena_reset(&reading->arena);
	reading->wanted = once__parked_scan_prepare(
		&reading->scan, reading->whole ? 1 : PAGE_ROWS);
	once__pg_begin(reading->pg);
	rows = once__pg_exec(reading->pg, ONCE__PG_OURS,
			     reading->whole ? show_sql : list_sql,
			     reading->scan.params, ONCE__PARKED_PARAMS);
	if (rows == NULL || !copy_page(reading, rows))
		status = once__pg_error(reading->pg, err);
	else if (reading->broken)
		status = error_no_memory(err);
	once__pg_rollback(reading->pg);
	return status;
}

/* false: that was all that is wanted. */
static bool tell_page(struct reading *reading)
{
	for (size_t i = 0; i < reading->count; i++)
		if (reading->told(reading->arg, &reading->messages[i]) != 0)
			return false;
	if (reading->scan.left > 0)
		reading->scan.left -= (int64_t)reading->count;
	return (int64_t)reading->count == reading->wanted &&
	       reading->scan.left != 0;
}

static enum once_status read_pages(struct reading *reading,
				   struct once_error *err)
{
	enum once_status status;

	do
		status = read_page(reading, err);
	while (status == ONCE_OK && tell_page(reading));
	return status;
}

/* ---- all of it ---- */

static enum once_status read_by(struct reading *reading, const char *conninfo,
				struct once_error *err)
{
	/* A message and its headers are one. */
	struct once__pg_options options = { .conninfo = conninfo,
					    .application_name = "onced parked",
					    .isolation = ONCE_REPEATABLE_READ,
					    .limits = ONCE__PG_COMMAND_LIMITS };
	enum once_status status = once__pg_open(&options, &reading->pg, err);

	if (status == ONCE_OK)
		status = once__schema_check_version(reading->pg, err);
	if (status == ONCE_OK)
		status = read_pages(reading, err);
	once__pg_close(reading->pg);
	return status;
}

static enum once_status read_parked(struct reading *reading,
				    const char *conninfo,
				    const struct once_parked_filter *filter,
				    struct once_error *err)
{
	enum once_status status =
		once__parked_scan_init(&reading->scan, filter, err);

	if (status == ONCE_OK)
		status = read_by(reading, conninfo, err);
	arena_fini(&reading->arena);
	once__parked_scan_fini(&reading->scan);
	return status;
}

enum once_status once_parked_list(const char *conninfo,
				  const struct once_parked_filter *filter,
				  once_parked_f *told, void *arg,
				  struct once_error *err)
{
	struct reading reading = { .told = told, .arg = arg };

	return read_parked(&reading, conninfo, filter, err);
}

enum once_status once_parked_show(const char *conninfo,
				  const struct once_parked_filter *filter,
				  once_parked_f *told, void *arg,
				  struct once_error *err)
{
	struct reading reading = { .whole = true, .told = told, .arg = arg };

	return read_parked(&reading, conninfo, filter, err);
}
