/*
 * test_parked_admin.c - parked messages, listed, shown, redriven, discarded,
 * while others are at work on them.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <once/parked.h>
#include <once/upkeep.h>

#include <clock.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PRINTED_SIZE = 4096,
	MANY = 2500 /* more than two pages */
};

static struct trial trial;

static void set_up(void)
{
	trial_init(&trial, NULL, 0);
}

static void tear_down(void)
{
	trial_fini(&trial);
}

static int64_t count(const char *sql)
{
	return trial_count(&trial, sql);
}

static void check_text(const char *sql, const char *expected)
{
	char *text = pg_fixture_get_text(&trial.pg, sql);

	ck_assert_pstr_eq(text, expected);
	free(text);
}

/* ---- rows ---- */

/* Dead rows of scope "g/a", topic "t", offsets 0 and up. */
static void park(int rows)
{
	char sql[1024];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO once.consumer (scope) VALUES ('g/a') "
		 "ON CONFLICT DO NOTHING; "
		 "INSERT INTO once.parked (consumer_id, topic, partition, "
		 "message_offset, state, attempts, crashes, cause, msg_id, "
		 "biz_id, message_time_ms, key, value) "
		 "SELECT c.id, 't', 0, n, 'dead', 3, 1, 'rejected', 'm' || n, "
		 "'b' || n, 1000 + n, convert_to('k' || n, 'UTF8'), "
		 "convert_to('v' || n, 'UTF8') "
		 "FROM once.consumer AS c, generate_series(0, %d - 1) AS n "
		 "WHERE c.scope = 'g/a'",
		 rows);
	pg_fixture_run(&trial.pg, sql);
}

/* Three rows, each of them alone in something. */
static void park_three(void)
{
	park(3);
	pg_fixture_run(
		&trial.pg,
		"INSERT INTO once.consumer (scope) VALUES ('gg/b'), ('own'); "
		"UPDATE once.parked SET consumer_id = (SELECT id FROM "
		"once.consumer WHERE scope = 'gg/b'), topic = 'u', "
		"partition = 7, cause = 'conflict', "
		"parked_at = now() - interval '2 hours' "
		"WHERE message_offset = 1; "
		"UPDATE once.parked SET consumer_id = (SELECT id FROM "
		"once.consumer WHERE scope = 'own'), state = 'waiting', "
		"retry_at = now() + interval '1 hour', key = '\\x00ff' "
		"WHERE message_offset = 2");
}

/* ---- listing ---- */

struct seen {
	size_t count;
	size_t most; /* then it has enough; 0: never */
	int64_t offsets[MANY + 8];
};

static int see(void *arg, const struct once_parked_message *msg)
{
	struct seen *seen = arg;

	ck_assert_uint_lt(seen->count, MANY + 8);
	seen->offsets[seen->count++] = msg->offset;
	return seen->count == seen->most;
}

static struct seen list(const struct once_parked_filter *filter)
{
	struct seen seen = { 0 };

