/*
 * test_settings.c - the same messages leave the same database, with whatever
 * prefilter and whatever becomes of it; only who stopped a duplicate differs.
 *
 * All messages of an operation are in one partition, so that their order, and
 * with it what each of them comes to, is the same every time.
 *
 * ONCE_TEST_MESSAGES: how many; 200,000 unless set.
 */
#include "onced_fixture.h"
#include "redis_server.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	PARTITIONS = 4,
	USUAL_MESSAGES = 200000,
	AT_ONCE = 5000,
	ONE_REPEATS_IN = 3,
	ONE_CONFLICTS_IN = 20, /* of those that repeat */
	WAIT_MS = 300000
};

struct setting {
	const char *name;
	bool local;
	bool redis;
	bool unruly; /* Redis is killed and comes back, empty */
};

static const struct setting settings[] = {
	{ "no prefilter", false, false, false },
	{ "local", true, false, false },
	{ "redis", false, true, false },
	{ "both", true, true, false },
	{ "both, and Redis comes and goes", true, true, true },
};

enum {
	COUNT_SETTINGS = sizeof(settings) / sizeof(settings[0])
};

/* What a setting has left, and counted. */
struct result {
	char *tables;
	int64_t handled;
	int64_t duplicates;
	int64_t conflicts;
	int64_t stopped; /* of the duplicates, by a prefilter */
};

static struct onced_fixture fixture;
static struct redis_server redis;
static int64_t messages;
static unsigned dice = 1;

static unsigned draw(unsigned sides)
{
	dice = dice * 1103515245u + 12345u;
	return dice / 65536u % sides;
}

/* ---- messages ---- */

struct texts {
	char id[32];
	char biz[32];
	char value[32];
};

/* A new operation; or one of those before, under its own id or a new one, with
 * the same payload or another. */
static void write_message(struct texts *texts, int64_t i, int64_t *operations)
{
	bool repeats = *operations > 0 && draw(ONE_REPEATS_IN) == 0;
	bool conflicts = repeats && draw(ONE_CONFLICTS_IN) == 0;
	long long at =
		repeats ? (long long)(draw(32768) * 32768u + draw(32768)) %
				  *operations
			: (*operations)++;

	snprintf(texts->biz, sizeof(texts->biz), "b%lld", at);
	snprintf(texts->value, sizeof(texts->value), "%s%lld",
		 conflicts ? "other" : "v", at);
	if (repeats && draw(2) == 0)
		snprintf(texts->id, sizeof(texts->id), "again%lld",
			 (long long)i);
	else
		snprintf(texts->id, sizeof(texts->id), "m%lld", at);
}

static void send_all(void)
{
	static struct texts texts[AT_ONCE];
	static struct letter letters[AT_ONCE];
	int64_t operations = 0;

	for (int64_t sent = 0; sent < messages; sent += AT_ONCE) {
		for (int64_t i = 0; i < AT_ONCE; i++) {
			write_message(&texts[i], sent + i, &operations);
			letters[i] = (struct letter){
				.partition = (int32_t)(atoll(texts[i].biz + 1) %
						       PARTITIONS),
				.msg_id = texts[i].id,
				.biz_id = texts[i].biz,
				.value = texts[i].value,
			};
		}
		onced_fixture_send(&fixture, letters, AT_ONCE);
	}
}

/* ---- a setting ---- */

static void wait_a_moment(void)
{
	struct timespec moment = { 0, (long)(50 + draw(300)) * 1000000 };

	nanosleep(&moment, NULL);
}

static bool all_are_past(void)
{
	return pg_fixture_get_int64(&fixture.pg,
				    "SELECT coalesce(sum(next_offset), 0) "
				    "FROM once.position") >= messages;
}

static void stir_redis(void)
{
	struct once_error err;

	while (!all_are_past()) {
		wait_a_moment();
		redis_server_kill(&redis);
		wait_a_moment();
		ck_assert_msg(redis_server_start(&redis, &err) == ONCE_OK, "%s",
			      err.text);
	}
}

