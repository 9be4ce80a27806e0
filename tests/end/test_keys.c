/*
 * test_keys.c - onced keys: what the templates yield is seen before anything is
 * consumed. No database is there for it, and the plugin is an empty file.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ADMIN_MS = 30000
};

struct shell {
	struct onced_fixture fixture;
	struct onced onced;
	char plugin[PATH_MAX];
};

static void init_with(struct shell *shell, int partitions,
		      struct onced_options *options)
{
	struct once_error err;

	onced_fixture_init(&shell->fixture, partitions);
	onced_fixture_put_file(&shell->fixture, "empty.so");
	ck_assert(temp_dir_path(shell->plugin, shell->fixture.dir.path,
				"empty.so", &err) == ONCE_OK);
	options->plugin = shell->plugin;
	options->conninfo = "host=127.0.0.1 port=1 dbname=none";
	onced_init(&shell->onced, &shell->fixture, options);
}

static void init(struct shell *shell, int partitions)
{
	struct onced_options options = { 0 };

	init_with(shell, partitions, &options);
}

static void fini(struct shell *shell)
{
	onced_fixture_fini(&shell->fixture);
}

static int keys(struct shell *shell, const char *option, const char *value,
		const char *more)
{
	const char *arguments[] = { "keys",
				    "-c",
				    shell->onced.config,
				    option,
				    option == NULL ? NULL : value,
				    more,
				    NULL };

	return onced_call(&shell->onced, arguments);
}

static void check_says(struct shell *shell, const char *text)
{
	onced_check_output(&shell->onced, text);
}

/* What PostgreSQL finds in the JSON that was written: "->0->>'bad'". */
static void check_json(struct shell *shell, const char *path,
		       const char *expected)
{
	char *output = read_file(shell->onced.output);
	const char *values[] = { output };
	char sql[200];
	PGresult *res;

	ck_assert_ptr_nonnull(output);
	snprintf(sql, sizeof(sql), "SELECT ($1::jsonb)%s", path);
	res = PQexecParams(shell->fixture.pg.conn, sql, 1, NULL, values, NULL,
			   NULL, 0);
	ck_assert_msg(PQresultStatus(res) == PGRES_TUPLES_OK, "%s", output);
	ck_assert_msg(strcmp(PQgetvalue(res, 0, 0), expected) == 0,
		      "%s: %s isn't %s", path, PQgetvalue(res, 0, 0), expected);
	PQclear(res);
	free(output);
}

static void check_number(struct shell *shell, const char *member,
			 const char *expected)
{
	char path[80];

	snprintf(path, sizeof(path), "->0->>'%s'", member);
	check_json(shell, path, expected);
}

/* ---- what it finds ---- */

static const struct letter coarse[] = {
	{ 0, "m1", "acme", NULL, "{\"refund_no\":\"R-1\"}" },
	{ 0, "m2", "other", NULL, "{\"refund_no\":\"R-1\"}" },
	{ 1, "m3", "acme", NULL, "{\"refund_no\":\"R-2\"}" },
};

/* C30 */
START_TEST(a_template_too_coarse_shows_two_payloads_under_one_key)
{
	struct shell shell;
	char place[200];

	init(&shell, 2);
	onced_fixture_send(&shell.fixture, coarse, 3);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 1);
	check_says(&shell, "conflicting             1   33.333 %  same key, "
			   "other payload: would be parked");
	check_says(&shell, ": biz_id\n      acme\n");
	check_says(&shell, "\n1 message would be parked");
	snprintf(place, sizeof(place), "%s[0] 0", shell.fixture.kafka.topic);
	check_says(&shell, place);
	snprintf(place, sizeof(place), "%s[1] 0", shell.fixture.kafka.topic);
	check_says(&shell, place);
	ck_assert_int_eq(keys(&shell, "--json", NULL, NULL), 1);
	check_number(&shell, "conflicting", "1");
	check_number(&shell, "in_several_partitions",
		     "{\"biz_id\": 1, \"msg_id\": 0}");
	check_json(&shell, "->0->'conflicting_examples'->0->>'key'", "acme");
	fini(&shell);
}
END_TEST

START_TEST(a_conflict_that_is_only_skipped_is_no_reason_to_worry)
{
	struct onced_options options = { .route = "    on_conflict: skip\n" };
	struct shell shell;

	init_with(&shell, 2, &options);
	onced_fixture_send(&shell.fixture, coarse, 3);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 0);
	check_says(&shell, "other payload: passed over");
	check_says(&shell, "nothing would be parked");
	fini(&shell);
}
END_TEST

