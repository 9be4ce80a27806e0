/*
 * Where most of a batch was there before, to insert in vain and to ask for each
 * row is dear. One look tells the plain duplicates, with a letter for each
 * message; whatever isn't plain is claimed as ever, so the look decides nothing
 * that the unique keys would decide otherwise.
 */
#include "consume_log.h"

#include "bytes.h"

/* The row of the same operation counts, so its key is the one to look up. */
#define SIFT_SQL(key) \
	"SELECT pg_catalog.string_agg(coalesce((" \
	"SELECT CASE WHEN l.msg_id = k.msg_id THEN 'm' ELSE 'b' END " \
	"FROM once.consume_log AS l " \
	"WHERE l.consumer_id = $1::bigint AND l." key " = k." key " " \
	"AND l.fingerprint IS NOT DISTINCT FROM k.fingerprint " \
	"AND l.result IS NULL), '?'), '') " \
	"FROM (SELECT pg_catalog.unnest($2::text[]) AS msg_id, " \
	"pg_catalog.unnest($3::text[]) AS biz_id, " \
	"pg_catalog.unnest($4::bytea[]) AS fingerprint) AS k"

static const char sift_by_biz_id_sql[] = SIFT_SQL("biz_id");
static const char sift_by_msg_id_sql[] = SIFT_SQL("msg_id");

static bool has_biz_id(const struct once__work *work)
{
	return work->msg.keys.biz_id.data != NULL;
}

/* NULL: they have none in common. */
static const char *choose_sql(struct once__work *const *works, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (has_biz_id(works[i]) != has_biz_id(works[0]))
			return NULL;
	return has_biz_id(works[0]) ? sift_by_biz_id_sql : sift_by_msg_id_sql;
}

/* Those that repeat a work ask which message its row is of. */
static void take_letter(struct once__work *work, char letter)
{
	if (letter == '?' || (letter == 'b' && work->repeated))
		return;
	work->lost = true;
	work->stored = work->msg.keys;
	work->key_kind = ONCE_KEY_MSG_ID;
	if (letter == 'm')
		return;
	work->key_kind = ONCE_KEY_BIZ_ID;
	work->stored.msg_id = bytes_of(NULL, 0);
}

bool once__log_sift(struct once__log *log, struct once__pg *pg,
		    struct once__work *const *works, size_t count)
{
	const char *sql = choose_sql(works, count);
	const struct once_rows *rows;
	struct once_bytes letters;
	char consumer[24];

	if (sql == NULL) {
		log->careful += log->careful == 0;
		return true;
	}
	once__log_fill_keys(log, works, count);
	rows = once__pg_exec(
		pg, ONCE__PG_OURS, sql,
		ONCE_PARAMS(once__pg_int8(consumer, works[0]->consumer_id),
			    once__pg_array_param(&log->msg_ids),
			    once__pg_array_param(&log->biz_ids),
			    once__pg_array_param(&log->fingerprints)));
	if (rows == NULL)
		return false;
	letters = once_rows_get(rows, 0, 0);
	if (letters.size != count) {
		once__pg_fail(pg, ONCE__PG_OURS, "P0001",
			      "the log didn't answer for each message");
		return false;
	}
	for (size_t i = 0; i < count; i++)
		take_letter(works[i], ((const char *)letters.data)[i]);
	return true;
}
