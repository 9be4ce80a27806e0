/* Tables and pages for people, to the letter and to the column. */
#include "bytes.h"
#include "columns.h"
#include "gc_page.h"
#include "parked_print.h"
#include "readable.h"
#include "status_print.h"
#include "suite.h"
#include "top_print.h"

#include <check.h>
#include <string.h>

static const struct terminal a_pipe = { .columns = 80 };
static const struct terminal a_screen = { .interactive = true, .columns = 80 };
static const struct terminal a_bright_screen = { .interactive = true,
						 .colour = true,
						 .columns = 80 };

static void fill(struct columns *columns, const char *name, int64_t number)
{
	columns_add(columns, "route", false, 8);
	columns_add(columns, "handled", true, COLUMNS_UNCUT);
	columns_add(columns, "last", false, COLUMNS_UNCUT);
	columns_text(columns, STYLE_PLAIN, name);
	columns_number(columns, STYLE_BAD, number);
	columns_text(columns, STYLE_PLAIN, "x");
	columns_text(columns, STYLE_PLAIN, "b");
	columns_number(columns, STYLE_PLAIN, COLUMNS_UNKNOWN);
	columns_text(columns, STYLE_PLAIN, "");
}

static void expect(const struct terminal *terminal, const char *name,
		   int64_t number, const char *table)
{
	scoped_text struct text text = { 0 };
	struct columns columns = { 0 };

	fill(&columns, name, number);
	columns_render(&columns, terminal, &text);
	ck_assert_str_eq(text.data, table);
	columns_fini(&columns);
}

START_TEST(numbers_stand_to_the_right_and_are_grouped_where_somebody_looks)
{
	expect(&a_screen, "refund", 1234567,
	       "route     handled  last\n"
	       "refund  1,234,567  x\n"
	       "b               -  \n");
	expect(&a_pipe, "refund", 1234567,
	       "route   handled  last\n"
	       "refund  1234567  x\n"
	       "b             -  \n");
}
END_TEST

START_TEST(width_is_what_a_terminal_shows)
{
	expect(&a_pipe, "東京\x1b", 1,
	       "route     handled  last\n"
	       "東京\\x1b        1  x\n"
	       "b               -  \n");
}
END_TEST

START_TEST(text_is_cut_before_numbers_are_rounded)
{
	static const struct terminal narrow = { .columns = 26 };
	static const struct terminal narrower = { .columns = 22 };

	expect(&narrow, "a-long-route", 9876543210,
	       "route        handled  last\n"
	       "a-long-…  9876543210  x\n"
	       "b                  -  \n");
	expect(&narrower, "a-long-route", 9876543210,
	       "route     handled  last\n"
	       "a-long-…     9.9G  x\n"
	       "b               -  \n");
}
END_TEST

START_TEST(a_spare_column_goes_first)
{
	static const struct terminal narrow = { .columns = 10 };
	scoped_text struct text text = { 0 };
	struct columns columns = { 0 };

	columns_add(&columns, "a", false, 8);
	columns_add(&columns, "b", false, COLUMNS_SPARE);
	columns_text(&columns, STYLE_PLAIN, "1234567890");
	columns_text(&columns, STYLE_PLAIN, "x");
	columns_render(&columns, &a_pipe, &text);
	ck_assert_str_eq(text.data, "a           b\n1234567890  x\n");
	text_reset(&text);
	columns_render(&columns, &narrow, &text);
	ck_assert_ptr_nonnull(strstr(text.data, "1234567890"));
	ck_assert_ptr_null(strstr(text.data, "x"));
	columns_fini(&columns);
}
END_TEST

START_TEST(colour_changes_no_width)
{
	expect(&a_bright_screen, "r", 7,
	       "\033[1mroute\033[0m  \033[1mhandled\033[0m  \033[1mlast\033[0m\n"
	       "r            \033[1;31m7\033[0m  x\n"
	       "b            -  \n");
}
END_TEST

