/*
 * A move is an UPDATE that names the offset it starts from, and the tenure. Who
 * comes with a stale one moves nothing, and its transaction is rolled back.
 *
 * The idea to hold: a position that goes on in a tenure proves the marks of
 * that tenure. So only its own reader may move it there; whoever has none takes
 * the tenure off the row, and nothing more is proved by it. A move counts
 * itself in `steps`: where a position changes without that, somebody has set it
 * by hand, and a trigger ends the tenure where it stood.
 */
#include "position.h"

#include "bytes.h"
#include "hash.h"

#include <stdio.h>
#include <string.h>

static const char move_sql[] =
	"UPDATE once.position AS p SET next_offset = m.next_offset, "
	"steps = p.steps + 1, attempts = m.attempts, "
	"tenure = CASE WHEN m.tenure <> 0 THEN p.tenure END, "
	"anchor_offset = coalesce(m.anchor_offset, p.anchor_offset), "
	"anchor_time_ms = coalesce(m.anchor_time_ms, p.anchor_time_ms), "
	"anchor_hash = coalesce(m.anchor_hash, p.anchor_hash), "
	"updated_at = pg_catalog.now() "
	"FROM unnest($1::text[], $2::text[], $3::int4[], "
	"$4::int8[], "
	"$5::int8[], $6::int4[], $7::int8[], $8::int8[], $9::bytea[], "
	"$10::int8[]) AS m "
	"(group_name, topic, partition, from_offset, next_offset, attempts, "
	"anchor_offset, anchor_time_ms, anchor_hash, tenure) "
	"WHERE p.group_name = m.group_name AND p.topic = m.topic "
	"AND p.partition = m.partition AND p.next_offset = m.from_offset "
	"AND (m.tenure = 0 OR p.tenure = m.tenure)";

#define READ_SQL \
	"SELECT p.next_offset, p.attempts, EXISTS (SELECT FROM once.position " \
	"WHERE group_name = $1::text AND topic = $2::text)::int, " \
	"coalesce(once.has_crashed(p.holder), false)::int, " \
	"p.anchor_offset, p.anchor_time_ms, " \
	"pg_catalog.encode(p.anchor_hash, 'hex'), " \
	"p.log_generation, once.is_disowned(p.anchor_hash)::int, " \
	"p.log_id, p.partition "

static const char read_sql[] =
	READ_SQL "FROM (SELECT) AS one LEFT JOIN once.position AS p "
		 "ON p.group_name = $1::text AND p.topic = $2::text "
		 "AND p.partition = $3::int4";

static const char list_sql[] =
	READ_SQL "FROM once.position AS p WHERE p.group_name = $1::text "
		 "AND p.topic = $2::text ORDER BY p.partition";

static const char take_sql[] =
	"SELECT once.begin_tenure($1::text, $2::text, $3::int4, $4::uuid)";

static const char disown_sql[] =
	"UPDATE once.position SET anchor_offset = next_offset - 1, "
	"anchor_time_ms = 0, anchor_hash = "
	"pg_catalog.decode(pg_catalog.repeat('00', 16), 'hex') "
	"WHERE group_name = $1::text AND topic = $2::text "
	"AND partition = $3::int4 AND next_offset = $4::int8";

static const char name_log_sql[] =
	"UPDATE once.position SET log_id = $4::text "
	"WHERE group_name = $1::text AND topic = $2::text "
	"AND partition = $3::int4 AND log_id IS NULL";

static const char end_tenures_sql[] =
	"SELECT once.end_tenures($1::text, $2::text, $3::int4[])";

static const char create_sql[] =
	"INSERT INTO once.position (group_name, topic, partition, next_offset) "
	"SELECT $1::text, $2::text, p.* FROM unnest($3::int4[], "
	"$4::int8[]) "
	"AS p ON CONFLICT DO NOTHING";

void once_anchor_of(const struct once_record *record,
		    struct once_anchor *ret_anchor)
{
	ret_anchor->offset = record->offset;
	ret_anchor->time_ms = record->time_ms;
	once__hash128(record->key, record->value, ret_anchor->hash);
}

int once_anchors_equal(const struct once_anchor *a, const struct once_anchor *b)
{
	return a->offset == b->offset && a->time_ms == b->time_ms &&
	       memcmp(a->hash, b->hash, sizeof(a->hash)) == 0;
}

static void init_arrays(struct once__positions *positions)
{
	once__pg_array_init(&positions->groups, ONCE__PG_TEXT);
	once__pg_array_init(&positions->topics, ONCE__PG_TEXT);
	once__pg_array_init(&positions->partitions, ONCE__PG_INT4);
	once__pg_array_init(&positions->from, ONCE__PG_INT8);
	once__pg_array_init(&positions->to, ONCE__PG_INT8);
	once__pg_array_init(&positions->attempts, ONCE__PG_INT4);
	once__pg_array_init(&positions->anchor_offsets, ONCE__PG_INT8);
	once__pg_array_init(&positions->anchor_times, ONCE__PG_INT8);
	once__pg_array_init(&positions->anchor_hashes, ONCE__PG_BYTEA);
	once__pg_array_init(&positions->tenures, ONCE__PG_INT8);
}

