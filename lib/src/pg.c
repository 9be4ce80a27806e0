/* A session's life, and its transactions: only the tag COMMIT, answered on the
 * same session, is success. */
#include "error.h"
#include "pg_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- transactions ---- */

void once__pg_clear(struct once__pg *pg)
{
	for (size_t i = 0; i < pg->kept_count; i++)
		PQclear(pg->kept[i]);
	pg->kept_count = 0;
	if (!pg->lost)
		pg->failed = false;
}

void once__pg_begin(struct once__pg *pg)
{
	static const char *const begins[] = {
		[ONCE_READ_COMMITTED] = "BEGIN ISOLATION LEVEL READ COMMITTED",
		[ONCE_REPEATABLE_READ] =
			"BEGIN ISOLATION LEVEL REPEATABLE READ",
		[ONCE_SERIALIZABLE] = "BEGIN ISOLATION LEVEL SERIALIZABLE",
	};

	once__pg_clear(pg);
	pg->cancelled = false;
	pg->transactions++;
	once__pg_send_control(pg, begins[pg->isolation], false);
}

void once__pg_make_durable(struct once__pg *pg)
{
	static const char sql[] =
		"SELECT set_config('synchronous_commit', 'on', true) "
		"WHERE current_setting('synchronous_commit') = 'off'";

	once__pg_send(pg, ONCE__PG_OURS, sql, NULL, 0);
}

enum once__pg_commit once__pg_commit(struct once__pg *pg)
{
	bool committed;

	pg->meanwhile = NULL;
	pg->impatient = NULL;
	if (pg->failed || pg->lost)
		return ONCE__PG_NOT_COMMITTED;
	once__pg_clear(pg);
	once__pg_send_control(pg, "COMMIT", true);
	once__pg_sync(pg);
	if (pg->lost)
		return ONCE__PG_UNKNOWN;
	if (pg->failed || pg->kept_count != 1)
		return ONCE__PG_NOT_COMMITTED;
	committed = strcmp(PQcmdStatus(pg->kept[0]), "COMMIT") == 0;
	if (!committed)
		once__pg_fail(pg, ONCE__PG_OURS, "25P02",
			      "COMMIT was answered with a rollback");
	return committed ? ONCE__PG_COMMITTED : ONCE__PG_NOT_COMMITTED;
}

static void deallocate(struct once__pg *pg,
		       struct once__pg_statement *statement)
{
	char sql[48];

	if (statement->state != ONCE__PG_READY)
		return;
	snprintf(sql, sizeof(sql), "DEALLOCATE %s", statement->name);
	once__pg_send_control(pg, sql, false);
	statement->state = ONCE__PG_NEW;
}

static void forget_statements(struct once__pg *pg)
{
	pg->outdated = false;
	pg->generation++;
	for (size_t i = 0; i < ONCE__PG_STATEMENTS_MAX; i++)
		deallocate(pg, &pg->statements.table[i]);
	once__pg_sync(pg);
	if (pg->failed && !pg->lost)
		once__pg_lose(pg);
}

unsigned once__pg_generation(const struct once__pg *pg)
{
	return pg->generation;
}

void once__pg_rollback(struct once__pg *pg)
{
	bool useless = pg->failed && pg->failure.class == ONCE__PG_SERVER;

	pg->meanwhile = NULL;
	pg->impatient = NULL;
	once__pg_sync(pg);
	once__pg_clear(pg);
	once__pg_send_control(pg, "ROLLBACK", false);
	once__pg_sync(pg);
	if (!pg->lost &&
	    (useless || PQtransactionStatus(pg->conn) != PQTRANS_IDLE))
		once__pg_lose(pg); /* the next one may find a better server */
	once__pg_clear(pg);
	if (pg->outdated && !pg->lost)
		forget_statements(pg);
	once__pg_clear(pg);
}

/* ---- open and close ---- */

static void drop_notice(void *arg, const char *message)
{
	(void)arg;
	(void)message;
}