START_TEST(durations_and_sizes_are_short)
{
	scoped_text struct text text = { 0 };

	terminal_add_duration(&text, 45);
	text_adds(&text, "|");
	terminal_add_duration(&text, 3 * 60 + 7);
	text_adds(&text, "|");
	terminal_add_duration(&text, 2 * 3600 + 13 * 60);
	text_adds(&text, "|");
	terminal_add_duration(&text, 12 * 86400 + 4 * 3600);
	text_adds(&text, "|");
	terminal_add_bytes(&text, 1023);
	text_adds(&text, "|");
	terminal_add_bytes(&text, 1288490188);
	ck_assert_str_eq(text.data, "45 s|3 min 7 s|2 h 13 min|12 d 4 h|"
				    "1023 bytes|1.2 GiB");
}
END_TEST

/* ---- whole pages ---- */

static size_t widest_line(const struct text *text)
{
	const char *at = text->data;
	size_t widest = 0;

	while (*at != '\0') {
		size_t size = strcspn(at, "\n");
		size_t width = readable_width(bytes_of(at, size));

		if (width > widest)
			widest = width;
		at += size + (at[size] == '\n');
	}
	return widest;
}

static char route_name[] = "a-route-with-a-name-of-forty-characters-";
static char scope[] = "payments/a-route-with-a-name-of-forty-characters-";
static char group[] = "payments";
static char brokers[] = "kafka-1.prod.example.internal:9092,"
			"kafka-2.prod.example.internal:9092,"
			"kafka-3.prod.example.internal:9092";

static struct process_stage stages[] = {
	{ "batch", 12345678901 },
	{ "local", 12345678901 },
	{ "redis", 12345678901 },
	{ "database", 12345678901 },
};
static struct process_key keys[] = {
	{ "a-key-of-sixty-four-characters-that-is-cut-where-the-line-ends-…",
	  "biz_id", 12345678901, 12345678 },
};
static struct process_partition partitions[] = {
	{ "a-topic-of-forty-characters-that-is-long", 1234, "halted",
	  "offset 16 isn't there", 9223372036854775807, 9223372036854775807 },
	{ "a-topic-of-forty-characters-that-is-long", 1235,
	  "held back by an open transaction", "", 9223372036854775807, -1 },
};
static struct process_route largest_route = {
	.name = route_name,
	.handled = 12345678901,
	.stages = stages,
	.stage_count = 4,
	.conflicts = 12345678901,
	.dead = 12345678901,
	.retries = 12345678901,
	.repeated = 12345678901,
	.keys = keys,
	.key_count = 1,
};
static const struct process_status largest = {
	.version = "0.1.0",
	.group = group,
	.pid = 4194304,
	.uptime_seconds = 86400 * 400,
	.why_not_ready =
		"a-topic-of-forty-characters-that-is-long[1234] is halted: "
		"offset 16 isn't there, Kafka has 20 to 90; "
		"run \"onced seek\" to say where it goes on\nand another\n",
	.lanes = 256,
	.lanes_busy = 256,
	.prefilter = "local, 64 MiB, 1,234,567 keys; redis reachable, "
		     "circuit closed, 0 errors since the start",
	.partitions = partitions,
	.partition_count = 2,
	.routes = &largest_route,
	.route_count = 1,
};

static void take_facts(struct facts *facts)
{
	static const char *const position[] = { "topic",       "partition",
						"next_offset", "age_seconds",
						"attempts",    "holder" };
	static const char *const here[] = {
		"a-topic-of-forty-characters-that-is-long",
		"1234",
		"9223372036854775807",
		"7",
		"3",
		"a-host-with-a-long-name.prod.example.internal:4194304"
	};
	static const char *const parked[] = { "scope", "state", "cause",
					      "count" };
	static const char *const dead[] = { scope, "dead", "transaction",
					    "9223372036854775807" };
	static const char *const log[] = { "rows_about", "bytes" };
	static const char *const size[] = { "9223372036854775807",
					    "9223372036854775807" };

	facts_take(facts, "position", position, here, 6);
	facts_take(facts, "parked", parked, dead, 4);
	facts_take(facts, "log", log, size, 2);
}