static void add_anchor(struct once__positions *positions,
		       const struct once_record *last)
{
	static const struct once_bytes none;
	struct once_anchor anchor;

	if (last == NULL) {
		once__pg_array_add(&positions->anchor_offsets, none);
		once__pg_array_add(&positions->anchor_times, none);
		once__pg_array_add(&positions->anchor_hashes, none);
		return;
	}
	once_anchor_of(last, &anchor);
	once__pg_array_add_int8(&positions->anchor_offsets, anchor.offset);
	once__pg_array_add_int8(&positions->anchor_times, anchor.time_ms);
	once__pg_array_add(&positions->anchor_hashes,
			   bytes_of(anchor.hash, sizeof(anchor.hash)));
}

static void add_move(struct once__positions *positions,
		     const struct once__move *move)
{
	const struct once_strand *strand = move->strand;

	once__pg_array_add(&positions->groups, bytes_text(strand->group));
	once__pg_array_add(&positions->topics, bytes_text(strand->topic));
	once__pg_array_add_int4(&positions->partitions, strand->partition);
	once__pg_array_add_int8(&positions->from, strand->next_offset);
	once__pg_array_add_int8(&positions->to, move->next_offset);
	once__pg_array_add_int4(&positions->attempts, (int32_t)move->attempts);
	once__pg_array_add_int8(&positions->tenures, strand->tenure);
	add_anchor(positions, move->last);
}

bool once__move_is_useful(const struct once__move *move)
{
	return move->next_offset != move->strand->next_offset ||
	       move->attempts != move->strand->attempts;
}

bool once__positions_move(struct once__positions *positions,
			  struct once__pg *pg, const struct once__move *moves,
			  size_t count, bool *ret_fenced)
{
	const struct once_rows *rows;

	*ret_fenced = false;
	init_arrays(positions);
	for (size_t i = 0; i < count; i++)
		if (once__move_is_useful(&moves[i]))
			add_move(positions, &moves[i]);
	if (positions->to.count == 0)
		return true;
	rows = once__pg_exec(
		pg, ONCE__PG_OURS, move_sql,
		ONCE_PARAMS(once__pg_array_param(&positions->groups),
			    once__pg_array_param(&positions->topics),
			    once__pg_array_param(&positions->partitions),
			    once__pg_array_param(&positions->from),
			    once__pg_array_param(&positions->to),
			    once__pg_array_param(&positions->attempts),
			    once__pg_array_param(&positions->anchor_offsets),
			    once__pg_array_param(&positions->anchor_times),
			    once__pg_array_param(&positions->anchor_hashes),
			    once__pg_array_param(&positions->tenures)));
	if (rows == NULL)
		return false;
	*ret_fenced = once_rows_affected(rows) != (size_t)positions->to.count;
	return true;
}

/* The columns of READ_SQL. */
enum {
	READ_NEXT,
	READ_ATTEMPTS,
	READ_TOPIC_KNOWN,
	READ_CRASHED,
	READ_ANCHOR_OFFSET,
	READ_ANCHOR_TIME,
	READ_ANCHOR_HASH,
	READ_LOG_GENERATION,
	READ_DISOWNED,
	READ_LOG_ID,
	READ_PARTITION
};

static int64_t int64_or_none(const struct once_rows *rows, size_t row,
			     size_t column)
{
	return once_rows_get(rows, row, column).data == NULL
		       ? -1
		       : once__rows_int64(rows, row, column);
}

static void take_anchor(const struct once_rows *rows, size_t row,
			struct once_anchor *anchor)
{
	struct once_bytes hash = once_rows_get(rows, row, READ_ANCHOR_HASH);

	memset(anchor, 0, sizeof(*anchor));
	anchor->offset = -1;
	if (!bytes_parse_hex(hash, anchor->hash, sizeof(anchor->hash)))
		return;
	anchor->offset = int64_or_none(rows, row, READ_ANCHOR_OFFSET);
	anchor->time_ms = once__rows_int64(rows, row, READ_ANCHOR_TIME);
}

static void take_position(const struct once_rows *rows, size_t row,
			  struct once_position *position)
{
	struct once_bytes log_id = once_rows_get(rows, row, READ_LOG_ID);

	position->next_offset = int64_or_none(rows, row, READ_NEXT);
	position->tenure = 0;
	position->attempts =
		(unsigned)once__rows_int64(rows, row, READ_ATTEMPTS);
	position->topic_known =
		once__rows_int64(rows, row, READ_TOPIC_KNOWN) != 0;
	position->crashed = once__rows_int64(rows, row, READ_CRASHED) != 0;
	take_anchor(rows, row, &position->anchor);
	position->log_generation =
		(int32_t)once__rows_int64(rows, row, READ_LOG_GENERATION);
	position->disowned = once__rows_int64(rows, row, READ_DISOWNED) != 0;
	snprintf(position->log_id, sizeof(position->log_id), "%.*s",
		 (int)log_id.size,
		 log_id.data == NULL ? "" : (const char *)log_id.data);
}

