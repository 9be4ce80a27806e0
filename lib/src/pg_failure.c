/* What a failed statement means is decided by its SQLSTATE, from one table.
 * Only the first failure of a transaction counts: what follows it is its echo.
 */
#include "clock.h"
#include "error.h"
#include "pg_impl.h"

#include <stdio.h>
#include <string.h>

enum {
	TRUSTED_MS = 2000 /* a statement, after it was prepared */
};

bool once__sqlstate_is(const char *sqlstate, const char *prefix)
{
	return strncmp(sqlstate, prefix, strlen(prefix)) == 0;
}

/* Whose statement it has to be for a row to count. */
enum whose {
	ANYONES,
	OURS,
	HANDLERS
};

/* clang-format off */
static const struct {
	const char *prefix; /* of the SQLSTATE */
	enum once__pg_class class;
	enum whose whose; /* what isn't in the table is the message's fault */
} classes[] = {
	{ "40001", ONCE__PG_REPEAT, ANYONES }, /* serialization_failure */
	{ "40P01", ONCE__PG_REPEAT, ANYONES }, /* deadlock_detected */
	{ "55P03", ONCE__PG_LOCKED, ANYONES }, /* lock_not_available */
	{ "57014", ONCE__PG_SERVER, OURS },    /* cancelled, timed out */
	{ "08",    ONCE__PG_SERVER, ANYONES }, /* connection */
	{ "25006", ONCE__PG_SERVER, ANYONES }, /* read_only_sql_transaction */
	{ "57P",   ONCE__PG_SERVER, ANYONES }, /* shutdown, crash, not yet up */
	{ "53",    ONCE__PG_SERVER, ANYONES }, /* no disk, memory, connections */
	{ "58030", ONCE__PG_SERVER, ANYONES }, /* input/output of the server */
	{ "XX001", ONCE__PG_SERVER, ANYONES }, /* corruption, of a table */
	{ "XX002", ONCE__PG_SERVER, ANYONES }, /* or of an index */
	{ "26000", ONCE__PG_SERVER, ANYONES }, /* a prepared statement is gone */
	{ "58",    ONCE__PG_SERVER, OURS },
	{ "XX",    ONCE__PG_SERVER, OURS },
	{ "42501", ONCE__PG_RIGHTS, OURS },    /* insufficient_privilege */
	{ "3F000", ONCE__PG_SCHEMA, OURS },    /* invalid_schema_name */
	{ "42P01", ONCE__PG_SCHEMA, OURS },    /* undefined_table */
	{ "42703", ONCE__PG_SCHEMA, OURS },    /* undefined_column */
	{ "42883", ONCE__PG_SCHEMA, OURS },    /* undefined_function */
	{ "55000", ONCE__PG_SCHEMA, OURS },    /* rows that were swallowed */
	{ "42501", ONCE__PG_ENVIRONMENT, HANDLERS },
	{ "3F000", ONCE__PG_ENVIRONMENT, HANDLERS },
	{ "42P01", ONCE__PG_ENVIRONMENT, HANDLERS },
	{ "42703", ONCE__PG_ENVIRONMENT, HANDLERS },
	{ "42883", ONCE__PG_ENVIRONMENT, HANDLERS }, /* undefined_function */
};
/* clang-format on */

static enum once__pg_class classify(const char *sqlstate, size_t tag)
{
	enum whose other = tag == ONCE__PG_OURS ? HANDLERS : OURS;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (once__sqlstate_is(sqlstate, classes[i].prefix) &&
		    classes[i].whose != other)
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
	failure->answered = false;
	snprintf(failure->sqlstate, sizeof(failure->sqlstate), "%s", sqlstate);
	snprintf(failure->text, sizeof(failure->text), "%s", text);
	failure->text[strcspn(failure->text, "\n")] = '\0';
}

void once__pg_give_up(struct once__pg *pg)
{
	char text[ONCE_REASON_SIZE];

	snprintf(text, sizeof(text),
		 "the database has not answered for %lld s over a connection "
		 "that is still open",
		 (long long)pg->patience_ms / 1000);
	once__pg_fail(pg, ONCE__PG_OURS, "08006", text);
	once__pg_lose(pg);
}

void once__pg_lose(struct once__pg *pg)
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

/* The parameters of a prepared statement keep the types that they had. If a
 * column has another one now, the statement fits no more (the error tells a
 * place in its text), or takes for wrong what would be right. That can't be
 * told from a wrong value, so it isn't supposed all the time. */
static bool may_be_outdated(const struct once__pg *pg,
			    const struct once__pg_statement *statement,
			    const PGresult *res)
{
	const char *sqlstate = pg->failure.sqlstate;

	if (statement->transaction == pg->transactions)
		return false;
	if (once__sqlstate_is(sqlstate, "42"))
		return PQresultErrorField(res, PG_DIAG_STATEMENT_POSITION) !=
		       NULL;
	return once__sqlstate_is(sqlstate, "22") &&
	       clock_ms() - statement->prepared_ms >= TRUSTED_MS;
}

/* No message is at fault if the session is over; nor if a table was altered
 * behind a prepared statement, which would fail for ever (plancache.c). */
static void excuse(struct once__pg *pg, const struct once__pg_owed *owed,
		   const PGresult *res)
{
	if (pg->cancelled && once__sqlstate_is(pg->failure.sqlstate, "57014")) {
		pg->failure.class = ONCE__PG_REPEAT;
	} else if (is_field(res, PG_DIAG_SEVERITY_NONLOCALIZED, "FATAL") ||
		   is_field(res, PG_DIAG_SEVERITY_NONLOCALIZED, "PANIC")) {
		pg->failure.class = ONCE__PG_SERVER;
	} else if (owed->statement != NULL &&
		   is_field(res, PG_DIAG_SOURCE_FUNCTION,
			    "RevalidateCachedQuery")) {
		owed->statement->state = ONCE__PG_UNFIT;
		pg->failure.class = ONCE__PG_REPEAT;
	} else if (owed->statement != NULL &&
		   owed->kind == ONCE__PG_KIND_EXECUTE &&
		   may_be_outdated(pg, owed->statement, res)) {
		pg->outdated = true;
		pg->failure.class = ONCE__PG_REPEAT;
	}
}

/* They were asked for while the statement waited. */
static void name_blockers(struct once__pg *pg)
{
	struct once__pg_failure *failure = &pg->failure;

	if (strcmp(failure->sqlstate, "55P03") == 0 && pg->blockers[0] != '\0')
		snprintf(failure->text, sizeof(failure->text),
			 "could not get a lock in time: %.220s", pg->blockers);
}

void once__pg_fail_with(struct once__pg *pg, const struct once__pg_owed *owed,
			const PGresult *res)
{
	bool is_first = !pg->failed;
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	const char *primary = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

	once__pg_fail(pg, owed->tag, sqlstate == NULL ? "08006" : sqlstate,
		      primary == NULL ? PQresultErrorMessage(res) : primary);
	if (!is_first)
		return;
	pg->failure.answered = true;
	name_blockers(pg);
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
		[ONCE__PG_LOCKED] = ONCE_TRANSIENT,
		[ONCE__PG_ENVIRONMENT] = ONCE_TRANSIENT,
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
