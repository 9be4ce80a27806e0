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

enum {
	ROUNDS = 1000,
	DEADLOCK_ROUNDS = 50
};

static struct trial trial;
static pthread_barrier_t barrier;

/* One of the two. What it saw is looked at when both have ended. */
struct rival {
	pthread_t thread;
	struct once_session *session;
	int number;
	unsigned endings[ONCE_HALTED_ENDING + 1];
	unsigned repeated;
	struct once_error err; /* of the first run that failed */
};

static struct rival rivals[2];

static void set_up(void)
{
	trial_init(&trial, NULL, 0);
	pthread_barrier_init(&barrier, NULL, 2);
}

static void open_rivals(enum once_isolation isolation)
{
	const struct once_route *routes[] = { trial.routes[0] };
	struct once_session_options options = { .conninfo = trial.pg.conninfo,
						.application_name = "rival",
						.isolation = isolation,
						.routes = routes,
						.route_count = 1 };

	for (int i = 0; i < 2; i++) {
		rivals[i] = (struct rival){ .number = i };
		ck_assert_int_eq(once_session_create(&options,
						     &rivals[i].session,
						     &trial.err),
				 ONCE_OK);
		ck_assert_int_eq(
			once_session_connect(rivals[i].session, &trial.err),
			ONCE_OK);
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

START_TEST(deadlocks_are_retried_and_all_succeed) /* C52 */
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

int main(void)
{
	Suite *suite = suite_create("concurrency");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests,
		       the_same_keys_at_the_same_moment_take_effect_once);
	tcase_add_test(tests, where_the_first_rolls_back_the_second_runs);
	tcase_add_test(tests, deadlocks_are_retried_and_all_succeed);
	tcase_add_loop_test(tests, serialization_failures_are_retried_uncounted,
			    0, 2);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
