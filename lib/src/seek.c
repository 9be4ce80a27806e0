/* A group's positions are moved by a person, while nobody of the group runs:
 * the rows, and who did it, in one transaction. */
#include "bytes.h"
#include "error.h"
#include "pg.h"
#include "pg_array.h"
#include "position.h"
#include "schema.h"

static const char alive_sql[] =
	"SELECT host || ', pid ' || pid::text FROM once.instance "
	"WHERE group_name = $1::text AND once.is_alive(id) LIMIT 1";

static const char read_sql[] =
	"SELECT n.partition, coalesce(p.next_offset, -1), n.next_offset "
	"FROM unnest($3::int4[], $4::int8[]) AS n (partition, "
	"next_offset) "
	"LEFT JOIN once.position AS p ON p.group_name = $1::text "
	"AND p.topic = $2::text AND p.partition = n.partition ORDER BY 1";

/* A row that is new is of the first log: see fill_targets(). */
static const char move_sql[] =
	"INSERT INTO once.position AS p (group_name, topic, partition, "
	"next_offset, log_generation) "
	"SELECT $1::text, $2::text, n.* FROM unnest($3::int4[], "
	"$4::int8[], "
	"$5::int4[]) AS n ON CONFLICT (group_name, topic, partition) "
	"DO UPDATE SET next_offset = excluded.next_offset, attempts = 0, "
	"anchor_offset = NULL, anchor_time_ms = NULL, anchor_hash = NULL, "
	"log_id = NULL, log_generation = p.log_generation + "
	"greatest(excluded.log_generation, "
	"once.is_disowned(p.anchor_hash)::int4), updated_at = pg_catalog.now()";

static const char audit_sql[] =
	"INSERT INTO once.audit (person, command, subject, rows_changed) "
	"VALUES ($1::text, 'seek', $2::text, $3::int8)";

struct targets {
	struct once__pg_array partitions;
	struct once__pg_array offsets;
	struct once__pg_array another_logs; /* 1: yes */
};

static void fill_targets(struct targets *targets,
			 const struct once_seek_options *options)
{
	once__pg_array_init(&targets->partitions, ONCE__PG_INT4);
	once__pg_array_init(&targets->offsets, ONCE__PG_INT8);
	once__pg_array_init(&targets->another_logs, ONCE__PG_INT4);
	for (size_t i = 0; i < options->count; i++) {
		if (options->offsets[i] < 0)
			continue;
		once__pg_array_add_int4(&targets->partitions, (int32_t)i);
		once__pg_array_add_int8(&targets->offsets, options->offsets[i]);
		once__pg_array_add_int4(&targets->another_logs,
					options->another_log != NULL &&
						options->another_log[i] != 0);
	}
}

static enum once_status check_stopped(struct once__pg *pg, const char *group,
				      struct once_error *err)
{
	const struct once_rows *rows =
		once__pg_exec(pg, ONCE__PG_OURS, alive_sql,
			      ONCE_PARAMS(ONCE_TEXT(bytes_text(group))));

	if (rows == NULL)
		return once__pg_error(pg, err);
	if (once_rows_count(rows) == 0)
		return ONCE_OK;
	return error_set(err, ONCE_FENCED,
			 "a process of group \"%s\" is running (%s); stop all "
			 "of them first",
			 group, (const char *)once_rows_get(rows, 0, 0).data);
}

static enum once_status tell(struct once__pg *pg,
			     const struct once_seek_options *options,
			     struct targets *targets, once_seek_f *told,
			     void *arg, struct once_error *err)
{
	const struct once_rows *rows = once__pg_exec(
		pg, ONCE__PG_OURS, read_sql,
		ONCE_PARAMS(ONCE_TEXT(bytes_text(options->group)),
			    ONCE_TEXT(bytes_text(options->topic)),
			    once__pg_array_param(&targets->partitions),
			    once__pg_array_param(&targets->offsets)));

	if (rows == NULL)
		return once__pg_error(pg, err);
	for (size_t i = 0; told != NULL && i < once_rows_count(rows); i++)
		told(arg, (int32_t)once__rows_int64(rows, i, 0),
		     once__rows_int64(rows, i, 1),
		     once__rows_int64(rows, i, 2));
	return ONCE_OK;
}

