/*
 * monitor_queries.c - the monitor's SQL. It asks by keys only, and tells the
 * planner so: a table that nobody has analysed yet must not be read whole five
 * times a second.
 */
#include "monitor_queries.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	AT_ONCE = 2000 /* messages that are asked about */
};

/* ---- messages ---- */

static char *copy(const char *text)
{
	char *copied = text == NULL ? NULL : strdup(text);

	ck_assert(text == NULL || copied != NULL);
	return copied;
}

void sent_list_add(struct sent_list *list, int64_t offset, const char *msg_id,
		   const char *biz_id)
{
	if (list->count == list->size) {
		list->size = list->size * 2 + 64;
		list->items =
			realloc(list->items, list->size * sizeof(struct sent));
		ck_assert_ptr_nonnull(list->items);
	}
	list->items[list->count++] = (struct sent){
		offset,
		copy(msg_id),
		copy(biz_id),
	};
}

static void write_text(FILE *file, const char *text)
{
	if (text == NULL) {
		fputs("NULL", file);
		return;
	}
	fputc('"', file);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static size_t find_end(const struct sent_list *list, size_t first,
		       int64_t position)
{
	size_t end = first;

	while (end < list->count && end - first < AT_ONCE &&
	       list->items[end].offset < position)
		end++;
	return end;
}

size_t sent_list_write(const struct sent_list *list, struct sent_text *text,
		       size_t first, int64_t position)
{
	size_t end = find_end(list, first, position);
	size_t size;
	FILE *files[] = { open_memstream(&text->offsets, &size),
			  open_memstream(&text->msg_ids, &size),
			  open_memstream(&text->biz_ids, &size) };

	for (size_t i = 0; i < 3; i++) {
		ck_assert_ptr_nonnull(files[i]);
		fputc('{', files[i]);
	}
	for (size_t i = first; i < end; i++) {
		const struct sent *sent = &list->items[i];
		const char *comma = i == first ? "" : ",";

		fprintf(files[0], "%s%" PRId64, comma, sent->offset);
		fputs(comma, files[1]);
		write_text(files[1], sent->msg_id);
		fputs(comma, files[2]);
		write_text(files[2], sent->biz_id);
	}
	for (size_t i = 0; i < 3; i++) {
		fputc('}', files[i]);
		ck_assert_int_eq(fclose(files[i]), 0);
	}
	return end;
}

void sent_list_fini(struct sent_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].msg_id);
		free(list->items[i].biz_id);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

void sent_text_fini(struct sent_text *text)
{
	free(text->offsets);
	free(text->msg_ids);
	free(text->biz_ids);
	memset(text, 0, sizeof(*text));
}

/* ---- the session ---- */

void monitor_session_init(struct monitor_session *session, const char *conninfo)
{
	memset(session, 0, sizeof(*session));
	snprintf(
		session->conninfo, sizeof(session->conninfo),
		"%s connect_timeout=2 application_name=monitor "
		"options='-c statement_timeout=5s -c enable_seqscan=off "
		"-c enable_hashjoin=off -c enable_mergejoin=off -c enable_material=off'",
		conninfo);
}

void monitor_session_fini(struct monitor_session *session)
{
	PQfinish(session->conn);
	session->conn = NULL;
}

/* Classes 08, 53, 57 and 58 are the server's; 40 and 55 pass by themselves. */
static bool is_health(const char *state)
{
	static const char *const classes[] = { "08", "40", "53",
					       "55", "57", "58" };

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (state == NULL || strncmp(state, classes[i], 2) == 0)
			return true;
	return false;
}

/* The session is given up: a new one is in no transaction. */
static enum monitor_answer give_up(struct monitor_session *session,
				   const PGresult *res)
{
	const char *state =
		res == NULL ? NULL : PQresultErrorField(res, PG_DIAG_SQLSTATE);
	bool is_down = is_health(state);

	snprintf(session->error, sizeof(session->error), "%s",
		 PQerrorMessage(session->conn));
	monitor_session_fini(session);
	return is_down ? MONITOR_DOWN : MONITOR_REFUSED;
}

static enum monitor_answer ask(struct monitor_session *session, const char *sql,
			       const char *const *params, int count,
			       PGresult **ret_res)
{
	PGresult *res = PQexecParams(session->conn, sql, count, NULL, params,
				     NULL, NULL, 0);
	ExecStatusType status = PQresultStatus(res);
	enum monitor_answer answer = MONITOR_OK;

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		answer = give_up(session, res);
	if (answer == MONITOR_OK && ret_res != NULL)
		*ret_res = res;
	else
		PQclear(res);
	return answer;
}

enum monitor_answer monitor_session_begin(struct monitor_session *session)
{
	if (session->conn == NULL)
		session->conn = PQconnectdb(session->conninfo);
	if (PQstatus(session->conn) != CONNECTION_OK)
		return give_up(session, NULL);
	return ask(session, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
		   NULL, 0, NULL);
}