static void print(const struct facts *facts,
		  const struct process_status *process, struct text *text)
{
	struct route_config route = { .name = route_name, .scope = scope };
	struct config cfg = { .kafka = { .group = group, .brokers = brokers },
			      .retention_ms = 30ll * 86400 * 1000,
			      .routes = &route,
			      .route_count = 1 };
	struct status_page page = {
		.cfg = &cfg,
		.facts = facts,
		.database_why =
			"could not connect to the database: connection to "
			"server at \"10.0.0.1\", port 5432 failed: Connection "
			"refused",
		.process = process,
		.process_why = "no process answers at "
			       "http://127.0.0.1:9464/status: Couldn't "
			       "connect to server; does it run here?"
	};

	text_reset(text);
	status_print(&page, &a_screen, text);
	ck_assert(!text->broken);
	ck_assert_msg(widest_line(text) <= 80, "%s", text->data);
}

#define IS_IN(part) \
	ck_assert_msg(strstr(text.data, part) != NULL, "no %s in\n%s", part, \
		      text.data)

START_TEST(the_largest_status_fits_80_columns_whoever_answers)
{
	scoped_text struct text text = { 0 };
	struct facts facts = { 0 };

	take_facts(&facts);
	print(&facts, &largest, &text);
	IS_IN("not ready");
	IS_IN("[1234] is halted: ");
	IS_IN("halted");
	IS_IN("12.3G");
	IS_IN("retention  30 d\n");
	print(&facts, NULL, &text);
	IS_IN("no process answers");
	IS_IN("transaction");
	print(NULL, &largest, &text);
	IS_IN("could not connect to the database");
	IS_IN("halted");
	print(NULL, NULL, &text);
	facts_fini(&facts);
}
END_TEST

/* ---- a stranger's page ---- */

static char stage_name[] = "\x1b]0;owned\x07\xc2\x9b"
			   "2J\u202e";
static struct process_stage steering_stages[] = {
	{ stage_name, INT64_MAX },
	{ "database", INT64_MAX },
	{ "batch", INT64_MIN },
};
static struct process_stage most_stages[] = {
	{ "batch", INT64_MAX },
	{ "database", INT64_MAX },
	{ "local", 1 },
};
static struct process_key steering_keys[] = {
	{ stage_name, stage_name, INT64_MAX, INT64_MIN },
};
static struct process_route steering_routes[] = {
	{ .name = stage_name,
	  .handled = INT64_MAX,
	  .stages = steering_stages,
	  .stage_count = 3,
	  .conflicts = INT64_MIN,
	  .repeated = INT64_MAX,
	  .keys = steering_keys,
	  .key_count = 1 },
	{ .name = "most",
	  .handled = INT64_MAX,
	  .stages = most_stages,
	  .stage_count = 3 },
};
static struct process_partition steering_partition = { stage_name, INT32_MAX,
						       stage_name, stage_name,
						       INT64_MAX,  INT64_MAX };
static const struct process_status steering = {
	.version = stage_name,
	.group = stage_name,
	.pid = 1,
	.uptime_seconds = INT64_MAX,
	.why_not_ready = stage_name,
	.lanes = 4,
	.prefilter = stage_name,
	.partitions = &steering_partition,
	.partition_count = 1,
	.routes = steering_routes,
	.route_count = 2,
};

static void take_steering_facts(struct facts *facts)
{
	static const char *const position[] = { "topic",       "partition",
						"next_offset", "age_seconds",
						"attempts",    "holder" };
	static const char *const here[] = { stage_name,
					    "2147483647",
					    "99999999999999999999999",
					    "-9223372036854775808",
					    "9223372036854775807",
					    stage_name };
	static const char *const parked[] = { "scope", "state", "cause",
					      "count", "route", "group" };
	static const char *const dead[] = { scope,      "dead",
					    stage_name, "9223372036854775807",
					    stage_name, stage_name };

	facts_take(facts, "position", position, here, 6);
	facts_take(facts, "parked", parked, dead, 6);
	facts_take(facts, "parked", parked, dead, 6);
}