START_TEST(a_clean_topic_ends_with_0_duplicates_included)
{
	struct shell shell;

	init(&shell, 3);
	onced_fixture_send_series(&shell.fixture, 0, 300);
	onced_fixture_send_series(&shell.fixture, 0, 30);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 0);
	check_says(&shell, "330 messages at all 330 offsets");
	check_says(&shell, "nothing would be parked");
	ck_assert_int_eq(keys(&shell, "--json", NULL, NULL), 0);
	check_number(&shell, "new", "300");
	check_number(&shell, "repeated", "30");
	check_number(&shell, "repeated_by", "{\"biz_id\": 0, \"msg_id\": 30}");
	check_number(&shell, "different", "{\"biz_id\": 300, \"msg_id\": 300}");
	check_json(&shell, "->0->'partitions'->2->>'messages'", "110");
	fini(&shell);
}
END_TEST

static const struct letter faulty[] = {
	{ 0, "m1", "b1", NULL, "v" },
	{ 0, NULL, "b2", NULL, "v" },
	{ 0, "m3", NULL, NULL, NULL },
};

START_TEST(bad_keys_are_told_with_their_reasons)
{
	struct shell shell;

	init(&shell, 1);
	onced_fixture_send(&shell.fixture, faulty, 3);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 1);
	check_says(&shell, "1  msg_id: header:id is missing");
	check_says(&shell, "1  biz_id: header:biz is missing");
	check_says(&shell, "2 messages would be parked");
	ck_assert_int_eq(keys(&shell, "--json", NULL, NULL), 1);
	check_number(&shell, "bad", "2");
	check_json(&shell, "->0->'bad_keys'->1->>'offset'", "2");
	fini(&shell);
}
END_TEST

START_TEST(a_bad_key_that_would_halt_its_partition_is_told)
{
	struct onced_options options = { .route = "    on_bad_key: halt\n" };
	struct shell shell;

	init_with(&shell, 1, &options);
	onced_fixture_send(&shell.fixture, faulty, 3);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 1);
	check_says(&shell, "partitions would halt");
	ck_assert_int_eq(keys(&shell, "--json", NULL, NULL), 1);
	check_number(&shell, "would_halt", "true");
	check_number(&shell, "would_be_parked", "0");
	fini(&shell);
}
END_TEST

START_TEST(a_key_too_long_is_told_and_does_no_harm)
{
	char biz_id[401];
	struct letter letter = { 0, "m1", biz_id, NULL, "v" };
	struct shell shell;

	memset(biz_id, 'x', 400);
	biz_id[400] = '\0';
	init(&shell, 1);
	onced_fixture_send(&shell.fixture, &letter, 1);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 0);
	check_says(&shell, "too long: 1");
	ck_assert_int_eq(keys(&shell, "--json", NULL, NULL), 0);
	check_number(&shell, "too_long", "{\"biz_id\": 1, \"msg_id\": 0}");
	fini(&shell);
}
END_TEST

START_TEST(what_a_key_holds_does_not_reach_the_terminal_as_it_is)
{
	static const struct letter letters[] = {
		{ 0, "m1", "b\033[2J", NULL, "v" },
		{ 0, "m2", "b\033[2J", NULL, "v" },
	};
	struct shell shell;

	init(&shell, 1);
	onced_fixture_send(&shell.fixture, letters, 2);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 0);
	check_says(&shell, "b\\x1b[2J");
	fini(&shell);
}
END_TEST

/* ---- what it reads ---- */

START_TEST(a_sample_is_the_newest_of_each_partition)
{
	struct shell shell;
	int64_t few;

	init(&shell, 3);
	onced_fixture_send_series(&shell.fixture, 0, 300);
	few = kafka_fixture_put(&shell.fixture.kafka, 0, NULL, "no key");
	ck_assert_int_eq(few, 100);
	ck_assert_int_eq(keys(&shell, "--messages", "30", NULL), 1);
	check_says(&shell, "30 messages at the newest 30 of 301 offsets");
	ck_assert_int_eq(keys(&shell, "--messages", "30", "--json"), 1);
	check_number(&shell, "messages", "30");
	check_number(&shell, "bad", "1");
	check_json(&shell, "->0->'partitions'->0->>'from'", "91");
	check_json(&shell, "->0->'partitions'->1->>'from'", "90");
	ck_assert_int_eq(keys(&shell, "--messages", "1", "--json"), 0);
	check_number(&shell, "messages", "1");
	ck_assert_int_eq(keys(&shell, "--all", NULL, NULL), 1);
	check_says(&shell, "301 messages at all 301 offsets");
	fini(&shell);
}
END_TEST

