/*
 * One statement claims for a whole batch, and one more tells the losers apart;
 * neither leaves an error of a duplicate in PostgreSQL's log.
 *
 * There are two ways to claim. All or nothing is the fast one while there is no
 * duplicate among them; in vain it leaves dead rows behind. So after a
 * duplicate was met, the next batches are sifted first; and where that doesn't
 * help, the next claims skip what is there.
 */
#include "consume_log.h"

#include "bytes.h"

static const char claim_all_sql[] =
	"SELECT once.claim_all($1::bigint, $2::text[], $3::text[], "
	"$4::text[], $5::int4[], $6::int8[], $7::bytea[])";

/* The arrays are unnested in step: as a table of rows, they would be stored
 * first, which costs a tenth of the claim. */
static const char claim_sql[] =
	"INSERT INTO once.consume_log (consumer_id, msg_id, biz_id, topic, "
	"partition, message_offset, fingerprint) "
	"SELECT $1::bigint, pg_catalog.unnest($2::text[]), "
	"pg_catalog.unnest($3::text[]), "
	"pg_catalog.unnest($4::text[]), pg_catalog.unnest($5::int4[]), "
	"pg_catalog.unnest($6::int8[]), "
	"pg_catalog.unnest($7::bytea[]) ON CONFLICT DO NOTHING RETURNING "
	"msg_id";

/* Rows that share a key with ours, the one of the same operation first. */
static const char find_sql[] =
	"SELECT k.n::text, (l.msg_id = k.msg_id)::int::text, "
	"coalesce(l.biz_id = k.biz_id, false)::int::text AS same_biz_id, "
	"l.msg_id, l.biz_id, l.fingerprint, l.result, "
	"pg_catalog.ceil(extract(epoch FROM pg_catalog.now() - l.consumed_at) "
	"* 1000::numeric)::int8::text "
	"FROM unnest($2::text[], $3::text[]) WITH ORDINALITY "
	"AS k (msg_id, biz_id, n) CROSS JOIN LATERAL ("
	"SELECT * FROM once.consume_log AS m "
	"WHERE m.consumer_id = $1::bigint AND m.msg_id = k.msg_id "
	"UNION ALL "
	"SELECT * FROM once.consume_log AS b "
	"WHERE b.consumer_id = $1::bigint AND b.biz_id = k.biz_id "
	"AND b.msg_id <> k.msg_id) AS l ORDER BY k.n, same_biz_id DESC";

static const char set_results_sql[] =
	"UPDATE once.consume_log AS l SET result = r.result "
	"FROM unnest($2::text[], $3::bytea[]) AS r (msg_id, result) "
	"WHERE l.consumer_id = $1::bigint AND l.msg_id = r.msg_id";

static const char unclaim_sql[] = "SELECT once.unclaim($1::int8, $2::text[])";

static const char holds_sql[] =
	"SELECT 1 FROM once.consume_log WHERE consumer_id = $1::bigint "
	"AND msg_id = $2::text AND topic = $3::text "
	"AND partition = $4::int4 AND message_offset = $5::int8";

/* In vain costs as much as sifting four batches, and the dead rows. */
enum {
	SIFTED_BATCHES = 8,
	CAREFUL_CLAIMS = 32
};

/* ---- claim ---- */

void once__log_fill_keys(struct once__log *log, struct once__work *const *works,
			 size_t count)
{
	once__pg_array_init(&log->msg_ids, ONCE__PG_TEXT);
	once__pg_array_init(&log->biz_ids, ONCE__PG_TEXT);
	once__pg_array_init(&log->fingerprints, ONCE__PG_BYTEA);
	for (size_t i = 0; i < count; i++) {
		const struct once__keys *keys = &works[i]->msg.keys;

		once__pg_array_add(&log->msg_ids, keys->msg_id);
		once__pg_array_add(&log->biz_ids, keys->biz_id);
		once__pg_array_add(&log->fingerprints, keys->fingerprint);
	}
}

