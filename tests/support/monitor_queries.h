/*
 * monitor_queries.h - what the monitor asks the database, and the messages that
 * it asks about.
 */
#ifndef TEST_MONITOR_QUERIES_H
#define TEST_MONITOR_QUERIES_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- messages of a partition, as they were sent ---- */

struct sent {
	int64_t offset;
	char *msg_id; /* NULL: none */
	char *biz_id;
};

struct sent_list {
	struct sent *items;
	size_t count;
	size_t size;
};

/* Arrays in PostgreSQL's notation. */
struct sent_text {
	char *offsets;
	char *msg_ids;
	char *biz_ids;
};

void sent_list_add(struct sent_list *list, int64_t offset, const char *msg_id,
		   const char *biz_id);
/* Items from `first` on, up to the one whose offset isn't below `position`, but
 * some thousands at the most: the index behind the last. The text is the
 * caller's. */
size_t sent_list_write(const struct sent_list *list, struct sent_text *text,
		       size_t first, int64_t position);
void sent_list_fini(struct sent_list *list);
void sent_text_fini(struct sent_text *text);

/* ---- questions ---- */

enum monitor_answer {
	MONITOR_OK,
	MONITOR_DOWN,   /* no answer: ask again with a new session */
	MONITOR_REFUSED /* an error that isn't about the server's health */
};

struct monitor_session {
	PGconn *conn; /* NULL: none now */
	char conninfo[640];
	char error[512]; /* of the last DOWN or REFUSED */
};

struct unended {
	int64_t count;
	int64_t first; /* offset */
};

void monitor_session_init(struct monitor_session *session,
			  const char *conninfo);
void monitor_session_fini(struct monitor_session *session);

/* A snapshot that all questions up to the end are answered from. */
enum monitor_answer monitor_session_begin(struct monitor_session *session);
enum monitor_answer monitor_session_end(struct monitor_session *session);
/* Positions of partitions without a row are left as they are. */
enum monitor_answer monitor_session_read_positions(
	struct monitor_session *session, const char *group, const char *topic,
	int64_t *positions, int count);
/* Which of these messages have neither a claim nor a parked row? */
enum monitor_answer monitor_session_find_unended(
	struct monitor_session *session, const char *topic, int partition,
	const struct sent_text *text, struct unended *ret_unended);
/* What is in the tables that can't be: a sentence, or NULL. The caller's. */
enum monitor_answer monitor_session_find_wrong(struct monitor_session *session,
					       bool with_effects,
					       char **ret_wrong);

#endif