START_TEST(what_a_short_partition_leaves_over_goes_to_the_others)
{
	static const struct letter one = { 1, "m", "b", NULL, "v" };
	struct shell shell;

	init(&shell, 2);
	for (int64_t i = 0; i < 50; i++)
		(void)kafka_fixture_put(&shell.fixture.kafka, 0, NULL, "x");
	onced_fixture_send(&shell.fixture, &one, 1);
	ck_assert_int_eq(keys(&shell, "--messages", "20", "--json"), 1);
	check_json(&shell, "->0->'partitions'->0->>'messages'", "19");
	check_json(&shell, "->0->'partitions'->1->>'messages'", "1");
	fini(&shell);
}
END_TEST

START_TEST(all_is_refused_where_it_would_take_too_much_memory)
{
	struct shell shell;

	init(&shell, 1);
	onced_fixture_send_series(&shell.fixture, 0, 20);
	ck_assert_int_eq(keys(&shell, "--limit", "19", "--all"), 64);
	check_says(&shell, "Kafka has 20 offsets there, and --all reads at "
			   "most 19");
	ck_assert_int_eq(keys(&shell, "--limit", "20", "--all"), 0);
	fini(&shell);
}
END_TEST

START_TEST(an_empty_topic_has_nothing_to_say)
{
	struct shell shell;

	init(&shell, 2);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 0);
	check_says(&shell, "0 messages at all 0 offsets");
	ck_assert_int_eq(keys(&shell, "--json", NULL, NULL), 0);
	check_number(&shell, "messages", "0");
	fini(&shell);
}
END_TEST

static rd_kafka_t *open_producer(const struct kafka_fixture *kafka)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *rk;

	rd_kafka_conf_set(conf, "bootstrap.servers", kafka->bootstrap, NULL, 0);
	rd_kafka_conf_set(conf, "transactional.id", kafka->topic, NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	ck_assert_ptr_null(rd_kafka_init_transactions(rk, ADMIN_MS));
	return rk;
}

static void begin_and_produce(rd_kafka_t *rk, const struct kafka_fixture *kafka,
			      const char *id)
{
	ck_assert_ptr_null(rd_kafka_begin_transaction(rk));
	ck_assert_int_eq(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(kafka->topic),
					   RD_KAFKA_V_PARTITION(0),
					   RD_KAFKA_V_HEADER("id", id, -1),
					   RD_KAFKA_V_HEADER("biz", id, -1),
					   RD_KAFKA_V_END),
			 RD_KAFKA_RESP_ERR_NO_ERROR);
	ck_assert_int_eq(rd_kafka_flush(rk, ADMIN_MS),
			 RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* The last offsets are a marker's, then those of what isn't decided yet. */
START_TEST(what_was_aborted_or_is_still_open_is_not_read_nor_waited_for)
{
	struct shell shell;
	const struct kafka_fixture *kafka = &shell.fixture.kafka;
	rd_kafka_t *rk;

	init(&shell, 1);
	rk = open_producer(kafka);
	begin_and_produce(rk, kafka, "kept");
	ck_assert_ptr_null(rd_kafka_commit_transaction(rk, ADMIN_MS));
	begin_and_produce(rk, kafka, "aborted");
	ck_assert_ptr_null(rd_kafka_abort_transaction(rk, ADMIN_MS));
	ck_assert_int_eq(keys(&shell, "--json", NULL, NULL), 0);
	check_number(&shell, "messages", "1");
	begin_and_produce(rk, kafka, "kept"); /* it would repeat */
	onced_fixture_send_series(&shell.fixture, 0, 3);
	ck_assert_int_eq(keys(&shell, "--json", NULL, NULL), 0);
	check_number(&shell, "messages", "1");
	check_json(&shell, "->0->'partitions'->0->>'end'", "4");
	ck_assert_ptr_null(rd_kafka_commit_transaction(rk, ADMIN_MS));
	ck_assert_int_eq(keys(&shell, "--json", NULL, NULL), 0);
	check_number(&shell, "messages", "5");
	check_number(&shell, "repeated", "1");
	rd_kafka_destroy(rk);
	fini(&shell);
}
END_TEST

/* ---- what it leaves behind, and what it needs ---- */

static bool knows_group(const struct kafka_fixture *kafka)
{
	const struct rd_kafka_group_list *groups = NULL;
	bool knows = false;

	ck_assert_int_eq(
		rd_kafka_list_groups(kafka->rk, NULL, &groups, ADMIN_MS),
		RD_KAFKA_RESP_ERR_NO_ERROR);
	for (int i = 0; i < groups->group_cnt; i++)
		knows = knows ||
			strcmp(groups->groups[i].group, kafka->group) == 0;
	rd_kafka_group_list_destroy(groups);
	return knows;
}

START_TEST(kafka_knows_no_group_of_it_afterwards)
{
	struct onced_options options = { .instance_id = "refund-1" };
	struct shell shell;

	init_with(&shell, 2, &options);
	onced_fixture_send_series(&shell.fixture, 0, 20);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 0);
	ck_assert(!knows_group(&shell.fixture.kafka));
	ck_assert_int_eq(kafka_fixture_get_committed(&shell.fixture.kafka, 0),
			 -1);
	fini(&shell);
}
END_TEST