	ck_assert_msg(once_parked_list(trial.pg.conninfo, filter, see, &seen,
				       &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
	return seen;
}

static const int32_t seven = 7;
static const int64_t two = 2;
static const char *const scope_own[] = { "own" };

static const struct {
	struct once_parked_filter filter;
	size_t count;
	int64_t offset; /* of the only one */
} choices[] = {
	{ { 0 }, 3, -1 },
	{ { .group = "g" }, 1, 0 },
	{ { .group = "gg" }, 1, 1 },
	{ { .group = "own" }, 0, -1 },
	{ { .scopes = scope_own, .scope_count = 1 }, 1, 2 },
	{ { .group = "g", .scopes = scope_own, .scope_count = 1 }, 2, -1 },
	{ { .state = ONCE_PARKED_DEAD }, 2, -1 },
	{ { .state = ONCE_PARKED_WAITING }, 1, 2 },
	{ { .cause = "conflict" }, 1, 1 },
	{ { .topic = "u" }, 1, 1 },
	{ { .topic = "" }, 0, -1 },
	{ { .partition = &seven }, 1, 1 },
	{ { .offset = &two }, 1, 2 },
	{ { .topic = "t", .offset = &two }, 1, 2 },
	{ { .topic = "u", .offset = &two }, 0, -1 },
	{ { .key = { "m1", 2 } }, 1, 1 },
	{ { .key = { "b1", 2 } }, 1, 1 },
	{ { .key = { "k1", 2 } }, 1, 1 },
	{ { .key = { "k", 1 } }, 0, -1 },
	{ { .key = { "\0\xff", 2 } }, 1, 2 },
	{ { .key = { "' OR true --", 12 } }, 0, -1 },
	{ { .older_than_ms = 3600000 }, 1, 1 },
	{ { .newer_than_ms = 3600000 }, 2, -1 },
	{ { .older_than_ms = 3600000, .newer_than_ms = 3600000 }, 0, -1 },
	{ { .limit = 2 }, 2, -1 },
	{ { .limit = 4 }, 3, -1 },
};

START_TEST(a_filter_chooses_what_fits_all_of_it)
{
	struct seen seen;

	park_three();
	seen = list(&choices[_i].filter);
	ck_assert_uint_eq(seen.count, choices[_i].count);
	if (choices[_i].offset >= 0)
		ck_assert_int_eq(seen.offsets[0], choices[_i].offset);
}
END_TEST

START_TEST(what_no_filter_can_mean_is_refused)
{
	static const struct once_parked_filter wrong[] = {
		{ .topic = "\xff" },
		{ .limit = -1 },
		{ .older_than_ms = -1 },
	};
	struct seen seen = { 0 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_int_eq(once_parked_list(trial.pg.conninfo, &wrong[i],
						  see, &seen, &trial.err),
				 ONCE_INVALID);
}
END_TEST

START_TEST(a_long_list_comes_page_by_page_and_whole)
{
	struct once_parked_filter all = { 0 };
	struct seen seen;

	park(MANY);
	seen = list(&all);
	ck_assert_uint_eq(seen.count, MANY);
	for (size_t i = 0; i < seen.count; i++)
		ck_assert_int_eq(seen.offsets[i], (int64_t)i);
	all.limit = 1200;
	ck_assert_uint_eq(list(&all).count, 1200);
}
END_TEST

START_TEST(who_is_told_can_have_enough)
{
	struct once_parked_filter all = { 0 };
	struct seen seen = { .most = 2 };

	park(3);
	ck_assert_int_eq(once_parked_list(trial.pg.conninfo, &all, see, &seen,
					  &trial.err),
			 ONCE_OK);
	ck_assert_uint_eq(seen.count, 2);
}
END_TEST

/* Who reads a page can think about it: no transaction is held meanwhile. */
static int count_open_transactions(void *arg,
				   const struct once_parked_message *msg)
{
	(void)msg;
	*(int64_t *)arg += count(
		"SELECT count(*) FROM pg_stat_activity WHERE datname = "
		"current_database() AND application_name = 'onced parked' "
		"AND state <> 'idle'");
	return 0;
}

START_TEST(no_transaction_is_open_while_a_list_is_read)
{
	struct once_parked_filter all = { 0 };
	int64_t open = 0;

	park(2);
	ck_assert_int_eq(once_parked_list(trial.pg.conninfo, &all,
					  count_open_transactions, &open,
					  &trial.err),
			 ONCE_OK);
	ck_assert_int_eq(open, 0);
}
END_TEST

/* ---- showing ---- */

static void print_bytes(char *text, const char *name, struct once_bytes bytes)
{
	size_t size = strlen(text);
	const unsigned char *at = bytes.data;

	size += (size_t)snprintf(text + size, PRINTED_SIZE - size, " %s=%s",
				 name, at == NULL ? "null" : "");
	for (size_t i = 0; i < bytes.size; i++)
		size += (size_t)snprintf(text + size, PRINTED_SIZE - size,
					 "%02x", at[i]);
}

static int print_contents(void *arg, const struct once_parked_message *msg)
{
	print_bytes(arg, "key", msg->key);
	print_bytes(arg, "value", msg->value);
	for (size_t i = 0; i < msg->header_count; i++)
		print_bytes(arg, msg->headers[i].name, msg->headers[i].value);
	ck_assert_uint_eq(msg->fingerprint.size, 2);
	ck_assert_ptr_null(msg->original_fingerprint.data);
	return 0;
}

START_TEST(a_message_is_shown_whole_and_null_is_not_empty)
{
	static const char *const contents[][2] = {
		{ "key = NULL, value = ''",
		  " key=null value= a=00ff a=null b= c=63" },
		{ "key = '', value = NULL",
		  " key= value=null a=00ff a=null b= c=63" },
		{ "key = '\\x00', value = '\\xff00'",
		  " key=00 value=ff00 a=00ff a=null b= c=63" },
	};
	struct once_parked_filter first = { .key = bytes("m0") };
	char printed[PRINTED_SIZE];
	char sql[512];

	park(1);
	for (size_t i = 0; i < 3; i++) {
		snprintf(sql, sizeof(sql),
			 "UPDATE once.parked SET %s, fingerprint = '\\x0001', "
			 "header_names = '{a,a,b,c}', header_values = "
			 "'{\"\\\\x00ff\",NULL,\"\",c}'",
			 contents[i][0]);
		pg_fixture_run(&trial.pg, sql);
		printed[0] = '\0';
		ck_assert_msg(once_parked_show(trial.pg.conninfo, &first,
					       print_contents, printed,
					       &trial.err) == ONCE_OK,
			      "%s", trial.err.text);
		ck_assert_str_eq(printed, contents[i][1]);
	}
}
END_TEST

/* Each with its own headers. */
static int check_header(void *arg, const struct once_parked_message *msg)
{
	char expected[24];

	snprintf(expected, sizeof(expected), "%lld", (long long)msg->offset);
	ck_assert_uint_eq(msg->header_count, 1);
	ck_assert(is_text(msg->headers[0].value, expected));
	++*(int *)arg;
	return 0;
}

START_TEST(several_messages_are_shown_one_by_one)
{
	struct once_parked_filter all = { 0 };
	int shown = 0;

	park(5);
	pg_fixture_run(&trial.pg,
		       "UPDATE once.parked SET header_names = '{n}', "
		       "header_values = ARRAY[convert_to("
		       "message_offset::text, 'UTF8')]");
	ck_assert_int_eq(once_parked_show(trial.pg.conninfo, &all, check_header,
					  &shown, &trial.err),
			 ONCE_OK);
	ck_assert_int_eq(shown, 5);
}
END_TEST

/* ---- redriving ---- */

typedef enum once_status change_f(const char *conninfo,
				  const struct once_parked_order *order,
				  struct once_parked_result *ret_result,
				  struct once_error *err);

static struct once_parked_order order_of(struct once_parked_filter filter)
{
	struct once_parked_order order = { .filter = filter,
					   .person = "me@here" };

	return order;
}

static void check_change(change_f *change,
			 const struct once_parked_order *order, int64_t changed,
			 int64_t skipped)
{
	struct once_parked_result result;

	ck_assert_msg(change(trial.pg.conninfo, order, &result, &trial.err) ==
			      ONCE_OK,
		      "%s", trial.err.text);
	ck_assert_int_eq(result.changed, changed);
	ck_assert_int_eq(result.skipped, skipped);
}

static void redrive_all(int64_t changed)
{
	struct once_parked_order order =
		order_of((struct once_parked_filter){ 0 });

	check_change(once_parked_redrive, &order, changed, 0);
}

START_TEST(redriven_messages_begin_again_and_the_audit_says_who)
{
	park_three();
	redrive_all(2);
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked WHERE state = "
			       "'waiting' AND retry_at <= now() AND attempts = "
			       "0 AND crashes = 0"),
			 2);
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked WHERE "
			       "retry_at > now() AND attempts = 3"),
			 1);
	check_text("SELECT concat_ws('|', person, command, subject, "
		   "rows_changed) FROM once.audit",
		   "me@here|parked redrive|state=\"dead\"|2");
	redrive_all(0);
	ck_assert_int_eq(count("SELECT count(*) FROM once.audit"), 1);
}
END_TEST

