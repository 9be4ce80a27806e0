/* A database whose tables are published, to a change stream or a replica: what
 * a publication sends of an UPDATE or DELETE is the row's replica identity, and
 * a table without one can't be updated at all. PostgreSQL says so only at the
 * statement, where it would stop a batch; so it is looked for beforehand. */
#include "bytes.h"
#include "error.h"
#include "schema.h"

/* Our tables lose theirs only by somebody's ALTER TABLE. */
static const char without_identity_sql[] =
	"SELECT pg_catalog.string_agg(DISTINCT 'once.'::text || c.relname::text, ', '::text) "
	"FROM pg_catalog.pg_publication AS p "
	"JOIN pg_catalog.pg_publication_tables AS t ON t.pubname = p.pubname "
	"JOIN pg_catalog.pg_class AS c ON c.relname = t.tablename "
	"AND c.relnamespace = 'once'::regnamespace::oid "
	"WHERE t.schemaname = 'once' AND (p.pubupdate OR p.pubdelete) "
	"AND c.relreplident <> 'f' AND NOT EXISTS (SELECT FROM "
	"pg_catalog.pg_index AS i "
	"WHERE i.indrelid = c.oid AND (i.indisreplident "
	"OR (c.relreplident = 'd' AND i.indisprimary)))";

static enum once_status refuse(const char *tables, struct once_error *err)
{
	return error_set(
		err, ONCE_CONFIG,
		"published without a replica identity: %s; PostgreSQL "
		"refuses to update or delete rows there. Give each its "
		"primary key back with ALTER TABLE … REPLICA IDENTITY "
		"DEFAULT (once.consume_log: REPLICA IDENTITY USING "
		"INDEX consume_log_msg_id)",
		tables);
}

enum once_status once__schema_check_published(struct once__pg *pg,
					      struct once_error *err)
{
	const struct once_rows *rows;
	enum once_status status = ONCE_OK;

	once__pg_begin(pg);
	rows = once__pg_exec(pg, ONCE__PG_OURS, without_identity_sql,
			     ONCE_NO_PARAMS);
	if (rows == NULL)
		status = once__pg_error(pg, err);
	else if (once_rows_get(rows, 0, 0).data != NULL)
		status = refuse(once_rows_get(rows, 0, 0).data, err);
	once__pg_rollback(pg);
	return status;
}
