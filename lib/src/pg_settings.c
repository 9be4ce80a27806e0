/*
 * What our SQL, and the handlers beside each other, depend on: settings that a
 * role or a database may bring along, and that a handler may leave changed.
 *
 * The idea to hold: they are pinned at connect, to our value or to the one that
 * was found, and after the handlers of a transaction one statement compares all
 * of them and puts back what differs. It is answered with all the rest, so it
 * costs no wait.
 */
#include "bytes.h"
#include "error.h"
#include "pg_impl.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* NULL: as it was found. The order counts: to set the first takes the role
 * away. */
struct setting {
	const char *name;
	const char *value;
};

/* A handler that leaves one of these changed is reported: what comes after it
 * would mean something else, to us or to other handlers. */
static const struct setting told[] = {
	{ "session_authorization", NULL },
	{ "role", NULL },
	{ "row_security", NULL },
	{ "search_path", NULL },
	{ "session_replication_role", NULL }, /* triggers, foreign keys */
	{ "transaction_read_only", NULL },    /* can't be put back */
	{ "default_transaction_read_only", NULL },
	{ "default_transaction_deferrable", NULL },
	{ "synchronous_commit", NULL },
	{ "client_encoding", "UTF8" },
	{ "bytea_output", "hex" },
	{ "array_nulls", "on" },
	{ "standard_conforming_strings", "on" },
	{ "quote_all_identifiers", "off" },
	{ "transform_null_equals", "off" },
	{ "DateStyle", NULL },
	{ "IntervalStyle", NULL },
	{ "TimeZone", NULL },
	{ "extra_float_digits", NULL },
	{ "lc_numeric", NULL },
	{ "lc_monetary", NULL },
	{ "lc_time", NULL },
	{ "xmloption", NULL },
};

enum {
	TOLD = sizeof(told) / sizeof(told[0]),
	MOST = TOLD + 8
};

/* Those that this server doesn't know are left out. */
static const char pin_sql[] =
	"SELECT s.name, CASE WHEN s.value IS NULL "
	"THEN pg_catalog.current_setting(s.name) "
	"ELSE pg_catalog.set_config(s.name, s.value, false) END, "
	"(s.n <= $3::int8)::int4 "
	"FROM ROWS FROM (pg_catalog.unnest($1::text[]), "
	"pg_catalog.unnest($2::text[])) WITH ORDINALITY AS s (name, value, n) "
	"WHERE pg_catalog.current_setting(s.name, true) IS NOT NULL";

/* A handler may ask its COMMIT to wait for more than usual, not for less. */
static const char restore_sql[] =
	"SELECT pg_catalog.string_agg(s.name, ', ') "
	"FILTER (WHERE s.n <= $3::int8) "
	"FROM ROWS FROM (pg_catalog.unnest($1::text[]), "
	"pg_catalog.unnest($2::text[])) WITH ORDINALITY AS s (name, value, n) "
	"WHERE CASE WHEN pg_catalog.current_setting(s.name) = s.value "
	"THEN false WHEN s.name = 'transaction_read_only' THEN true "
	"WHEN s.name = 'synchronous_commit' "
	"AND pg_catalog.current_setting(s.name) <> 'off' THEN false "
	"ELSE pg_catalog.set_config(s.name, s.value, false) IS NOT NULL END";

static const char limit_sql[] =
	"SELECT pg_catalog.set_config('statement_timeout', $1::text, true), "
	"pg_catalog.set_config('lock_timeout', $2::text, true), "
	"pg_catalog.set_config('idle_in_transaction_session_timeout', "
	"$3::text, true)";

/* ---- limits ---- */

enum {
	GRACE_MS = 5000,
	MOST_MS = 2000000000 /* the server counts in int32 */
};

/* A server that lives would have cut the statement off itself. */
static int64_t patience(const struct once__pg_limits *limits, int64_t limit_ms)
{
	if (limit_ms == 0)
		return 0;
	return limit_ms + (limits->idle_ms == 0 ? GRACE_MS : limits->idle_ms);
}