static enum once_status move(struct once__pg *pg,
			     const struct once_seek_options *options,
			     struct targets *targets, struct once_error *err)
{
	const struct once_rows *rows;
	char count[24];

	once__positions_end_tenures(pg, options->group, options->topic,
				    &targets->partitions);
	rows = once__pg_exec(
		pg, ONCE__PG_OURS, move_sql,
		ONCE_PARAMS(ONCE_TEXT(bytes_text(options->group)),
			    ONCE_TEXT(bytes_text(options->topic)),
			    once__pg_array_param(&targets->partitions),
			    once__pg_array_param(&targets->offsets),
			    once__pg_array_param(&targets->another_logs)));
	if (rows == NULL)
		return once__pg_error(pg, err);
	rows = once__pg_exec(
		pg, ONCE__PG_OURS, audit_sql,
		ONCE_PARAMS(ONCE_TEXT(bytes_text(options->person)),
			    ONCE_TEXT(bytes_text(options->subject)),
			    once__pg_int8(count,
					  (int64_t)once_rows_affected(rows))));
	if (rows == NULL)
		return once__pg_error(pg, err);
	switch (once__pg_commit(pg)) {
	case ONCE__PG_COMMITTED:
		return ONCE_OK;
	case ONCE__PG_NOT_COMMITTED:
		return once__pg_error(pg, err);
	case ONCE__PG_UNKNOWN:
		break;
	}
	return error_set(err, ONCE_UNKNOWN,
			 "the server didn't say if it has committed; see: "
			 "onced status");
}

static enum once_status seek(struct once__pg *pg,
			     const struct once_seek_options *options,
			     once_seek_f *told, void *arg,
			     struct once_error *err)
{
	struct targets targets = { 0 };
	enum once_status status;

	fill_targets(&targets, options);
	once__pg_begin(pg);
	status = check_stopped(pg, options->group, err);
	if (status == ONCE_OK)
		status = tell(pg, options, &targets, told, arg, err);
	if (status == ONCE_OK && !options->dry_run)
		status = move(pg, options, &targets, err);
	once__pg_rollback(pg);
	once__pg_array_fini(&targets.partitions);
	once__pg_array_fini(&targets.offsets);
	once__pg_array_fini(&targets.another_logs);
	return status;
}

static enum once_status open_session(const char *conninfo,
				     struct once__pg **ret_pg,
				     struct once_error *err)
{
	struct once__pg_options session = { .conninfo = conninfo,
					    .application_name = "onced seek",
					    .limits = ONCE__PG_USUAL_LIMITS };
	enum once_status status = once__pg_open(&session, ret_pg, err);

	return status == ONCE_OK ? once__schema_check(*ret_pg, err) : status;
}

enum once_status once_read_positions(const char *conninfo, const char *group,
				     const char *topic, once_position_f *told,
				     void *arg, struct once_error *err)
{
	struct once__pg *pg = NULL;
	enum once_status status = open_session(conninfo, &pg, err);

	if (status == ONCE_OK) {
		once__pg_begin(pg);
		if (!once__positions_list(pg, group, topic, told, arg))
			status = once__pg_error(pg, err);
		once__pg_rollback(pg);
	}
	once__pg_close(pg);
	return status;
}

enum once_status once_seek(const struct once_seek_options *options,
			   once_seek_f *told, void *arg, struct once_error *err)
{
	struct once__pg *pg = NULL;
	enum once_status status = open_session(options->conninfo, &pg, err);

	if (status == ONCE_OK)
		status = seek(pg, options, told, arg, err);
	once__pg_close(pg);
	return status;
}
