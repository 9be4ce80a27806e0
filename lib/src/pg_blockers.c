/* Who has the lock that a statement of ours waits for? While it waits, the
 * server knows; another session asks it. */
#include "pg_impl.h"

#include "bytes.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

enum {
	ASK_MS = 1000
};

/* State and application of others are shown to members of pg_read_all_stats. */
#define BLOCKERS_SQL(instance) \
	"SELECT b.pid, coalesce(a.application_name, ''), " \
	"coalesce(a.state, ''), " \
	"coalesce(extract(epoch FROM pg_catalog.now() - a.state_change)::int8, 0), " instance \
	" FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids($1::int4)) " \
	"AS b (pid) LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = b.pid " \
	"ORDER BY a.xact_start LIMIT 3"

/* The instance of ours whose session it is, by its advisory lock. That table
 * itself may be locked, or not be there yet: then without it. */
static const char *const blockers_sql[] = {
	BLOCKERS_SQL("coalesce((SELECT i.host || ':' || i.pid::text "
		     "FROM pg_catalog.pg_locks AS l JOIN once.instance AS i "
		     "ON once.instance_lock(i.id) = "
		     "((l.classid::int8 << 32) | l.objid::int8) "
		     "WHERE l.pid = b.pid AND l.locktype = 'advisory' "
		     "AND l.objsubid = 1 LIMIT 1), '')"),
	BLOCKERS_SQL("''"),
};

static void describe_one(struct text *text, const struct once_rows *rows,
			 size_t row)
{
	const char *application = once_rows_get(rows, row, 1).data;
	const char *state = once_rows_get(rows, row, 2).data;
	const char *instance = once_rows_get(rows, row, 4).data;

	if (once__rows_int64(rows, row, 0) == 0) {
		text_adds(text, "a prepared transaction has it");
		return;
	}
	text_addf(text, "pid %lld has it",
		  (long long)once__rows_int64(rows, row, 0));
	if (*application != '\0')
		text_addf(text, ", application \"%s\"", application);
	if (*instance != '\0')
		text_addf(text, ", instance %s", instance);
	if (*state != '\0')
		text_addf(text, ", %s for %lld s", state,
			  (long long)once__rows_int64(rows, row, 3));
}

static void describe(struct once__pg *pg, const struct once_rows *rows)
{
	scoped_text struct text text = { 0 };

	for (size_t row = 0; row < once_rows_count(rows); row++) {
		if (row > 0)
			text_adds(&text, "; ");
		describe_one(&text, rows, row);
	}
	if (!text.broken && text.size > 0)
		snprintf(pg->blockers, sizeof(pg->blockers), "%s", text.data);
}

/* false: it wasn't answered. */
static bool ask(struct once__pg *pg, const char *sql)
{
	struct once__pg_options options = {
		.conninfo = pg->options.conninfo,
		.application_name = pg->options.application_name,
		.limits = { .answer_ms = ASK_MS }, /* no lock_ms: that asks */
	};
	struct once__pg *other = NULL;
	const struct once_rows *rows;
	char pid[24];

	if (once__pg_open(&options, &other, NULL) != ONCE_OK)
		return true; /* nor would it be the next time */
	once__pg_begin(other);
	rows = once__pg_exec(
		other, ONCE__PG_OURS, sql,
		ONCE_PARAMS(once__pg_int8(pid, PQbackendPID(pg->conn))));
	if (rows != NULL)
		describe(pg, rows);
	once__pg_close(other);
	return rows != NULL;
}

void once__pg_ask_blockers(struct once__pg *pg)
{
	pg->blockers[0] = '\0';
	if (!ask(pg, blockers_sql[0]))
		(void)ask(pg, blockers_sql[1]);
}