START_TEST(a_topic_or_handler_that_is_not_there_is_told)
{
	struct shell shell;
	char sentence[200];

	init(&shell, 1);
	ck_assert_int_eq(keys(&shell, "--topic", "nobody", NULL), 64);
	check_says(&shell, "no handler of this configuration takes that topic");
	ck_assert_int_eq(keys(&shell, "--route", "nobody", NULL), 64);
	check_says(&shell, "no handler of this configuration has that name");
	ck_assert_int_eq(keys(&shell, "--route", "effect", NULL), 0);
	ck_assert_int_eq(
		keys(&shell, "--topic", shell.fixture.kafka.topic, NULL), 0);
	kafka_fixture_delete_topic(&shell.fixture.kafka,
				   shell.fixture.kafka.topic);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 78);
	snprintf(sentence, sizeof(sentence), "Kafka has no topic \"%s\"",
		 shell.fixture.kafka.topic);
	check_says(&shell, sentence);
	kafka_fixture_create_topic(&shell.fixture.kafka,
				   shell.fixture.kafka.topic, 1, NULL);
	fini(&shell);
}
END_TEST

START_TEST(wrong_numbers_are_refused)
{
	static const char *const numbers[] = { "0", "-1", "x", "1x", "" };
	struct shell shell;

	init(&shell, 1);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		ck_assert_int_eq(keys(&shell, "--messages", numbers[i], NULL),
				 64);
	ck_assert_int_eq(keys(&shell, "--messages", "5", "--all"), 64);
	ck_assert_int_eq(keys(&shell, "--limit", "5", NULL), 64);
	fini(&shell);
}
END_TEST

START_TEST(without_kafka_it_ends_with_69)
{
	struct onced_options options = { .brokers = "127.0.0.1:1" };
	struct shell shell;

	init_with(&shell, 1, &options);
	ck_assert_int_eq(keys(&shell, NULL, NULL, NULL), 69);
	check_says(&shell, "could not reach Kafka at \"127.0.0.1:1\"");
	check_says(&shell, "Connection refused");
	fini(&shell);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("keys");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests,
		       a_template_too_coarse_shows_two_payloads_under_one_key);
	tcase_add_test(tests,
		       a_conflict_that_is_only_skipped_is_no_reason_to_worry);
	tcase_add_test(tests, a_clean_topic_ends_with_0_duplicates_included);
	tcase_add_test(tests, bad_keys_are_told_with_their_reasons);
	tcase_add_test(tests, a_bad_key_that_would_halt_its_partition_is_told);
	tcase_add_test(tests, a_key_too_long_is_told_and_does_no_harm);
	tcase_add_test(tests,
		       what_a_key_holds_does_not_reach_the_terminal_as_it_is);
	tcase_add_test(tests, a_sample_is_the_newest_of_each_partition);
	tcase_add_test(tests,
		       what_a_short_partition_leaves_over_goes_to_the_others);
	tcase_add_test(tests,
		       all_is_refused_where_it_would_take_too_much_memory);
	tcase_add_test(tests, an_empty_topic_has_nothing_to_say);
	tcase_add_test(
		tests,
		what_was_aborted_or_is_still_open_is_not_read_nor_waited_for);
	tcase_add_test(tests, kafka_knows_no_group_of_it_afterwards);
	tcase_add_test(tests, a_topic_or_handler_that_is_not_there_is_told);
	tcase_add_test(tests, wrong_numbers_are_refused);
	tcase_add_test(tests, without_kafka_it_ends_with_69);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
