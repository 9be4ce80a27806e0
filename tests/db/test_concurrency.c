/*
 * test_concurrency.c - two sessions in two threads that want the same at the
 * same moment.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS = 1000,
	DEADLOCK_ROUNDS = 50,
	CROSSED_ROUNDS = 150,
	CROSSED_COUNT = 12,
	WATCHED_ROUNDS = 200
};

static struct trial trial;
static pthread_barrier_t barrier;

/* Rows of a VALUES list: (ending, msg_id, biz_id). */
struct list {
	char *text;
	size_t size;
	FILE *out;
};

/* One of the two. What it saw is looked at when both have ended. */
struct rival {
	pthread_t thread;
	struct once_session *session;
	int number;
	unsigned endings[ONCE_HALTED_ENDING + 1];
	unsigned repeated;
	struct once_error err; /* of the first run that failed */
	unsigned dice;
	struct once_strand strand; /* tenure 0: none */
	struct list repeats;       /* what its duplicates and conflicts were */
};

static struct rival rivals[2];

static void set_up(void)
{
	trial_init(&trial, NULL, 0);
	pthread_barrier_init(&barrier, NULL, 2);
}

/* Both share a prefilter, and have a partition each. */
static void open_prefilter(void)
{
	static const struct once_prefilter_options options = {
		.local_max_bytes = 1 << 16,
		.retention_ms = -1,
	};

	ck_assert_int_eq(
		once_prefilter_create(&options, &trial.prefilter, &trial.err),
		ONCE_OK);
}

/* Before there are threads. */
static void take_partition(struct rival *rival)
{
	static const int64_t zeros[] = { 0, 0 };
	struct once_position position;

	ck_assert_int_eq(once_session_create_positions(rival->session, "g", "t",
						       zeros, 2, &trial.err),
			 ONCE_OK);
	ck_assert_int_eq(once_session_take_position(rival->session, "g", "t",
						    rival->number, &position,
						    &trial.err),
			 ONCE_OK);
	rival->strand = (struct once_strand){ "g", "t", rival->number,
					      0,   0,   position.tenure };
}

static void open_rivals(enum once_isolation isolation)
{
	const struct once_route *routes[] = { trial.routes[0] };
	struct once_session_options options = { .conninfo = trial.pg.conninfo,
						.application_name = "rival",
						.isolation = isolation,
						.routes = routes,
						.route_count = 1,
						.prefilter = trial.prefilter };

	for (int i = 0; i < 2; i++) {
		rivals[i] = (struct rival){ .number = i };
		ck_assert_int_eq(once_session_create(&options,
						     &rivals[i].session,
						     &trial.err),
				 ONCE_OK);
		ck_assert_int_eq(
			once_session_connect(rivals[i].session, &trial.err),
			ONCE_OK);
		if (trial.prefilter != NULL)
			take_partition(&rivals[i]);
	}
}

static void tear_down(void)
{
	for (int i = 0; i < 2; i++)
		once_session_destroy(rivals[i].session);
	pthread_barrier_destroy(&barrier);
	trial_fini(&trial);
}

static void run_rivals(enum once_isolation isolation, void *(*main_f)(void *))
{
	open_rivals(isolation);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&rivals[i].thread, NULL, main_f,
						&rivals[i]),
				 0);
	for (int i = 0; i < 2; i++)
		pthread_join(rivals[i].thread, NULL);
	for (int i = 0; i < 2; i++)
		ck_assert_str_eq(rivals[i].err.text, "");
}

static unsigned total(enum once_ending ending)
{
	return rivals[0].endings[ending] + rivals[1].endings[ending];
}

static void run(struct rival *rival, struct mail *mail)
{
	struct once_run_stats stats;
	struct once_error err;

	mail_again(mail);
	if (once_session_run(rival->session, mail->items, mail->count, &stats,
			     &err) != ONCE_OK &&
	    rival->err.status == ONCE_OK)
		rival->err = err;
	for (size_t i = 0; i < mail->count; i++)
		rival->endings[mail->items[i].ending]++;
	rival->repeated += stats.repeated;
}

