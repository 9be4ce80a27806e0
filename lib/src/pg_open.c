/* A session's life. It is handed out in pipeline mode, with its settings pinned
 * and its limits said to the server. */
#include "error.h"
#include "pg_conninfo.h"
#include "pg_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONNECT_MS = 10000
};

static void drop_notice(void *arg, const char *message)
{
	(void)arg;
	(void)message;
}

static PGconn *connect_to(const struct once__pg_options *options)
{
	int64_t answer_ms = options->limits.answer_ms;
	char connect_s[24];
	/* What stands before dbname is a default; what stands behind it
	 * overrules the user's conninfo. */
	const char *const names[] = { "connect_timeout",
				      "keepalives_idle",
				      "keepalives_interval",
				      "keepalives_count",
				      "tcp_user_timeout",
				      "dbname",
				      "fallback_application_name",
				      "client_encoding",
				      NULL };
	const char *const values[] = { connect_s,
				       "10",
				       "5",
				       "3",
				       "20000",
				       options->conninfo,
				       options->application_name == NULL
					       ? "libonce"
					       : options->application_name,
				       "UTF8",
				       NULL };

	snprintf(connect_s, sizeof(connect_s), "%lld",
		 answer_ms > 0 && answer_ms < CONNECT_MS
			 ? (long long)(answer_ms + 1999) / 1000
			 : CONNECT_MS / 1000LL);
	return PQconnectdbParams(names, values, 1);
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

enum once_status once__pg_open(const struct once__pg_options *options,
			       struct once__pg **ret_pg, struct once_error *err)
{
	struct once__pg *pg;
	enum once_status status =
		once__pg_conninfo_check(options->conninfo, err);

	if (status != ONCE_OK)
		return status;
	pg = calloc(1, sizeof(*pg));
	if (pg == NULL)
		return error_no_memory(err);
	status = ONCE_TRANSIENT;
	pg->options = *options;
	pg->patience_ms = once__pg_patience_ms(options);
	pg->conn = connect_to(options);
	if (pg->conn == NULL) {
		error_no_memory(err);
		goto fail;
	}
	if (PQstatus(pg->conn) != CONNECTION_OK)
		goto refused;
	PQsetNoticeProcessor(pg->conn, drop_notice, NULL);
	if (PQsetnonblocking(pg->conn, 1) != 0 ||
	    !PQenterPipelineMode(pg->conn))
		goto refused;
	status = check_encoding(pg, err);
	if (status == ONCE_OK)
		status = once__pg_settings_pin(pg, err);
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

void once__pg_watch(struct once__pg *pg, atomic_llong *moved_ms)
{
	pg->moved_ms = moved_ms;
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
	once__pg_settings_fini(pg);
	arena_fini(&pg->params);
	free(pg->kept);
	free(pg->queue);
	free(pg);
}