static PGconn *connect_to(const struct once__pg_options *options)
{
	/* What stands before dbname is a default; what stands behind it
	 * overrules the user's conninfo. */
	const char *const names[] = { "connect_timeout",
				      "keepalives_idle",
				      "keepalives_interval",
				      "tcp_user_timeout",
				      "dbname",
				      "fallback_application_name",
				      "client_encoding",
				      NULL };
	const char *const values[] = { "10",
				       "10",
				       "5",
				       "20000",
				       options->conninfo,
				       options->application_name == NULL
					       ? "libonce"
					       : options->application_name,
				       "UTF8",
				       NULL };

	return PQconnectdbParams(names, values, 1);
}

static enum once_status settle_session(struct once__pg *pg,
				       enum once_durability durability)
{
	static const char *const settings[] = {
		[ONCE_DURABILITY_DATABASE] =
			"SET client_min_messages = warning",
		[ONCE_DURABILITY_SOURCE] = "SET client_min_messages = warning; "
					   "SET synchronous_commit = off",
	};
	PGresult *res = PQexec(pg->conn, settings[durability]);
	bool done = once__pg_succeeded(res);

	PQclear(res);
	if (!done || PQsetnonblocking(pg->conn, 1) != 0 ||
	    !PQenterPipelineMode(pg->conn))
		return ONCE_TRANSIENT;
	return ONCE_OK;
}

/* Keys are UTF-8, and one that the database can't hold would stop its lane. */
static enum once_status check_encoding(struct once__pg *pg,
				       struct once_error *err)
{
	const char *encoding = PQparameterStatus(pg->conn, "server_encoding");

	if (encoding == NULL || strcmp(encoding, "UTF8") == 0 ||
	    strcmp(encoding, "SQL_ASCII") == 0)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "the database's encoding is %s; create one with "
			 "ENCODING 'UTF8'",
			 encoding);
}

/* A conninfo that can't be read won't be better later. libpq's own words may
 * quote a part of a password. */
static enum once_status check_conninfo(const char *conninfo,
				       struct once_error *err)
{
	PQconninfoOption *parsed;

	if (strpbrk(conninfo, "=/") == NULL)
		return ONCE_OK; /* a database's name */
	parsed = PQconninfoParse(conninfo, NULL);
	PQconninfoFree(parsed);
	if (parsed != NULL)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "the database's conninfo can't be read; write it like "
			 "host=… dbname=…, and what has spaces in single "
			 "quotes");
}

enum once_status once__pg_open(const struct once__pg_options *options,
			       struct once__pg **ret_pg, struct once_error *err)
{
	struct once__pg *pg;
	enum once_status status = check_conninfo(options->conninfo, err);

	if (status != ONCE_OK)
		return status;
	pg = calloc(1, sizeof(*pg));
	if (pg == NULL)
		return error_no_memory(err);
	status = ONCE_TRANSIENT;
	pg->isolation = options->isolation;
	pg->conn = connect_to(options);
	if (pg->conn == NULL) {
		error_no_memory(err);
		goto fail;
	}
	if (PQstatus(pg->conn) != CONNECTION_OK)
		goto refused;
	PQsetNoticeProcessor(pg->conn, drop_notice, NULL);
	if (settle_session(pg, options->durability) != ONCE_OK)
		goto refused;
	status = check_encoding(pg, err);
	if (status != ONCE_OK)
		goto fail;
	*ret_pg = pg;
	return ONCE_OK;

refused:
	error_set(err, ONCE_TRANSIENT, "could not connect to the database: %s",
		  PQerrorMessage(pg->conn));
	if (err != NULL)
		err->text[strcspn(err->text, "\n")] = '\0';
fail:
	once__pg_close(pg);
	return status;
}

static bool is_on(const struct once__pg *pg, const char *parameter)
{
	const char *value = PQparameterStatus(pg->conn, parameter);

	return value != NULL && strcmp(value, "on") == 0;
}

bool once__pg_is_read_only(const struct once__pg *pg)
{
	return is_on(pg, "in_hot_standby") ||
	       is_on(pg, "default_transaction_read_only");
}

void once__pg_close(struct once__pg *pg)
{
	if (pg == NULL)
		return;
	pg->lost = true;
	once__pg_clear(pg);
	PQfinish(pg->conn);
	once__pg_statements_fini(&pg->statements);
	arena_fini(&pg->params);
	free(pg->kept);
	free(pg->queue);
	free(pg);
}
