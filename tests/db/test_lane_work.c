/*
 * test_lane_work.c - a lane by hand: orders in, reports out, and between them a
 * database whose answers are lost.
 */
#include "cutter.h"
#include "lane_work.h"
#include "numbers.h"
#include "servers.h"
#include "suite.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PARTITIONS = 2,
	MESSAGES = 3, /* in a parcel */
	MOST_REPORTS = 8
};

static struct pg_fixture pg;
static struct cutter cutter = { .only = "unlucky" };
static struct once_route *route;
static struct once_session *session;
static struct mailbox reports;
static struct route_config route_cfg = { .name = (char[]){ "r" } };
static struct config cfg = { .kafka.group = (char[]){ "g" },
			     .lanes = 1,
			     .routes = &route_cfg,
			     .route_count = 1 };
static struct lane_options options = { .cfg = &cfg, .reports = &reports };
static struct lane_work work;
static int partitions[PARTITIONS]; /* only their addresses count */
static struct once_error err;

/* ---- the lane ---- */

static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	once_send(call, "INSERT INTO effect (partition, value) VALUES ($1, $2)",
		  ONCE_PARAMS(ONCE_TEXT(once_key(msg)),
			      ONCE_TEXT(once_value(msg))));
	return ONCE_DONE;
}

static const struct once_handler handler = { ONCE_HANDLER_ABI_FIELDS,
					     .name = "handler",
					     .handle = handle };

static void open_session(size_t max_messages)
{
	const struct once_route_options of_route = {
		.name = "r",
		.scope = "g/r",
		.msg_id = "{topic}:{partition}:{offset}",
		.handler = &handler,
	};
	struct once_session_options of_session = {
		.conninfo = cutter.conninfo,
		.routes = (const struct once_route *const *)&route,
		.route_count = 1,
		.max_messages = max_messages,
	};
	static const int64_t starts[PARTITIONS];

	ck_assert_msg(once_route_create(&of_route, &route, &err) == ONCE_OK,
		      "%s", err.text);
	ck_assert_int_eq(once_session_create(&of_session, &session, &err),
			 ONCE_OK);
	ck_assert_msg(once_session_create_positions(session, "g", "t", starts,
						    PARTITIONS,
						    &err) == ONCE_OK,
		      "%s", err.text);
}

static struct order *make_order(enum order_kind kind, int number)
{
	struct order *order = calloc(1, sizeof(*order));

	ck_assert_ptr_nonnull(order);
	order->kind = kind;
	order->address = (struct address){
		.partition = (struct source_partition *)&partitions[number],
		.epoch = 1,
		.topic = "t",
		.number = number,
	};
	return order;
}

static struct parcel *make_parcel(int number, int64_t first, const char *value)
{
	struct parcel *parcel =
		calloc(1, sizeof(*parcel) + MESSAGES * sizeof(struct delivery));

	ck_assert_ptr_nonnull(parcel);
	parcel->count = MESSAGES;
	for (int i = 0; i < MESSAGES; i++)
		parcel->deliveries[i].record = (struct once_record){
			.topic = "t",
			.partition = number,
			.offset = first + i,
			.key = { number == 0 ? "0" : "1", 1 },
			.value = { value, strlen(value) },
		};
	return parcel;
}

static void give(int number, int64_t first, const char *value)
{
	struct order *order = make_order(ORDER_HANDLE, number);

	order->parcel = make_parcel(number, first, value);
	lane_work_obey(&work, order);
}

static void drop(int number)
{
	lane_work_obey(&work, make_order(ORDER_DROP, number));
}

/* ---- what it says ---- */

static int64_t next_offset_of(const struct report *report)
{
	return report->kind == REPORT_OPENED ? report->position.next_offset
					     : report->next_offset;
}

/* "handled 0 3 home, …": the kind, the partition, the offset, and whether a
 * parcel came with it. */
static const char *take_reports(void)
{
	static const char *const kinds[] = {
		[REPORT_OPENED] = "opened",   [REPORT_HANDLED] = "handled",
		[REPORT_LOST] = "lost",       [REPORT_HALTED] = "halted",
		[REPORT_DROPPED] = "dropped",
	};
	static char said[64 * MOST_REPORTS];
	struct mail *mail = mailbox_take(&reports, 0);
	int size = 0;

	said[0] = '\0';
	while (mail != NULL) {
		struct report *report = (struct report *)mail;

		mail = mail->next;
		size += snprintf(said + size, sizeof(said) - (size_t)size,
				 "%s%s %d %lld%s", size == 0 ? "" : ", ",
				 kinds[report->kind], report->address.number,
				 (long long)next_offset_of(report),
				 report->parcel == NULL ? "" : " home");
		free(report->parcel);
		free(report);
	}
	return said;
}

static int64_t count_handled(void)
{
	static const char name[] = "onced_handled_total{route=\"r\"} ";
	struct text page = { 0 };
	const char *at;
	int64_t count = -1;

	numbers_render(options.numbers, false, &page);
	at = strstr(page.data, name);
	if (at != NULL)
		count = strtoll(at + strlen(name), NULL, 10);
	text_fini(&page);
	return count;
}

/* ---- a COMMIT that isn't answered, and then a partition that goes ---- */