/* Three messages a round; one comes in another order to each. */
static void *send_the_same(void *arg)
{
	struct rival *rival = arg;
	struct mail mail;
	char key[3][32];

	mail_init(&mail, 3);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 3; i++) {
			int at = rival->number == 0 ? i : 2 - i;

			snprintf(key[i], sizeof(key[i]), "%d-%d", round, at);
			mail_set_id(&mail, (size_t)i, key[i]);
			mail_set_biz(&mail, (size_t)i, key[i]);
		}
		pthread_barrier_wait(&barrier);
		run(rival, &mail);
	}
	mail_fini(&mail);
	return NULL;
}

START_TEST(the_same_keys_at_the_same_moment_take_effect_once) /* C28, C91 */
{
	run_rivals(ONCE_READ_COMMITTED, send_the_same);
	ck_assert_uint_eq(total(ONCE_HANDLED_ENDING), 3 * ROUNDS);
	ck_assert_uint_eq(total(ONCE_DUPLICATE_ENDING), 3 * ROUNDS);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"),
			 3 * ROUNDS);
}
END_TEST

static atomic_uint called;

/* The first of two in a round is sent back. */
static enum once_verdict retry_first(void *self, const struct once_message *msg,
				     struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return atomic_fetch_add(&called, 1) % 2 == 0 ? ONCE_RETRY : ONCE_DONE;
}

static void *send_poison(void *arg)
{
	struct rival *rival = arg;
	struct mail mail;
	char key[32];

	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	for (int round = 0; round < ROUNDS; round++) {
		snprintf(key, sizeof(key), "%d", round);
		mail_set_id(&mail, 0, key);
		mail_set_biz(&mail, 0, key);
		pthread_barrier_wait(&barrier);
		run(rival, &mail);
	}
	mail_fini(&mail);
	return NULL;
}

START_TEST(where_the_first_rolls_back_the_second_runs) /* C28 */
{
	trial_poison = retry_first;
	run_rivals(ONCE_READ_COMMITTED, send_poison);
	ck_assert_uint_eq(total(ONCE_RETRY_ENDING), ROUNDS);
	ck_assert_uint_eq(total(ONCE_HANDLED_ENDING), ROUNDS);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"),
			 ROUNDS);
}
END_TEST

/* The offset's parity says in which order. */
static enum once_verdict count_both(void *self, const struct once_message *msg,
				    struct once_call *call)
{
	static const char *const sql[] = {
		"UPDATE counter SET n = n + 1 WHERE id = 0",
		"UPDATE counter SET n = n + 1 WHERE id = 1",
	};
	int first = (int)(once_partition(msg) % 2);

	(void)self;
	once_send(call, sql[first], ONCE_NO_PARAMS);
	once_send(call, "SELECT pg_sleep(0.005)", ONCE_NO_PARAMS);
	once_send(call, sql[1 - first], ONCE_NO_PARAMS);
	return ONCE_DONE;
}

static void *send_crosswise(void *arg)
{
	struct rival *rival = arg;
	struct mail mail;
	char key[32];

	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	mail.items[0].record.partition = rival->number;
	for (int round = 0; round < DEADLOCK_ROUNDS; round++) {
		snprintf(key, sizeof(key), "%d-%d", rival->number, round);
		mail_set_id(&mail, 0, key);
		mail_set_biz(&mail, 0, key);
		pthread_barrier_wait(&barrier);
		run(rival, &mail);
	}
	mail_fini(&mail);
	return NULL;
}

