/* Redrive and discard. Each page is one transaction with its row in once.audit:
 * rows are taken with SKIP LOCKED, so nobody is waited for and nobody waits
 * long. */
#include "bytes.h"
#include "error.h"
#include "parked_scan.h"
#include "pg.h"
#include "schema.h"

enum {
	PAGE_ROWS = 1000
};

/* clang-format off */
#define SAME(a, b)                                                         \
	"(" #a ".consumer_id, " #a ".topic, " #a ".partition, "            \
	#a ".message_offset, " #a ".message_time_ms, "                     \
	#a ".log_generation) = "                                           \
	"(" #b ".consumer_id, " #b ".topic, " #b ".partition, "            \
	#b ".message_offset, " #b ".message_time_ms, " #b ".log_generation)"

/* The page, and what of it nobody else has in hand. */
#define TAKE                                                               \
	"WITH page AS MATERIALIZED (SELECT " ONCE__PARKED_PLACE            \
	ONCE__PARKED_PAGE "), "                                            \
	"taken AS MATERIALIZED (SELECT " ONCE__PARKED_PLACE " "            \
	"FROM once.parked AS p JOIN page AS g ON " SAME(p, g) " "          \
	"WHERE $3::text IS NULL OR p.state = $3::text "                    \
	"FOR UPDATE OF p SKIP LOCKED), "

#define TOLD                                                               \
	" SELECT (SELECT pg_catalog.count(*) FROM page), " \
	""                            \
	"(SELECT pg_catalog.count(*) FROM changed), last.* FROM " \
	"("                    \
	"SELECT * FROM page ORDER BY consumer_id DESC, topic DESC, "       \
	"partition DESC, message_offset DESC, message_time_ms DESC, "      \
	"log_generation DESC LIMIT 1) AS last"
/* clang-format on */

/* $20, $21: whose they are from now on; null: as before. Rows of once.in_hand
 * count as crashes. One that is locked belongs to a lane at work, which will
 * end it. */
static const char redrive_sql[] = TAKE
	"changed AS (UPDATE once.parked AS p SET state = 'waiting', "
	"retry_at = pg_catalog.now(), attempts = 0, crashes = 0, "
	"group_name = coalesce($20::text, p.group_name), "
	"route = coalesce($21::text, p.route) "
	"FROM taken AS t WHERE " SAME(
		p,
		t) " RETURNING 1), "
		   "free AS MATERIALIZED (SELECT h.instance_id, h.lane "
		   "FROM once.in_hand AS h JOIN taken AS t "
		   "ON (h.consumer_id, h.topic, h.partition, h.message_offset, "
		   "h.log_generation) = (t.consumer_id, t.topic, t.partition, "
		   "t.message_offset, t.log_generation) "
		   "FOR UPDATE OF h SKIP LOCKED), "
		   "forgotten AS (DELETE FROM once.in_hand AS h USING free AS f "
		   "WHERE (h.instance_id, h.lane) = (f.instance_id, f.lane))" TOLD;

/* What is gone is named, message by message. $20: who. $21: how much of a Kafka
 * key is kept. */
static const char discard_sql[] = TAKE
	"changed AS (DELETE FROM once.parked AS p USING taken AS t "
	"WHERE " SAME(
		p,
		t) " RETURNING " ONCE__PARKED_PLACE ", "
		   "p.state, p.cause, p.msg_id, p.biz_id, p.key), "
		   "noted AS (INSERT INTO once.audit "
		   "(person, command, subject, rows_changed) "
		   "SELECT $20::text, 'parked discard message', pg_catalog.json_build_object("
		   "'scope', c.scope, 'topic', d.topic, 'partition', d.partition, "
		   "'offset', d.message_offset, 'time_ms', d.message_time_ms, "
		   "'state', d.state, 'cause', d.cause, "
		   "'msg_id', d.msg_id, 'biz_id', d.biz_id, "
		   "'key_hex', pg_catalog.encode(pg_catalog.substr(d.key, 1, $21::int4), 'hex'))::text, 1 "
		   "FROM changed AS d JOIN once.consumer AS c ON c.id = d.consumer_id)" TOLD;