START_TEST(the_audit_tells_the_whole_filter)
{
	struct once_parked_order order = order_of((struct once_parked_filter){
		.group = "g",
		.scopes = scope_own,
		.scope_count = 1,
		.cause = "rejected",
		.topic = "t",
		.key = bytes("say \"m0\""),
		.older_than_ms = 1,
		.limit = 5,
	});

	park(1);
	pg_fixture_run(&trial.pg,
		       "UPDATE once.parked SET msg_id = 'say \"m0\"', "
		       "parked_at = now() - interval '1 day'");
	check_change(once_parked_redrive, &order, 1, 0);
	check_text("SELECT subject FROM once.audit",
		   "group=\"g\" scope=\"own\" state=\"dead\" "
		   "cause=\"rejected\" topic=\"t\" key=\"say \\\"m0\\\"\" "
		   "older_than_ms=1 limit=5");
}
END_TEST

START_TEST(waiting_messages_are_not_redriven)
{
	struct once_parked_order order = order_of(
		(struct once_parked_filter){ .state = ONCE_PARKED_WAITING });
	struct once_parked_result result;

	ck_assert_int_eq(once_parked_redrive(trial.pg.conninfo, &order, &result,
					     &trial.err),
			 ONCE_INVALID);
}
END_TEST

/* A route that was renamed and kept its scope; a group that is gone. */
START_TEST(what_is_for_nobody_any_more_can_be_given_to_another_route)
{
	struct once_parked_order order = order_of((struct once_parked_filter){
		.scopes = scope_own,
		.scope_count = 1,
	});

	order.to_group = "g";
	order.to_route = "renamed";
	park_three();
	pg_fixture_run(&trial.pg, "UPDATE once.parked "
				  "SET group_name = 'g', route = 'before'");
	check_change(once_parked_redrive, &order, 1, 0);
	check_text("SELECT state || ' ' || group_name || ' ' || route || ' ' "
		   "|| attempts FROM once.parked WHERE message_offset = 2 "
		   "AND retry_at <= now()",
		   "waiting g renamed 0");
	check_text("SELECT subject FROM once.audit",
		   "scope=\"own\" to=g/renamed");
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked "
			       "WHERE route = 'before'"),
			 2);
}
END_TEST