/* Without turns, it is one in nearly each round. */
START_TEST(after_a_deadlock_they_take_turns_and_all_succeed) /* C52 */
{
	pg_fixture_run(&trial.pg,
		       "CREATE TABLE counter (id int PRIMARY KEY, n int);"
		       "INSERT INTO counter VALUES (0, 0), (1, 0);"
		       "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "
		       "deadlock_timeout = ''10ms''', current_database()); "
		       "END $$");
	trial_poison = count_both;
	run_rivals(ONCE_READ_COMMITTED, send_crosswise);
	ck_assert_uint_eq(total(ONCE_HANDLED_ENDING), 2 * DEADLOCK_ROUNDS);
	ck_assert_uint_gt(rivals[0].repeated + rivals[1].repeated, 0);
	ck_assert_uint_le(rivals[0].repeated + rivals[1].repeated, 3);
	ck_assert(once_route_takes_turns(trial.routes[0]));
	ck_assert_int_eq(trial_count(&trial, "SELECT sum(n) FROM counter"),
			 4 * DEADLOCK_ROUNDS);
}
END_TEST

START_TEST(serialization_failures_are_retried_uncounted) /* C48 */
{
	run_rivals(_i == 0 ? ONCE_REPEATABLE_READ : ONCE_SERIALIZABLE,
		   send_the_same);
	ck_assert_uint_eq(total(ONCE_HANDLED_ENDING), 3 * ROUNDS);
	ck_assert_uint_eq(total(ONCE_DUPLICATE_ENDING), 3 * ROUNDS);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"),
			 3 * ROUNDS);
}
END_TEST

static unsigned draw(struct rival *rival, unsigned sides)
{
	rival->dice = rival->dice * 1103515245u + 12345u;
	return rival->dice / 65536u % sides;
}

static void write_down_repeats(struct rival *rival, const struct mail *mail)
{
	for (size_t i = 0; i < mail->count; i++) {
		const struct once_item *item = &mail->items[i];

		if (item->ending != ONCE_HANDLED_ENDING)
			fprintf(rival->repeats.out, ", ('%s', '%.*s', '%.*s')",
				once_ending_word(item->ending),
				(int)item->msg_id.size,
				(const char *)item->msg_id.data,
				(int)item->biz_id.size,
				(const char *)item->biz_id.data);
	}
}

static void put_on_strand(struct rival *rival, struct mail *mail)
{
	for (size_t i = 0; i < mail->count && rival->strand.tenure != 0; i++) {
		mail_set_strand(mail, i, &rival->strand);
		mail->items[i].record.partition = rival->number;
		mail->items[i].record.offset =
			rival->strand.next_offset + (int64_t)i;
	}
}

/* Messages and operations in all the ways in which they can be crossed. */
static void *send_crossed(void *arg)
{
	struct rival *rival = arg;
	struct mail mail;
	char key[32];

	rival->dice = 17u + (unsigned)rival->number;
	rival->repeats.out =
		open_memstream(&rival->repeats.text, &rival->repeats.size);
	mail_init(&mail, CROSSED_COUNT);
	for (int round = 0; round < CROSSED_ROUNDS; round++) {
		for (size_t i = 0; i < CROSSED_COUNT; i++) {
			snprintf(key, sizeof(key), "m%d-%u", round / 3,
				 draw(rival, 3 * CROSSED_COUNT));
			mail_set_id(&mail, i, key);
			snprintf(key, sizeof(key), "b%d-%u", round / 3,
				 draw(rival, 3 * CROSSED_COUNT));
			mail_set_biz(&mail, i, key);
		}
		put_on_strand(rival, &mail);
		pthread_barrier_wait(&barrier);
		run(rival, &mail);
		write_down_repeats(rival, &mail);
	}
	mail_fini(&mail);
	fclose(rival->repeats.out);
	return NULL;
}

/* Of what is called a repetition, the first is in the log. */
static void check_repeats(struct rival *rival)
{
	static const char sql[] =
		"SELECT count(*) FROM (VALUES ('', '', '')%s) AS r (ending, m, b) "
		"WHERE ending <> '' AND NOT EXISTS (SELECT FROM "
		"once.consume_log WHERE CASE ending "
		"WHEN 'duplicate' THEN biz_id = b "
		"WHEN 'conflict' THEN msg_id = m AND biz_id <> b END)";
	size_t size = sizeof(sql) + rival->repeats.size;
	char *text = malloc(size);

	ck_assert_ptr_nonnull(text);
	snprintf(text, size, sql, rival->repeats.text);
	ck_assert_int_eq(trial_count(&trial, text), 0);
	free(text);
	free(rival->repeats.text);
}