int64_t once__pg_patience_ms(const struct once__pg_options *options)
{
	return patience(&options->limits, options->limits.answer_ms);
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static struct once_param milliseconds(char text[24], int64_t ms)
{
	return once__pg_int8(text, smaller(ms, MOST_MS));
}

void once__pg_limit(struct once__pg *pg, int64_t timeout_ms)
{
	const struct once__pg_limits *limits = &pg->options.limits;
	int64_t idle_ms = timeout_ms + limits->idle_ms;
	int64_t lock_ms = limits->lock_ms;
	char text[3][24];

	if (pg->limited_ms == timeout_ms)
		return;
	pg->limited_ms = timeout_ms;
	if (timeout_ms == 0)
		idle_ms = 0;
	else if (limits->idle_ms == 0)
		idle_ms = 2 * timeout_ms;
	if (timeout_ms != 0 && lock_ms != 0)
		lock_ms = smaller(lock_ms, (timeout_ms + 1) / 2);
	if (timeout_ms == 0)
		pg->patience_ms = 0;
	else if (pg->patience_ms != 0 &&
		 pg->patience_ms < patience(limits, timeout_ms))
		pg->patience_ms = patience(limits, timeout_ms);
	once__pg_send(pg, ONCE__PG_OURS, limit_sql,
		      ONCE_PARAMS(milliseconds(text[0], timeout_ms),
				  milliseconds(text[1], lock_ms),
				  milliseconds(text[2], idle_ms)));
}

/* ---- at connect ---- */

struct pins {
	struct setting settings[MOST];
	size_t count;
	char text[8][24];
	size_t texts;
};

static void add_pin(struct pins *pins, const char *name, const char *value)
{
	pins->settings[pins->count].name = name;
	pins->settings[pins->count].value = value;
	pins->count++;
}

static const char *print_number(struct pins *pins, int64_t number)
{
	char *text = pins->text[pins->texts++];

	snprintf(text, sizeof(pins->text[0]), "%lld",
		 (long long)smaller(number, MOST_MS));
	return text;
}

static void add_limit(struct pins *pins, const char *name, int64_t ms)
{
	if (ms > 0)
		add_pin(pins, name, print_number(pins, ms));
}

static void fill(struct pins *pins, const struct once__pg_limits *limits)
{
	for (size_t i = 0; i < TOLD; i++)
		add_pin(pins, told[i].name, told[i].value);
	add_pin(pins, "client_min_messages", "warning");
	add_limit(pins, "statement_timeout", limits->answer_ms);
	add_limit(pins, "lock_timeout", limits->lock_ms);
	add_limit(pins, "idle_in_transaction_session_timeout", limits->idle_ms);
	if (limits->answer_ms == 0)
		return;
	add_pin(pins, "idle_session_timeout", "0");
	add_pin(pins, "transaction_timeout", "0");
}

static void list_pins(struct once__pg *pg, const struct pins *pins)
{
	once__pg_array_init(&pg->names, ONCE__PG_TEXT);
	once__pg_array_init(&pg->values, ONCE__PG_TEXT);
	for (size_t i = 0; i < pins->count; i++) {
		once__pg_array_add(&pg->names,
				   bytes_text(pins->settings[i].name));
		once__pg_array_add(&pg->values,
				   bytes_text(pins->settings[i].value));
	}
}

static void keep_found(struct once__pg *pg, const struct once_rows *rows)
{
	once__pg_array_init(&pg->names, ONCE__PG_TEXT);
	once__pg_array_init(&pg->values, ONCE__PG_TEXT);
	for (size_t row = 0; row < once_rows_count(rows); row++) {
		once__pg_array_add(&pg->names, once_rows_get(rows, row, 0));
		once__pg_array_add(&pg->values, once_rows_get(rows, row, 1));
		pg->told += once__rows_int64(rows, row, 2) != 0;
	}
}

/* Only a superuser could mend this, and it turns off what holds the promise:
 * triggers, and the guard of transactions that handlers must not end. */
static enum once_status check_triggers(const struct once_rows *rows,
				       struct once_error *err)
{
	for (size_t row = 0; row < once_rows_count(rows); row++)
		if (bytes_equal(once_rows_get(rows, row, 0),
				bytes_text("session_replication_role")) &&
		    bytes_equal(once_rows_get(rows, row, 1),
				bytes_text("replica")))
			return error_set(
				err, ONCE_CONFIG,
				"session_replication_role is \"replica\" for "
				"this role or database, so its triggers don't "
				"run; reset it (ALTER ROLE … RESET "
				"session_replication_role)");
	return ONCE_OK;
}

static void add_socket_pins(struct pins *pins, int64_t idle_ms)
{
	int64_t idle_s = (idle_ms + 999) / 1000;

	if (idle_ms == 0)
		return;
	add_pin(pins, "tcp_keepalives_idle",
		print_number(pins, (idle_s + 1) / 2));
	add_pin(pins, "tcp_keepalives_interval",
		print_number(pins, (idle_s + 5) / 6));
	add_pin(pins, "tcp_keepalives_count", "3");
	add_limit(pins, "tcp_user_timeout", idle_ms);
}

/* The server's own watch over the connection: nobody changes it by the way, so
 * it isn't compared later. */
static void pin_socket(struct once__pg *pg)
{
	struct pins pins = { .count = 0 };
	char count[24];

	add_socket_pins(&pins, pg->options.limits.idle_ms);
	list_pins(pg, &pins);
	once__pg_send(pg, ONCE__PG_OURS, pin_sql,
		      ONCE_PARAMS(once__pg_array_param(&pg->names),
				  once__pg_array_param(&pg->values),
				  once__pg_int8(count, 0)));
}

static const struct once_rows *pin(struct once__pg *pg)
{
	struct pins pins = { .count = 0 };
	char count[24];

	fill(&pins, &pg->options.limits);
	list_pins(pg, &pins);
	return once__pg_exec(pg, ONCE__PG_OURS, pin_sql,
			     ONCE_PARAMS(once__pg_array_param(&pg->names),
					 once__pg_array_param(&pg->values),
					 once__pg_int8(count, TOLD)));
}

static enum once_status settings_fail(struct once__pg *pg,
				      struct once_error *err)
{
	(void)once__pg_error(pg, err);
	error_prefix(err, "could not set up the session");
	return ONCE_TRANSIENT;
}

enum once_status once__pg_settings_pin(struct once__pg *pg,
				       struct once_error *err)
{
	const struct once_rows *rows;
	enum once_status status;

	/* What the role or the database brings may be too short for ours. */
	if (pg->options.limits.answer_ms != 0) {
		once__pg_send_control(pg, "SET statement_timeout = 0", false);
		once__pg_breathe(pg);
	}
	if (pg->options.durability == ONCE_DURABILITY_SOURCE)
		once__pg_send_control(pg, "SET synchronous_commit = off",
				      false);
	pin_socket(pg);
	rows = pin(pg);
	if (rows == NULL)
		return settings_fail(pg, err);
	keep_found(pg, rows);
	status = check_triggers(rows, err);
	once__pg_clear(pg);
	return status;
}

void once__pg_settings_fini(struct once__pg *pg)
{
	once__pg_array_fini(&pg->names);
	once__pg_array_fini(&pg->values);
}

/* ---- in a transaction ---- */

static const char *skip_spaces(const char *sql)
{
	return sql + strspn(sql, " \t\r\n\f\v(");
}

static bool contains_set_config(const char *sql)
{
	while ((sql = strpbrk(sql, "sS")) != NULL) {
		if (strncasecmp(sql, "set_config", 10) == 0)
			return true;
		sql++;
	}
	return false;
}

/* Functions and triggers may as well: their changes are found at the end of
 * the transaction. */
bool once__pg_touches(const char *sql)
{
	static const char *const harmless[] = { "select", "insert", "update",
						"delete", "with",   "values",
						"merge",  "table",  "lock" };

	sql = skip_spaces(sql);
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (strncasecmp(sql, harmless[i], strlen(harmless[i])) == 0)
			return contains_set_config(sql);
	return true;
}

bool once__pg_is_touched(const struct once__pg *pg)
{
	return pg->touched;
}

static bool is_read_only(const char *names)
{
	static const char name[] = "transaction_read_only";
	const char *at = strstr(names, name);

	while (at != NULL && at != names && at[-1] != ' ')
		at = strstr(at + 1, name);
	return at != NULL;
}

void once__pg_note_stray(struct once__pg *pg, size_t tag, const char *names)
{
	struct once__pg_stray *stray = &pg->strays[pg->stray_count];

	if (is_read_only(names))
		once__pg_fail(pg, tag == ONCE__PG_OURS ? ONCE__PG_SHARED : tag,
			      "2D000",
			      "the handler made the transaction read-only");
	if (pg->stray_count == ONCE__PG_STRAYS_MAX)
		return;
	pg->stray_count++;
	stray->tag = tag;
	snprintf(stray->names, sizeof(stray->names), "%s", names);
}

const struct once__pg_stray *once__pg_strays(const struct once__pg *pg,
					     size_t *ret_count)
{
	*ret_count = pg->stray_count;
	return pg->strays;
}

void once__pg_restore(struct once__pg *pg, size_t tag)
{
	char count[24];

	once__pg_send_restore(
		pg, tag, restore_sql,
		ONCE_PARAMS(once__pg_array_param(&pg->names),
			    once__pg_array_param(&pg->values),
			    once__pg_int8(count, (int64_t)pg->told)));
	pg->touched = false;
	pg->limited_ms = -1;
}