static void fill_places(struct once__log *log, struct once__work *const *works,
			size_t count)
{
	once__pg_array_init(&log->topics, ONCE__PG_TEXT);
	once__pg_array_init(&log->partitions, ONCE__PG_INT4);
	once__pg_array_init(&log->offsets, ONCE__PG_INT8);
	for (size_t i = 0; i < count; i++) {
		const struct once_record *record = works[i]->msg.record;

		once__pg_array_add(&log->topics, bytes_text(record->topic));
		once__pg_array_add_int4(&log->partitions, record->partition);
		once__pg_array_add_int8(&log->offsets, record->offset);
	}
}

/* Rows come back in the order in which they were inserted. */
static bool mark_claimed(struct once__work *const *works, size_t count,
			 const struct once_rows *rows)
{
	size_t claimed = once_rows_count(rows);
	size_t row = 0;

	for (size_t i = 0; i < count && row < claimed; i++) {
		works[i]->claimed = bytes_equal(works[i]->msg.keys.msg_id,
						once_rows_get(rows, row, 0));
		row += works[i]->claimed;
	}
	return row == claimed;
}

static const struct once_rows *send_rows(struct once__log *log,
					 struct once__pg *pg, const char *sql,
					 int64_t consumer_id)
{
	char consumer[24];

	return once__pg_exec(
		pg, ONCE__PG_OURS, sql,
		ONCE_PARAMS(once__pg_int8(consumer, consumer_id),
			    once__pg_array_param(&log->msg_ids),
			    once__pg_array_param(&log->biz_ids),
			    once__pg_array_param(&log->topics),
			    once__pg_array_param(&log->partitions),
			    once__pg_array_param(&log->offsets),
			    once__pg_array_param(&log->fingerprints)));
}

static bool is_true(struct once_bytes boolean)
{
	return boolean.size == 1 && *(const char *)boolean.data == 't';
}

/* false: nothing is claimed by it. */
static bool claim_all(struct once__log *log, struct once__pg *pg,
		      struct once__work *const *works, size_t count)
{
	const struct once_rows *rows =
		send_rows(log, pg, claim_all_sql, works[0]->consumer_id);

	if (rows == NULL || !is_true(once_rows_get(rows, 0, 0)))
		return false;
	for (size_t i = 0; i < count; i++)
		works[i]->claimed = true;
	return true;
}

static bool claim_new(struct once__log *log, struct once__pg *pg,
		      struct once__work *const *works, size_t count)
{
	const struct once_rows *rows =
		send_rows(log, pg, claim_sql, works[0]->consumer_id);

	if (rows == NULL)
		return false;
	if (!mark_claimed(works, count, rows))
		once__pg_fail(pg, ONCE__PG_OURS, "P0001",
			      "the claim returned rows out of order");
	return once__pg_failure(pg) == NULL;
}

bool once__log_claim(struct once__log *log, struct once__pg *pg,
		     struct once__work *const *works, size_t count)
{
	once__log_fill_keys(log, works, count);
	fill_places(log, works, count);
	if (log->careful == 0 && claim_all(log, pg, works, count))
		return true;
	return once__pg_failure(pg) == NULL && claim_new(log, pg, works, count);
}

void once__log_unclaim(struct once__log *log, struct once__pg *pg,
		       struct once__work *const *works, size_t count)
{
	char consumer[24];

	once__log_fill_keys(log, works, count);
	once__pg_send(
		pg, ONCE__PG_OURS, unclaim_sql,
		ONCE_PARAMS(once__pg_int8(consumer, works[0]->consumer_id),
			    once__pg_array_param(&log->msg_ids)));
}

static unsigned expect(bool met, unsigned batches, unsigned left)
{
	if (met)
		return batches;
	return left > 0 ? left - 1 : 0;
}

void once__log_expect(struct once__log *log, bool plain, bool odd)
{
	log->sifts = expect(plain, SIFTED_BATCHES, log->sifts);
	log->careful = expect(odd, CAREFUL_CLAIMS, log->careful);
}

