/* A lock that the server takes away at the moment the process dies, and a row
 * that only a clean end removes: the two together tell a crash from a stop. */
#include "instance.h"

#include "bytes.h"
#include "pg_array.h"

#include <errno.h>
#include <signal.h>

/* For as long as an incident is looked into. */
static const char forget_sql[] =
	"DELETE FROM once.instance WHERE group_name = $1::text "
	"AND seen_at < now() - interval '7 days' AND NOT once.is_alive(id)";

static const char sign_on_sql[] =
	"INSERT INTO once.instance (id, group_name, host, pid, version) "
	"VALUES ($1::uuid, $2::text, $3::text, $4::int4, $5::text) "
	"ON CONFLICT (id) DO UPDATE SET seen_at = now()";

static const char lock_sql[] =
	"SELECT pg_advisory_lock_shared(once.instance_lock($1::uuid))";

static const char sign_off_sql[] =
	"DELETE FROM once.instance WHERE id = $1::uuid";

/* One order for all, and a time that another session's later one stands for.
 * Routes may share a scope. */
static const char join_sql[] =
	"INSERT INTO once.consumer_group (consumer_id, group_name, "
	"retention_ms) SELECT DISTINCT c.id, $2::text, "
	"nullif($3::int8, 0) FROM unnest($1::int8[]) AS c (id) "
	"ORDER BY 1 "
	"ON CONFLICT (consumer_id, group_name) DO UPDATE "
	"SET seen_at = greatest(consumer_group.seen_at, excluded.seen_at), "
	"retention_ms = coalesce(excluded.retention_ms, "
	"consumer_group.retention_ms)";

static const char no_sync_sql[] =
	"SELECT set_config('synchronous_commit', 'off', true)";

static const char brace_sql[] =
	"WITH mine AS (INSERT INTO once.in_hand (instance_id, lane, "
	"consumer_id, topic, partition, message_offset, log_generation) "
	"VALUES ($1::uuid, $2::int4, $3::int8, $4::text, $5::int4, $6::int8, "
	"$7::int4) "
	"ON CONFLICT (instance_id, lane) DO UPDATE SET "
	"consumer_id = excluded.consumer_id, topic = excluded.topic, "
	"partition = excluded.partition, "
	"message_offset = excluded.message_offset, "
	"log_generation = excluded.log_generation, since = now()) "
	"SELECT count(DISTINCT instance_id) FROM once.in_hand "
	"WHERE consumer_id = $3::int8 "
	"AND topic = $4::text AND partition = $5::int4 "
	"AND message_offset = $6::int8 AND log_generation = $7::int4 "
	"AND instance_id <> $1::uuid "
	"AND once.has_crashed(instance_id)";

static const char let_go_sql[] =
	"DELETE FROM once.in_hand WHERE instance_id = $1::uuid "
	"AND lane = $2::int4";

/* For a day, and for as long as nobody has taken up what it left. Of those that
 * still have sessions, the ones that ran on this host. */
static const char left_sql[] =
	"SELECT once.is_alive(i.id)::int, i.pid FROM once.instance AS i "
	"WHERE i.group_name = $1::text AND CASE WHEN once.is_alive(i.id) "
	"THEN i.host = $2::text "
	"ELSE i.seen_at > now() - interval '1 day' "
	"OR EXISTS (SELECT FROM once.position AS p "
	"WHERE p.group_name = $1::text AND p.holder = i.id) END";

static struct once_param id_of(const struct once_instance *instance)
{
	struct once_param id = ONCE_TEXT(bytes_text(instance->id));

	return id;
}

void once__instance_sign_on(struct once__pg *pg,
			    const struct once_instance *instance)
{
	char pid[24];

	once__pg_send(pg, ONCE__PG_OURS, lock_sql,
		      ONCE_PARAMS(id_of(instance)));
	once__pg_send(pg, ONCE__PG_OURS, forget_sql,
		      ONCE_PARAMS(ONCE_TEXT(bytes_text(instance->group))));
	once__pg_send(pg, ONCE__PG_OURS, sign_on_sql,
		      ONCE_PARAMS(id_of(instance),
				  ONCE_TEXT(bytes_text(instance->group)),
				  ONCE_TEXT(bytes_text(instance->host)),
				  once__pg_int8(pid, instance->pid),
				  ONCE_TEXT(bytes_text(once_version()))));
}