START_TEST(crossed_keys_at_the_same_moment_take_effect_once)
{
	static const enum once_isolation isolations[] = { ONCE_READ_COMMITTED,
							  ONCE_REPEATABLE_READ,
							  ONCE_SERIALIZABLE };

	if (_i >= 3)
		open_prefilter();
	run_rivals(isolations[_i % 3], send_crossed);
	ck_assert_uint_eq(total(ONCE_HANDLED_ENDING) +
				  total(ONCE_DUPLICATE_ENDING) +
				  total(ONCE_CONFLICT_ENDING),
			  2 * CROSSED_ROUNDS * CROSSED_COUNT);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"),
			 total(ONCE_HANDLED_ENDING));
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM once.consume_log "
				     "JOIN effect USING (msg_id)"),
			 total(ONCE_HANDLED_ENDING));
	check_repeats(&rivals[0]);
	check_repeats(&rivals[1]);
}
END_TEST

/* Of a batch with each message in a topic of its own, whose name is gone when
 * the batch is over. */
static void run_named(struct trial *here, int round)
{
	char names[CROSSED_COUNT][32];
	struct mail mail;

	mail_init(&mail, CROSSED_COUNT);
	for (int i = 0; i < CROSSED_COUNT; i++) {
		struct once_record *record = &mail.items[i].record;

		record->offset += (int64_t)round * CROSSED_COUNT;
		snprintf(names[i], sizeof(names[i]), "topic %lld",
			 (long long)record->offset);
		record->topic = names[i];
		mail_set_id(&mail, (size_t)i, names[i]);
		mail_set_biz(&mail, (size_t)i, names[i]);
	}
	trial_run(here, &mail, ONCE_OK);
	memset(names, '?', sizeof(names));
	mail_fini(&mail);
}

struct watcher {
	pthread_t thread;
	const struct once_session *session;
	atomic_bool ending;
	unsigned seen;
	unsigned mixed;
};

static void *watch_calls(void *arg)
{
	struct watcher *watcher = arg;
	struct once_current_call call;
	char name[32];

	while (!atomic_load(&watcher->ending)) {
		once_session_get_call(watcher->session, &call);
		if (call.began_ms == 0)
			continue;
		snprintf(name, sizeof(name), "topic %lld",
			 (long long)call.offset);
		watcher->seen++;
		watcher->mixed += strcmp(call.topic, name) != 0;
	}
	return NULL;
}

START_TEST(another_thread_sees_one_call_whole_and_nothing_that_is_gone)
{
	struct watcher watcher = { .session = trial.session };

	pthread_create(&watcher.thread, NULL, watch_calls, &watcher);
	for (int round = 0; round < WATCHED_ROUNDS; round++)
		run_named(&trial, round);
	atomic_store(&watcher.ending, true);
	pthread_join(watcher.thread, NULL);
	ck_assert_uint_gt(watcher.seen, 0);
	ck_assert_uint_eq(watcher.mixed, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("concurrency");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests,
		       the_same_keys_at_the_same_moment_take_effect_once);
	tcase_add_test(tests, where_the_first_rolls_back_the_second_runs);
	tcase_add_test(tests, after_a_deadlock_they_take_turns_and_all_succeed);
	tcase_add_loop_test(tests, serialization_failures_are_retried_uncounted,
			    0, 2);
	tcase_add_loop_test(
		tests, crossed_keys_at_the_same_moment_take_effect_once, 0, 6);
	tcase_add_test(
		tests,
		another_thread_sees_one_call_whole_and_nothing_that_is_gone);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