START_TEST(what_is_for_another_group_is_left_out_unless_it_is_nobodys)
{
	const struct once_parked_filter ours = { .for_group = "ours" };

	park(3);
	pg_fixture_run(&trial.pg,
		       "UPDATE once.parked SET route = 'r', group_name = CASE "
		       "message_offset WHEN 0 THEN 'ours' ELSE 'theirs' END "
		       "WHERE message_offset < 2");
	ck_assert_uint_eq(list(&ours).count, 2);
	ck_assert_int_eq(list(&ours).offsets[1], 2);
}
END_TEST

START_TEST(who_does_it_must_be_known)
{
	struct once_parked_order order = { .person = "" };
	struct once_parked_result result;

	park(1);
	ck_assert_int_eq(once_parked_discard(trial.pg.conninfo, &order, &result,
					     &trial.err),
			 ONCE_INVALID);
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked"), 1);
}
END_TEST

START_TEST(its_crashes_are_forgotten_and_no_other_ones)
{
	struct once_parked_order order =
		order_of((struct once_parked_filter){ .key = bytes("m0") });

	park(2);
	pg_fixture_run(&trial.pg,
		       "WITH i AS (INSERT INTO once.instance (group_name, "
		       "host, pid, version) VALUES ('g', 'h', 1, '0') "
		       "RETURNING id) INSERT INTO once.in_hand (instance_id, "
		       "lane, consumer_id, topic, partition, message_offset) "
		       "SELECT i.id, n, c.id, 't', 0, n FROM i, once.consumer "
		       "AS c, generate_series(0, 1) AS n "
		       "WHERE c.scope = 'g/a'");
	check_change(once_parked_redrive, &order, 1, 0);
	ck_assert_int_eq(count("SELECT message_offset FROM once.in_hand"), 1);
	ck_assert_int_eq(count("SELECT count(*) FROM once.in_hand"), 1);
}
END_TEST