void once__instance_join(struct once__pg *pg,
			 const struct once_instance *instance,
			 const int64_t *consumer_ids, size_t count,
			 int64_t retention_ms)
{
	struct once__pg_array ids = { 0 };
	char retention[24];

	once__pg_array_init(&ids, ONCE__PG_INT8);
	for (size_t i = 0; i < count; i++)
		once__pg_array_add_int8(&ids, consumer_ids[i]);
	once__pg_send(pg, ONCE__PG_OURS, join_sql,
		      ONCE_PARAMS(once__pg_array_param(&ids),
				  ONCE_TEXT(bytes_text(instance->group)),
				  once__pg_int8(retention, retention_ms)));
	once__pg_array_fini(&ids);
}

void once__instance_sign_off(struct once__pg *pg,
			     const struct once_instance *instance)
{
	once__pg_send(pg, ONCE__PG_OURS, sign_off_sql,
		      ONCE_PARAMS(id_of(instance)));
}

bool once__instance_brace(struct once__pg *pg,
			  const struct once_instance *instance, unsigned lane,
			  const struct once__place *place,
			  unsigned *ret_crashes)
{
	const struct once_rows *rows;
	char numbers[5][24];

	once__pg_send(pg, ONCE__PG_OURS, no_sync_sql, ONCE_NO_PARAMS);
	rows = once__pg_exec(
		pg, ONCE__PG_OURS, brace_sql,
		ONCE_PARAMS(id_of(instance), once__pg_int8(numbers[0], lane),
			    once__pg_int8(numbers[1], place->consumer_id),
			    ONCE_TEXT(bytes_text(place->topic)),
			    once__pg_int8(numbers[2], place->partition),
			    once__pg_int8(numbers[3], place->offset),
			    once__pg_int8(numbers[4], place->log_generation)));
	if (rows == NULL)
		return false;
	*ret_crashes = (unsigned)once__rows_int64(rows, 0, 0);
	return true;
}

void once__instance_let_go(struct once__pg *pg,
			   const struct once_instance *instance, unsigned lane)
{
	char number[24];

	once__pg_send(
		pg, ONCE__PG_OURS, let_go_sql,
		ONCE_PARAMS(id_of(instance), once__pg_int8(number, lane)));
}

/* A session that was in a statement when its process died has its lock until
 * that is done: who is started again at once would take it for alive. In a
 * container both may have one number. */
static bool is_gone(const struct once_instance *instance, int64_t pid)
{
	return pid == instance->pid ||
	       (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

static bool has_left(const struct once_instance *instance,
		     const struct once_rows *rows)
{
	for (size_t row = 0; row < once_rows_count(rows); row++)
		if (once__rows_int64(rows, row, 0) == 0 ||
		    is_gone(instance, once__rows_int64(rows, row, 1)))
			return true;
	return false;
}

enum once_status once_group_has_crashed(const char *conninfo,
					const struct once_instance *instance,
					int *ret_crashed,
					struct once_error *err)
{
	struct once__pg_options options = { .conninfo = conninfo,
					    .application_name = "onced",
					    .limits = ONCE__PG_USUAL_LIMITS };
	struct once__pg *pg = NULL;
	enum once_status status = once__pg_open(&options, &pg, err);
	const struct once_rows *rows;

	if (status != ONCE_OK)
		return status;
	rows = once__pg_exec(
		pg, ONCE__PG_OURS, left_sql,
		ONCE_PARAMS(ONCE_TEXT(bytes_text(instance->group)),
			    ONCE_TEXT(bytes_text(instance->host))));
	if (rows != NULL)
		*ret_crashed = has_left(instance, rows);
	else
		status = once__pg_error(pg, err);
	once__pg_close(pg);
	return status;
}