bool once__positions_read(struct once__pg *pg,
			  const struct once__partition *partition,
			  struct once_position *ret_position)
{
	const struct once_rows *rows;
	char number[24];

	rows = once__pg_exec(
		pg, ONCE__PG_OURS, read_sql,
		ONCE_PARAMS(ONCE_TEXT(bytes_text(partition->group)),
			    ONCE_TEXT(bytes_text(partition->topic)),
			    once__pg_int8(number, partition->number)));
	if (rows == NULL)
		return false;
	take_position(rows, 0, ret_position);
	return true;
}

bool once__positions_list(struct once__pg *pg, const char *group,
			  const char *topic, once_position_f *told, void *arg)
{
	const struct once_rows *rows =
		once__pg_exec(pg, ONCE__PG_OURS, list_sql,
			      ONCE_PARAMS(ONCE_TEXT(bytes_text(group)),
					  ONCE_TEXT(bytes_text(topic))));

	for (size_t row = 0; rows != NULL && row < once_rows_count(rows);
	     row++) {
		struct once_position position;

		take_position(rows, row, &position);
		told(arg, (int32_t)once__rows_int64(rows, row, READ_PARTITION),
		     &position);
	}
	return rows != NULL;
}

bool once__positions_take(struct once__pg *pg,
			  const struct once__partition *partition,
			  const char *instance_id, int64_t *ret_tenure)
{
	const struct once_rows *rows;
	char number[24];

	rows = once__pg_exec(
		pg, ONCE__PG_OURS, take_sql,
		ONCE_PARAMS(ONCE_TEXT(bytes_text(partition->group)),
			    ONCE_TEXT(bytes_text(partition->topic)),
			    once__pg_int8(number, partition->number),
			    ONCE_TEXT(bytes_text(instance_id))));
	if (rows == NULL)
		return false;
	*ret_tenure = once__rows_int64(rows, 0, 0);
	return true;
}

void once__positions_disown(struct once__pg *pg,
			    const struct once__partition *partition,
			    int64_t offset)
{
	char number[24];
	char next[24];

	once__pg_make_durable(pg);
	once__pg_send(pg, ONCE__PG_OURS, disown_sql,
		      ONCE_PARAMS(ONCE_TEXT(bytes_text(partition->group)),
				  ONCE_TEXT(bytes_text(partition->topic)),
				  once__pg_int8(number, partition->number),
				  once__pg_int8(next, offset)));
}

void once__positions_name_log(struct once__pg *pg,
			      const struct once__partition *partition,
			      const char *log_id)
{
	char number[24];

	once__pg_send(pg, ONCE__PG_OURS, name_log_sql,
		      ONCE_PARAMS(ONCE_TEXT(bytes_text(partition->group)),
				  ONCE_TEXT(bytes_text(partition->topic)),
				  once__pg_int8(number, partition->number),
				  ONCE_TEXT(bytes_text(log_id))));
}

void once__positions_end_tenures(struct once__pg *pg, const char *group,
				 const char *topic,
				 struct once__pg_array *partitions)
{
	once__pg_send(pg, ONCE__PG_OURS, end_tenures_sql,
		      ONCE_PARAMS(ONCE_TEXT(bytes_text(group)),
				  ONCE_TEXT(bytes_text(topic)),
				  once__pg_array_param(partitions)));
}

void once__positions_write(struct once__positions *positions,
			   struct once__pg *pg,
			   const struct once__starts *starts)
{
	init_arrays(positions);
	for (size_t i = 0; i < starts->count; i++) {
		if (starts->offsets[i] < 0)
			continue;
		once__pg_array_add_int4(&positions->partitions, (int32_t)i);
		once__pg_array_add_int8(&positions->to, starts->offsets[i]);
	}
	/* Without its row, a partition would start where Kafka's offset is,
	 * which is ahead of what a crash has left of the rest. */
	once__pg_make_durable(pg);
	once__pg_send(pg, ONCE__PG_OURS, create_sql,
		      ONCE_PARAMS(ONCE_TEXT(bytes_text(starts->group)),
				  ONCE_TEXT(bytes_text(starts->topic)),
				  once__pg_array_param(&positions->partitions),
				  once__pg_array_param(&positions->to)));
}

void once__positions_fini(struct once__positions *positions)
{
	once__pg_array_fini(&positions->groups);
	once__pg_array_fini(&positions->topics);
	once__pg_array_fini(&positions->partitions);
	once__pg_array_fini(&positions->from);
	once__pg_array_fini(&positions->to);
	once__pg_array_fini(&positions->attempts);
	once__pg_array_fini(&positions->anchor_offsets);
	once__pg_array_fini(&positions->anchor_times);
	once__pg_array_fini(&positions->anchor_hashes);
	once__pg_array_fini(&positions->tenures);
}