/* ---- losers ---- */

enum find_column {
	FIND_N,
	FIND_SAME_MSG_ID,
	FIND_SAME_BIZ_ID,
	FIND_MSG_ID,
	FIND_BIZ_ID,
	FIND_FINGERPRINT,
	FIND_RESULT,
	FIND_AGE_MS
};

/* The row of the same operation counts, and for want of one that of the same
 * message. */
static void take_row(struct once__work *work, const struct once_rows *rows,
		     size_t row)
{
	if (work->lost)
		return;
	work->key_kind = once__rows_int64(rows, row, FIND_SAME_MSG_ID) != 0
				 ? ONCE_KEY_MSG_ID
				 : ONCE_KEY_BIZ_ID;
	work->stored.msg_id = once_rows_get(rows, row, FIND_MSG_ID);
	work->stored.biz_id = once_rows_get(rows, row, FIND_BIZ_ID);
	work->stored.fingerprint = once_rows_get(rows, row, FIND_FINGERPRINT);
	work->stored_result = once_rows_get(rows, row, FIND_RESULT);
	work->stored_age_ms = once__rows_int64(rows, row, FIND_AGE_MS);
	work->lost = true;
}

bool once__log_find(struct once__log *log, struct once__pg *pg,
		    struct once__work *const *works, size_t count)
{
	const struct once_rows *rows;
	char consumer[24];

	once__log_fill_keys(log, works, count);
	rows = once__pg_exec_binary(
		pg, ONCE__PG_OURS, find_sql,
		ONCE_PARAMS(once__pg_int8(consumer, works[0]->consumer_id),
			    once__pg_array_param(&log->msg_ids),
			    once__pg_array_param(&log->biz_ids)));
	if (rows == NULL)
		return false;
	for (size_t row = 0; row < once_rows_count(rows); row++) {
		int64_t n = once__rows_int64(rows, row, FIND_N);

		take_row(works[n - 1], rows, row);
	}
	return true;
}

/* ---- results ---- */

void once__log_set_results(struct once__log *log, struct once__pg *pg,
			   struct once__work *const *works, size_t count)
{
	char consumer[24];

	once__pg_array_init(&log->msg_ids, ONCE__PG_TEXT);
	once__pg_array_init(&log->fingerprints, ONCE__PG_BYTEA);
	for (size_t i = 0; i < count; i++) {
		once__pg_array_add(&log->msg_ids, works[i]->msg.keys.msg_id);
		once__pg_array_add(&log->fingerprints, works[i]->result);
	}
	once__pg_send_exactly(
		pg, count, set_results_sql,
		ONCE_PARAMS(once__pg_int8(consumer, works[0]->consumer_id),
			    once__pg_array_param(&log->msg_ids),
			    once__pg_array_param(&log->fingerprints)));
}

bool once__log_holds(struct once__pg *pg, const struct once__work *work,
		     bool *ret_holds)
{
	const struct once_record *record = work->msg.record;
	const struct once_rows *rows;
	char consumer[24];
	char partition[24];
	char offset[24];

	rows = once__pg_exec(
		pg, ONCE__PG_OURS, holds_sql,
		ONCE_PARAMS(once__pg_int8(consumer, work->consumer_id),
			    ONCE_TEXT(work->msg.keys.msg_id),
			    ONCE_TEXT(bytes_text(record->topic)),
			    once__pg_int8(partition, record->partition),
			    once__pg_int8(offset, record->offset)));
	if (rows == NULL)
		return false;
	*ret_holds = once_rows_count(rows) > 0;
	return true;
}

void once__log_fini(struct once__log *log)
{
	once__pg_array_fini(&log->msg_ids);
	once__pg_array_fini(&log->biz_ids);
	once__pg_array_fini(&log->topics);
	once__pg_array_fini(&log->partitions);
	once__pg_array_fini(&log->offsets);
	once__pg_array_fini(&log->fingerprints);
}