static const char count_sql[] =
	"SELECT pg_catalog.count(*) FROM (SELECT 1" ONCE__PARKED_PAGE ") AS "
	"found";

static const char audit_sql[] =
	"INSERT INTO once.audit (person, command, subject, rows_changed) "
	"VALUES ($1::text, $2::text, $3::text, $4::int8)";

struct deed {
	const char *command; /* for the audit */
	const char *sql;
};

static const struct deed redrive = { "parked redrive", redrive_sql };
static const struct deed discard = { "parked discard", discard_sql };

struct doing {
	const struct deed *deed;
	const struct once_parked_order *order;
	struct once_parked_result *result;
	struct once__parked_scan scan;
	struct text subject;
	struct once__pg *pg;
};

/* ---- a page ---- */

static void audit(struct doing *doing, int64_t changed)
{
	char number[24];

	once__pg_send_exactly(
		doing->pg, 1, audit_sql,
		ONCE_PARAMS(ONCE_TEXT(bytes_text(doing->order->person)),
			    ONCE_TEXT(bytes_text(doing->deed->command)),
			    ONCE_TEXT(bytes_of(doing->subject.data,
					       doing->subject.size)),
			    once__pg_int8(number, changed)));
}

static enum once_status commit(struct doing *doing, struct once_error *err)
{
	switch (once__pg_commit(doing->pg)) {
	case ONCE__PG_COMMITTED:
		return ONCE_OK;
	case ONCE__PG_UNKNOWN:
		return error_set(err, ONCE_UNKNOWN,
				 "the session was lost at a COMMIT: its "
				 "messages may be done or not; once.audit "
				 "says which, and to do it again is safe");
	case ONCE__PG_NOT_COMMITTED:
		break;
	}
	return once__pg_error(doing->pg, err);
}

/* What a page has come to. */
struct page {
	int64_t found;
	int64_t changed;
};

static enum once_status take_page(struct doing *doing, struct page *page,
				  struct once_error *err)
{
	const struct once_rows *rows =
		once__pg_exec(doing->pg, ONCE__PG_OURS, doing->deed->sql,
			      doing->scan.params, ONCE__PARKED_PARAMS_MOST);

	if (rows == NULL)
		return once__pg_error(doing->pg, err);
	if (once_rows_count(rows) == 0)
		return ONCE_OK;
	page->found = once__rows_int64(rows, 0, 0);
	page->changed = once__rows_int64(rows, 0, 1);
	if (!once__parked_scan_move(&doing->scan, rows, 0, 2))
		return error_no_memory(err);
	if (page->changed > 0)
		audit(doing, page->changed);
	return ONCE_OK;
}

static void count_page(struct doing *doing, const struct page *page)
{
	doing->result->changed += page->changed;
	doing->result->skipped += page->found - page->changed;
	if (doing->scan.left > 0)
		doing->scan.left -= page->changed;
}

static struct once_param text_of(const char *text)
{
	struct once_param param = ONCE_TEXT(bytes_text(text));

	return param;
}

/* `ret_more`: there may be another page. */
static enum once_status do_page(struct doing *doing, bool *ret_more,
				struct once_error *err)
{
	int64_t wanted = once__parked_scan_prepare(&doing->scan, PAGE_ROWS);
	struct once_param *own = &doing->scan.params[ONCE__PARKED_PARAMS];
	struct page page = { 0 };
	enum once_status status;
	char most_key_bytes[24];

	if (doing->deed == &redrive) {
		own[0] = text_of(doing->order->to_group);
		own[1] = text_of(doing->order->to_route);
	} else {
		own[0] = text_of(doing->order->person);
		own[1] = once__pg_int8(most_key_bytes, 256);
	}
	once__pg_begin(doing->pg);
	status = take_page(doing, &page, err);
	if (status == ONCE_OK)
		status = commit(doing, err);
	if (status == ONCE_OK)
		count_page(doing, &page);
	once__pg_rollback(doing->pg);
	*ret_more = page.found == wanted && doing->scan.left != 0;
	return status;
}