START_TEST(many_are_redriven_in_bounded_transactions)
{
	park(MANY);
	redrive_all(MANY);
	ck_assert_int_eq(count("SELECT count(DISTINCT xmin::text) FROM "
			       "once.parked WHERE state = 'waiting'"),
			 3);
	ck_assert_int_eq(count("SELECT count(*) FROM once.audit"), 3);
	ck_assert_int_eq(count("SELECT sum(rows_changed) FROM once.audit"),
			 MANY);
	ck_assert_int_eq(count("SELECT max(rows_changed) FROM once.audit"),
			 1000);
}
END_TEST

START_TEST(a_limit_is_kept_over_pages)
{
	struct once_parked_order order =
		order_of((struct once_parked_filter){ .limit = 1500 });

	park(MANY);
	check_change(once_parked_redrive, &order, 1500, 0);
	ck_assert_int_eq(count("SELECT max(message_offset) FROM once.parked "
			       "WHERE state = 'waiting'"),
			 1499);
}
END_TEST

static enum once_verdict refuse(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	(void)msg;
	once_because(call, "never");
	return ONCE_REJECT;
}

/* C66 */
START_TEST(fifty_failures_and_redrives_leave_one_row_as_it_was)
{
	static const char contents[] =
		"SELECT concat_ws('|', reason, cause, header_names, "
		"header_values, key, value, attempts) "
		"FROM once.parked WHERE state = 'dead'";
	struct mail mail;
	char *before = NULL;

	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	trial_poison = refuse;
	for (int i = 0; i < 50; i++) {
		mail_again(&mail);
		trial_run(&trial, &mail, ONCE_OK);
		ck_ending(mail.items[0], ONCE_DEAD_ENDING);
		if (before == NULL)
			before = pg_fixture_get_text(&trial.pg, contents);
		check_text(contents, before);
		redrive_all(1);
	}
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked"), 1);
	free(before);
	mail_fini(&mail);
}
END_TEST

/* A second session, which holds rows as a lane does. */
static PGconn *lock_rows(const char *sql)
{
	PGconn *conn = PQconnectdb(trial.pg.conninfo);

	ck_assert_int_eq(PQstatus(conn), CONNECTION_OK);
	PQclear(PQexec(conn, "BEGIN"));
	PQclear(PQexec(conn, sql));
	ck_assert_int_eq(PQtransactionStatus(conn), PQTRANS_INTRANS);
	return conn;
}

START_TEST(a_message_that_somebody_has_in_hand_is_skipped_and_told)
{
	struct once_parked_order order =
		order_of((struct once_parked_filter){ 0 });
	PGconn *conn;

	park(4);
	conn = lock_rows("SELECT FROM once.parked WHERE message_offset IN "
			 "(1, 3) FOR UPDATE");
	check_change(once_parked_redrive, &order, 2, 2);
	check_change(once_parked_redrive, &order, 0, 2);
	check_change(once_parked_discard, &order, 2, 2);
	PQfinish(conn);
	check_change(once_parked_redrive, &order, 2, 0);
}
END_TEST

/* Nor is a lane waited for that has the message's row of once.in_hand. */
START_TEST(a_lane_at_work_is_not_waited_for)
{
	PGconn *conn;

	park(1);
	pg_fixture_run(&trial.pg,
		       "WITH i AS (INSERT INTO once.instance (group_name, "
		       "host, pid, version) VALUES ('g', 'h', 1, '0') "
		       "RETURNING id) INSERT INTO once.in_hand (instance_id, "
		       "lane, consumer_id, topic, partition, message_offset) "
		       "SELECT i.id, 0, c.id, 't', 0, 0 FROM i, "
		       "once.consumer AS c WHERE c.scope = 'g/a'");
	conn = lock_rows("DELETE FROM once.in_hand");
	redrive_all(1);
	PQfinish(conn);
}
END_TEST

/* ---- discarding ---- */