/* But for newlines, only what a terminal shows. */
static void check_steers_nothing(const struct text *text)
{
	ck_assert_msg(readable_is_plain(bytes_of(text->data, text->size)), "%s",
		      text->data);
}

START_TEST(no_text_from_outside_steers_the_terminal_and_sums_stay_at_the_most)
{
	scoped_text struct text text = { 0 };
	struct facts facts = { 0 };

	steering_partition.state = "running";
	take_steering_facts(&facts);
	print(&facts, &steering, &text);
	check_steers_nothing(&text);
	IS_IN("\\x1b]0;owned\\x07");
	IS_IN("9.2E        9.2E  100.0%");
	ck_assert_ptr_null(strstr(text.data, "attempt -"));
	text_reset(&text);
	top_print(&steering, &a_pipe, &text);
	check_steers_nothing(&text);
	facts_fini(&facts);
}
END_TEST

START_TEST(what_stands_in_the_database_steers_no_terminal)
{
	static const char evil[] = "it's \x1b[2J\u202e";
	struct config cfg = { .kafka = { .group = group } };
	struct gc_line line = { .removed = 1, .kept = 1, .busy = true };
	struct gc_page gc = { .cfg = &cfg, .lines = &line, .count = 1 };
	struct parked_page parked = { .cfg = &cfg };
	const struct once_log_reading known = { .scope = evil,
						.known = true,
						.rows = 1 };
	const struct once_log_reading foreign = { .scope = evil, .rows = 1 };
	const struct once_parked_message msg = { .scope = evil,
						 .group = evil,
						 .route = evil,
						 .topic = evil,
						 .cause = evil,
						 .reason = evil,
						 .sqlstate = evil,
						 .parked_at = evil,
						 .retry_at = evil };

	snprintf(line.doubt, sizeof(line.doubt), "%s", evil);
	gc_page_add_reading(&gc, &known);
	gc_page_add_reading(&gc, &foreign);
	check_steers_nothing(&gc.rows);
	check_steers_nothing(&gc.notes);
	ck_assert_ptr_nonnull(strstr(gc.notes.data, "--scope 'it'\\''s "));
	text_fini(&gc.rows);
	text_fini(&gc.notes);
	parked_print_text(&parked, &msg);
	parked.whole = true;
	parked_print_text(&parked, &msg);
	check_steers_nothing(&parked.text);
	parked_page_fini(&parked);
}
END_TEST

START_TEST(the_largest_top_fits_80_columns_of_a_screen_and_is_whole_in_a_pipe)
{
	scoped_text struct text text = { 0 };

	top_print(&largest, &a_screen, &text);
	ck_assert_msg(widest_line(&text) <= 80, "%s", text.data);
	IS_IN("12,345,678,901");
	IS_IN("100.0%");
	text_reset(&text);
	top_print(&largest, &a_pipe, &text);
	IS_IN(keys[0].key);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("columns");
	TCase *tests = tcase_create("columns");

	tcase_add_test(
		tests,
		numbers_stand_to_the_right_and_are_grouped_where_somebody_looks);
	tcase_add_test(tests, width_is_what_a_terminal_shows);
	tcase_add_test(tests, text_is_cut_before_numbers_are_rounded);
	tcase_add_test(tests, a_spare_column_goes_first);
	tcase_add_test(tests, colour_changes_no_width);
	tcase_add_test(tests, durations_and_sizes_are_short);
	tcase_add_test(tests,
		       the_largest_status_fits_80_columns_whoever_answers);
	tcase_add_test(
		tests,
		the_largest_top_fits_80_columns_of_a_screen_and_is_whole_in_a_pipe);
	tcase_add_test(
		tests,
		no_text_from_outside_steers_the_terminal_and_sums_stay_at_the_most);
	tcase_add_test(tests, what_stands_in_the_database_steers_no_terminal);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