static char *read_tables(void)
{
	static const char sql[] =
		"SELECT concat("
		"(SELECT md5(string_agg(msg_id || biz_id || value, ' ' "
		"ORDER BY biz_id, msg_id)) FROM effect), ' ', "
		"(SELECT md5(string_agg(msg_id || biz_id || topic, ' ' "
		"ORDER BY msg_id)) FROM once.consume_log), ' ', "
		"(SELECT md5(string_agg(concat(partition, message_offset, "
		"cause, msg_id, biz_id, value, fingerprint, "
		"original_fingerprint), ' ' "
		"ORDER BY partition, message_offset)) FROM once.parked))";

	return pg_fixture_get_text(&fixture.pg, sql);
}

static void read_result(struct onced *onced, struct result *result)
{
	int64_t intercepts =
		onced_get_metric(onced, "onced_intercepts_total", NULL);
	int64_t in_batch = onced_get_metric(onced, "onced_intercepts_total",
					    "stage=\"batch\"");

	result->tables = read_tables();
	result->handled = onced_get_metric(onced, "onced_handled_total", NULL);
	result->conflicts =
		onced_get_metric(onced, "onced_conflicts_total", NULL);
	result->stopped = intercepts - in_batch;
	result->duplicates =
		intercepts +
		onced_get_metric(onced, "onced_backstop_hits_total", NULL);
}

/* A group and a database of its own read the same topic. */
static void run_setting(const struct setting *setting, struct result *result)
{
	char prefilter[PATH_MAX];
	struct onced_options options = { .prefilter = prefilter };
	struct onced onced;

	snprintf(prefilter, sizeof(prefilter),
		 "  local:\n    max_memory: %s\n  redis:\n    url: \"%s\"\n",
		 setting->local ? "64MiB" : "0B",
		 setting->redis ? redis.url : "");
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	if (setting->unruly)
		stir_redis();
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_wait_until_counted(&onced, 1, messages);
	read_result(&onced, result);
	ck_assert_int_eq(onced_stop(&onced), 0);
}

static void compare(const struct setting *setting, const struct result *result,
		    const struct result *wanted)
{
	ck_assert_msg(strcmp(result->tables, wanted->tables) == 0,
		      "%s: %s, not %s", setting->name, result->tables,
		      wanted->tables);
	ck_assert_int_eq(result->handled, wanted->handled);
	ck_assert_int_eq(result->duplicates, wanted->duplicates);
	ck_assert_int_eq(result->conflicts, wanted->conflicts);
	if (setting->local || setting->redis)
		ck_assert_int_gt(result->stopped, 0);
	else
		ck_assert_int_eq(result->stopped, 0);
}

static void set_up(void)
{
	struct once_error err;
	const char *wanted = getenv("ONCE_TEST_MESSAGES");

	messages = wanted == NULL ? USUAL_MESSAGES : atoll(wanted);
	messages -= messages % AT_ONCE;
	ck_assert_msg(redis_server_create(&redis, &err) == ONCE_OK, "%s",
		      err.text);
	onced_fixture_init(&fixture, PARTITIONS);
	onced_fixture_without_monitor(&fixture);
}

static void tear_down(void)
{
	onced_fixture_fini(&fixture);
	redis_server_destroy(&redis);
}

/* C73 */
START_TEST(the_same_messages_leave_the_same_database)
{
	struct result results[COUNT_SETTINGS];

	send_all();
	for (size_t i = 0; i < COUNT_SETTINGS; i++) {
		if (i > 0)
			onced_fixture_begin_anew(&fixture);
		run_setting(&settings[i], &results[i]);
		compare(&settings[i], &results[i], &results[0]);
	}
	ck_assert_int_gt(results[0].conflicts, 0);
	ck_assert_int_eq(results[0].handled + results[0].duplicates +
				 results[0].conflicts,
			 messages);
	for (size_t i = 0; i < COUNT_SETTINGS; i++)
		free(results[i].tables);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("settings");
	TCase *tcase = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA) | NEED(REDIS));
	tcase_set_timeout(tcase, 500);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, the_same_messages_leave_the_same_database);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