START_TEST(what_is_discarded_is_gone_and_the_audit_names_it)
{
	struct once_parked_order order =
		order_of((struct once_parked_filter){ .key = bytes("m1") });

	park(3);
	pg_fixture_run(&trial.pg, "UPDATE once.parked SET key = '\\x00ff', "
				  "msg_id = 'm1', biz_id = NULL "
				  "WHERE message_offset = 1");
	check_change(once_parked_discard, &order, 1, 0);
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked"), 2);
	check_text("SELECT subject FROM once.audit WHERE command = "
		   "'parked discard' AND rows_changed = 1",
		   "key=\"m1\"");
	check_text("SELECT concat_ws(' ', s->>'scope', s->>'topic', "
		   "s->>'partition', s->>'offset', s->>'time_ms', "
		   "s->>'msg_id', coalesce(s->>'biz_id', 'null'), "
		   "s->>'key_hex') FROM (SELECT subject::json AS s FROM "
		   "once.audit WHERE command = 'parked discard message') AS a",
		   "g/a t 0 1 1001 m1 null 00ff");
	check_change(once_parked_discard, &order, 0, 0);
	ck_assert_int_eq(count("SELECT count(*) FROM once.audit"), 2);
}
END_TEST

START_TEST(waiting_messages_are_discarded_only_if_that_is_said)
{
	struct once_parked_order order = order_of(
		(struct once_parked_filter){ .state = ONCE_PARKED_DEAD });

	park_three();
	check_change(once_parked_discard, &order, 2, 0);
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked"), 1);
	order.filter.state = ONCE_PARKED_ANY;
	check_change(once_parked_discard, &order, 1, 0);
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked"), 0);
}
END_TEST

START_TEST(many_are_discarded_in_bounded_transactions)
{
	struct once_parked_order order =
		order_of((struct once_parked_filter){ 0 });

	park(MANY);
	check_change(once_parked_discard, &order, MANY, 0);
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked"), 0);
	ck_assert_int_eq(count("SELECT count(*) FROM once.audit WHERE command "
			       "= 'parked discard message'"),
			 MANY);
	ck_assert_int_eq(count("SELECT count(DISTINCT xmin::text) FROM "
			       "once.audit"),
			 3);
}
END_TEST

START_TEST(a_dry_run_counts_and_changes_nothing)
{
	struct once_parked_order order =
		order_of((struct once_parked_filter){ 0 });

	park_three();
	pg_fixture_run(&trial.pg, "CREATE TABLE before AS SELECT xmin::text "
				  "AS was, ctid AS place "
				  "FROM once.parked");
	order.dry_run = 1;
	order.person = NULL;
	check_change(once_parked_redrive, &order, 2, 0);
	check_change(once_parked_discard, &order, 3, 0);
	order.filter.limit = 1;
	check_change(once_parked_redrive, &order, 1, 0);
	ck_assert_int_eq(count("SELECT count(*) FROM once.parked AS p, before "
			       "AS b WHERE p.ctid = b.place AND p.xmin::text = "
			       "b.was AND p.xmax::text = '0'"),
			 3);
	ck_assert_int_eq(count("SELECT count(*) FROM once.audit"), 0);
}
END_TEST

/* ---- how many ---- */

/* Two groups that share a scope, which is named after neither. */
static void park_of_two_groups(void)
{
	park(7);
	pg_fixture_run(&trial.pg,
		       "UPDATE once.consumer SET scope = 'shared' "
		       "WHERE scope = 'g/a'; "
		       "UPDATE once.parked SET group_name = CASE "
		       "WHEN message_offset < 3 THEN 'g' "
		       "WHEN message_offset < 5 THEN 'h' ELSE '' END, "
		       "route = CASE WHEN message_offset < 5 THEN 'a' "
		       "ELSE '' END");
}

static void add_parked(void *arg, const char *section, const char *const *names,
		       const char *const *values, size_t count)
{
	int64_t *sums = arg; /* of group g, and rows of the log */

	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], "count") == 0 &&
		    strcmp(section, "parked") == 0 &&
		    strcmp(values[i + 1], "g") == 0)
			sums[0] += atoll(values[i]);
		if (strcmp(section, "log") == 0 &&
		    strcmp(names[i], "rows") == 0 && values[i] != NULL)
			sums[1] = atoll(values[i]);
	}
}