static void set_up(void)
{
	const char *const names[] = { "r" };

	pg_fixture_init(&pg);
	ck_assert_int_eq(once_migrate(pg.conninfo, 0, NULL, NULL, &err),
			 ONCE_OK);
	pg_fixture_run(&pg, "CREATE TABLE effect (partition text, value text)");
	cutter_start(&cutter, &pg);
	mailbox_init(&reports, -1);
	options.numbers = numbers_create(names, 1, 1, "none");
	ck_assert_ptr_nonnull(options.numbers);
}

static void tear_down(void)
{
	for (int i = 0; i < PARTITIONS; i++)
		drop(i);
	take_reports();
	lane_work_fini(&work);
	once_session_destroy(session);
	once_route_destroy(route);
	numbers_destroy(options.numbers);
	mailbox_fini(&reports);
	cutter_stop(&cutter);
	pg_fixture_fini(&pg);
}

/* A batch that has grown over `max_messages`, as after many duplicates. Its
 * transactions begin with partition 0. The one that has the first message of
 * partition 1 is cut at its COMMIT. */
static void lose_an_answer(size_t max_messages, enum cut cut)
{
	cfg.batch.max_messages = max_messages;
	cfg.batch.max_bytes = 1 << 20;
	open_session(max_messages);
	ck_assert_int_eq(lane_work_init(&work, &options, session, &err),
			 ONCE_OK);
	work.most = PARTITIONS * MESSAGES;
	for (int i = 0; i < PARTITIONS; i++)
		lane_work_obey(&work, make_order(ORDER_OPEN, i));
	ck_assert_int_eq(lane_work_open(&work, &err), ONCE_OK);
	ck_assert_str_eq(take_reports(), "opened 0 0, opened 1 0");
	give(0, 0, "lucky");
	give(1, 0, "unlucky");
	ck_assert_uint_eq(lane_work_collect(&work, 0), PARTITIONS * MESSAGES);
	ck_assert_int_eq(work.batch.owners[0]->address.number, 0);
	*cutter.cut = cut;
	ck_assert_int_eq(lane_work_run(&work, &err), ONCE_UNKNOWN);
	ck_assert_int_eq(*cutter.cut, CUT_NOTHING);
	ck_assert(work.unsettled);
	ck_assert_str_eq(take_reports(), "");
}

/* Nobody has waited for it. */
static void wait_for_unlucky(void)
{
	static const char sql[] = "SELECT (count(*) > 0)::int FROM effect "
				  "WHERE value = 'unlucky'";

	while (pg_fixture_get_int64(&pg, sql) == 0)
		usleep(5000);
}

static void run(size_t expected)
{
	ck_assert_uint_eq(lane_work_collect(&work, 0), expected);
	ck_assert_msg(lane_work_run(&work, &err) == ONCE_OK, "%s", err.text);
}

static int64_t count_effects(const char *partition)
{
	char sql[64];

	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM effect WHERE partition = '%s'",
		 partition);
	return pg_fixture_get_int64(&pg, sql);
}

static const enum cut cuts[] = { CUT_BEFORE_COMMIT, CUT_AFTER_COMMIT };

START_TEST(what_was_committed_before_an_unanswered_commit_is_told_at_a_revoke)
{
	lose_an_answer(MESSAGES, cuts[_i]);
	drop(1);
	ck_assert_str_eq(take_reports(),
			 "handled 0 3 home, lost 1 -1 home, dropped 1 -1");
	give(0, MESSAGES, "lucky");
	run(MESSAGES);
	ck_assert_str_eq(take_reports(), "handled 0 6 home");
	ck_assert_int_eq(count_effects("0"), 2 * MESSAGES);
	ck_assert_int_eq(count_handled(), 2 * MESSAGES);
}
END_TEST

START_TEST(a_partition_that_stays_is_opened_again_if_its_commit_was_unanswered)
{
	lose_an_answer(MESSAGES, cuts[_i]);
	drop(0);
	ck_assert_str_eq(take_reports(),
			 "handled 0 3 home, lost 1 -1 home, dropped 0 -1");
	if (cuts[_i] == CUT_AFTER_COMMIT)
		wait_for_unlucky();
	lane_work_obey(&work, make_order(ORDER_OPEN, 1));
	ck_assert_int_eq(lane_work_open(&work, &err), ONCE_OK);
	ck_assert_str_eq(take_reports(), cuts[_i] == CUT_BEFORE_COMMIT
						 ? "opened 1 0"
						 : "opened 1 3");
	give(1, count_effects("1"), "lucky");
	run(MESSAGES);
	ck_assert_int_eq(count_effects("1"), cuts[_i] == CUT_BEFORE_COMMIT
						     ? MESSAGES
						     : 2 * MESSAGES);
}
END_TEST

/* Its first two messages were in one transaction, its third in the next. */
START_TEST(a_partition_whose_messages_were_parted_is_told_and_opened_again)
{
	lose_an_answer(MESSAGES - 1, cuts[_i]);
	drop(1);
	ck_assert_str_eq(take_reports(),
			 "handled 0 2, lost 0 -1 home, lost 1 -1 home, "
			 "dropped 1 -1");
	ck_assert_uint_eq(lane_work_collect(&work, 0), 0);
	ck_assert_int_eq(count_handled(), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lane work");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(
		tests,
		what_was_committed_before_an_unanswered_commit_is_told_at_a_revoke,
		0, 2);
	tcase_add_loop_test(
		tests,
		a_partition_that_stays_is_opened_again_if_its_commit_was_unanswered,
		0, 2);
	tcase_add_loop_test(
		tests,
		a_partition_whose_messages_were_parted_is_told_and_opened_again,
		0, 2);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