static enum once_status do_pages(struct doing *doing, struct once_error *err)
{
	enum once_status status;
	bool more;

	do
		status = do_page(doing, &more, err);
	while (status == ONCE_OK && more);
	return status;
}

/* ---- all of it ---- */

static enum once_status only_count(struct doing *doing, struct once_error *err)
{
	const struct once_rows *rows;

	once__parked_scan_prepare(&doing->scan, -1);
	once__pg_begin(doing->pg);
	rows = once__pg_exec(doing->pg, ONCE__PG_OURS, count_sql,
			     doing->scan.params, ONCE__PARKED_PARAMS);
	if (rows == NULL)
		return once__pg_error(doing->pg, err);
	doing->result->changed = once__rows_int64(rows, 0, 0);
	once__pg_rollback(doing->pg);
	return ONCE_OK;
}

static enum once_status do_all(struct doing *doing, const char *conninfo,
			       struct once_error *err)
{
	struct once__pg_options options = { .conninfo = conninfo,
					    .application_name = "onced parked",
					    .limits = ONCE__PG_COMMAND_LIMITS };
	enum once_status status = once__pg_open(&options, &doing->pg, err);

	if (status == ONCE_OK)
		status = once__schema_check_version(doing->pg, err);
	if (status == ONCE_OK && doing->order->dry_run)
		status = only_count(doing, err);
	else if (status == ONCE_OK)
		status = do_pages(doing, err);
	once__pg_close(doing->pg);
	return status;
}

static enum once_status check(const struct doing *doing, struct once_error *err)
{
	const char *person = doing->order->person;

	if (doing->deed == &redrive && doing->scan.state != ONCE_PARKED_DEAD &&
	    doing->order->to_route == NULL)
		return error_set(err, ONCE_INVALID,
				 "only dead messages are redriven: waiting "
				 "ones are due by themselves");
	if (!doing->order->dry_run && (person == NULL || person[0] == '\0'))
		return error_set(err, ONCE_INVALID,
				 "who does it? once.audit asks for a person");
	if (doing->subject.broken)
		return error_no_memory(err);
	return ONCE_OK;
}

static enum once_status do_deed(const struct deed *deed, const char *conninfo,
				const struct once_parked_order *order,
				struct once_parked_result *ret_result,
				struct once_error *err)
{
	struct doing doing = { .deed = deed,
			       .order = order,
			       .result = ret_result };
	enum once_status status =
		once__parked_scan_init(&doing.scan, &order->filter, err);

	*ret_result = (struct once_parked_result){ 0 };
	if (deed == &redrive && doing.scan.state == ONCE_PARKED_ANY &&
	    order->to_route == NULL)
		doing.scan.state = ONCE_PARKED_DEAD;
	once__parked_scan_tell(&doing.scan, &doing.subject);
	if (order->to_route != NULL)
		text_addf(&doing.subject, " to=%s/%s", order->to_group,
			  order->to_route);
	if (status == ONCE_OK)
		status = check(&doing, err);
	if (status == ONCE_OK)
		status = do_all(&doing, conninfo, err);
	text_fini(&doing.subject);
	once__parked_scan_fini(&doing.scan);
	return status;
}

enum once_status once_parked_redrive(const char *conninfo,
				     const struct once_parked_order *order,
				     struct once_parked_result *ret_result,
				     struct once_error *err)
{
	return do_deed(&redrive, conninfo, order, ret_result, err);
}

enum once_status once_parked_discard(const char *conninfo,
				     const struct once_parked_order *order,
				     struct once_parked_result *ret_result,
				     struct once_error *err)
{
	return do_deed(&discard, conninfo, order, ret_result, err);
}