START_TEST(what_is_parked_for_a_group_is_told_under_whatever_scope)
{
	int64_t sums[2] = { 0, -1 };
	struct mail mail;

	park_of_two_groups();
	mail_init(&mail, 5);
	trial_run(&trial, &mail, ONCE_OK);
	mail_fini(&mail);
	ck_assert_int_eq(once_overview(trial.pg.conninfo, "g", add_parked, sums,
				       &trial.err),
			 ONCE_OK);
	ck_assert_int_eq(sums[0], 3);
	ck_assert_int_eq(sums[1], 5); /* nobody has analyzed it */
}
END_TEST

START_TEST(what_is_parked_is_counted_for_each_route_by_an_index)
{
	static const struct once_parked_place places[] = {
		{ "shared", "g", "a" },
		{ "shared", "h", "a" },
		{ "shared", "g", "b" },
		{ "unknown", "g", "a" },
	};
	static const char plan[] =
		"SELECT (pg_stat_force_next_flush() IS NOT NULL)::int "
		"+ (SELECT idx_scan FROM pg_stat_user_indexes "
		"WHERE indexrelname = 'parked_count')";
	struct once_cleaner_options options = { .conninfo = trial.pg.conninfo };
	struct once_cleaner *cleaner = NULL;
	struct once_parked_count counts[4];
	int64_t end_ms = clock_ms() + 10000;

	park_of_two_groups();
	ck_assert_int_eq(once_cleaner_open(&options, &cleaner, &trial.err),
			 ONCE_OK);
	ck_assert_int_eq(once_cleaner_count_parked(cleaner, places, 4, counts,
						   &trial.err),
			 ONCE_OK);
	once_cleaner_close(cleaner);
	ck_assert_int_eq(counts[0].dead, 3 + 2);
	ck_assert_int_eq(counts[1].dead, 2 + 2);
	ck_assert_int_eq(counts[2].dead, 2);
	ck_assert_int_eq(counts[3].dead, 0);
	ck_assert_int_eq(counts[0].waiting, 0);
	/* A session counts when it ends, which is a little later. */
	while (count(plan) <= 1 && clock_ms() < end_ms)
		sched_yield();
	ck_assert_int_gt(count(plan), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("parked_admin");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, a_filter_chooses_what_fits_all_of_it, 0,
			    sizeof(choices) / sizeof(choices[0]));
	tcase_add_test(tests, what_no_filter_can_mean_is_refused);
	tcase_add_test(tests, a_long_list_comes_page_by_page_and_whole);
	tcase_add_test(tests, who_is_told_can_have_enough);
	tcase_add_test(tests, no_transaction_is_open_while_a_list_is_read);
	tcase_add_test(tests, a_message_is_shown_whole_and_null_is_not_empty);
	tcase_add_test(tests, several_messages_are_shown_one_by_one);
	tcase_add_test(tests,
		       redriven_messages_begin_again_and_the_audit_says_who);
	tcase_add_test(tests, the_audit_tells_the_whole_filter);
	tcase_add_test(tests, waiting_messages_are_not_redriven);
	tcase_add_test(
		tests,
		what_is_for_nobody_any_more_can_be_given_to_another_route);
	tcase_add_test(
		tests,
		what_is_for_another_group_is_left_out_unless_it_is_nobodys);
	tcase_add_test(tests, who_does_it_must_be_known);
	tcase_add_test(tests, its_crashes_are_forgotten_and_no_other_ones);
	tcase_add_test(tests, many_are_redriven_in_bounded_transactions);
	tcase_add_test(tests, a_limit_is_kept_over_pages);
	tcase_add_test(tests,
		       fifty_failures_and_redrives_leave_one_row_as_it_was);
	tcase_add_test(tests,
		       a_message_that_somebody_has_in_hand_is_skipped_and_told);
	tcase_add_test(tests, a_lane_at_work_is_not_waited_for);
	tcase_add_test(tests, what_is_discarded_is_gone_and_the_audit_names_it);
	tcase_add_test(tests,
		       waiting_messages_are_discarded_only_if_that_is_said);
	tcase_add_test(tests, many_are_discarded_in_bounded_transactions);
	tcase_add_test(tests, a_dry_run_counts_and_changes_nothing);
	tcase_add_test(tests,
		       what_is_parked_for_a_group_is_told_under_whatever_scope);
	tcase_add_test(tests,
		       what_is_parked_is_counted_for_each_route_by_an_index);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