enum monitor_answer monitor_session_end(struct monitor_session *session)
{
	return ask(session, "COMMIT", NULL, 0, NULL);
}

/* ---- questions ---- */

static int64_t number(const PGresult *res, int row, int column)
{
	return strtoll(PQgetvalue(res, row, column), NULL, 10);
}

enum monitor_answer monitor_session_read_positions(
	struct monitor_session *session, const char *group, const char *topic,
	int64_t *positions, int count)
{
	static const char sql[] =
		"SELECT partition, next_offset FROM once.position "
		"WHERE group_name = $1 AND topic = $2";
	const char *params[] = { group, topic };
	PGresult *res;
	enum monitor_answer answer = ask(session, sql, params, 2, &res);

	if (answer != MONITOR_OK)
		return answer;
	for (int i = 0; i < PQntuples(res); i++)
		if (number(res, i, 0) < count)
			positions[number(res, i, 0)] = number(res, i, 1);
	PQclear(res);
	return MONITOR_OK;
}

enum monitor_answer monitor_session_find_unended(
	struct monitor_session *session, const char *topic, int partition,
	const struct sent_text *text, struct unended *ret_unended)
{
	static const char sql[] =
		"SELECT count(*), coalesce(min(sent.at), -1) "
		"FROM unnest($3::bigint[], $4::text[], $5::text[]) "
		"AS sent (at, msg_id, biz_id) WHERE NOT EXISTS ("
		"SELECT FROM once.consume_log AS l WHERE l.msg_id = sent.msg_id "
		"AND l.consumer_id = ANY (ARRAY(SELECT id FROM once.consumer))) "
		"AND NOT EXISTS ("
		"SELECT FROM once.consume_log AS l WHERE l.biz_id = sent.biz_id "
		"AND l.consumer_id = ANY (ARRAY(SELECT id FROM once.consumer))) "
		"AND NOT EXISTS ("
		"SELECT FROM once.parked AS p WHERE p.topic = $1 "
		"AND p.partition = $2::integer AND p.message_offset = sent.at "
		"AND p.consumer_id = ANY (ARRAY(SELECT id FROM once.consumer)))";
	char partition_text[16];
	const char *params[] = { topic, partition_text, text->offsets,
				 text->msg_ids, text->biz_ids };
	PGresult *res;
	enum monitor_answer answer;

	snprintf(partition_text, sizeof(partition_text), "%d", partition);
	answer = ask(session, sql, params, 5, &res);
	if (answer != MONITOR_OK)
		return answer;
	ret_unended->count = number(res, 0, 0);
	ret_unended->first = number(res, 0, 1);
	PQclear(res);
	return MONITOR_OK;
}

static const char twice_sql[] =
	"SELECT format('\"%s\" of partition %s at %s was handled, and is "
	"parked', l.msg_id, l.partition, l.message_offset) "
	"FROM once.parked AS p JOIN once.consume_log AS l "
	"USING (consumer_id, topic, partition, message_offset) LIMIT 1";

static const char effects_sql[] =
	"SELECT format('operation \"%s\", message \"%s\": %s claims, "
	"%s effects', biz_id, msg_id, claims, effects) FROM ("
	"SELECT biz_id, msg_id, partition, message_offset, "
	"sum(claim) AS claims, sum(effect) AS effects FROM ("
	"SELECT biz_id, msg_id, partition, message_offset, 1 AS claim, "
	"0 AS effect FROM once.consume_log UNION ALL "
	"SELECT biz_id, msg_id, partition, message_offset, 0, 1 FROM effect"
	") AS rows GROUP BY biz_id, msg_id, partition, message_offset"
	") AS counted WHERE claims <> 1 OR effects <> 1 LIMIT 1";

static enum monitor_answer find_text(struct monitor_session *session,
				     const char *sql, char **ret_text)
{
	PGresult *res;
	enum monitor_answer answer = ask(session, sql, NULL, 0, &res);

	if (answer != MONITOR_OK)
		return answer;
	if (PQntuples(res) > 0)
		*ret_text = copy(PQgetvalue(res, 0, 0));
	PQclear(res);
	return MONITOR_OK;
}

enum monitor_answer monitor_session_find_wrong(struct monitor_session *session,
					       bool with_effects,
					       char **ret_wrong)
{
	/* At the end, and once: now tables are read whole. */
	static const char *const settings[] = {
		"SET enable_seqscan = on",
		"SET enable_hashjoin = on",
		"SET statement_timeout = 0",
	};
	enum monitor_answer answer = MONITOR_OK;

	*ret_wrong = NULL;
	for (size_t i = 0; i < 3 && answer == MONITOR_OK; i++)
		answer = ask(session, settings[i], NULL, 0, NULL);
	if (answer == MONITOR_OK)
		answer = find_text(session, twice_sql, ret_wrong);
	if (answer == MONITOR_OK && *ret_wrong == NULL && with_effects)
		answer = find_text(session, effects_sql, ret_wrong);
	return answer;
}
