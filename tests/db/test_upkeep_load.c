/*
 * test_upkeep_load.c - a million old rows are removed while messages are
 * claimed, new ones and old ones.
 */
#include "clock.h"
#include "process.h"
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <once/upkeep.h>
#include <pthread.h>
#include <stdio.h>

enum {
	DAY_MS = 24 * 3600 * 1000,
	OLD_ROWS = 1000000,
	BATCH = 100,
	OLD_ONES = 20, /* of each batch */
	CLEANERS_MOST_MS = 1000
};

static struct trial trial;

/* Claims all the time. What it saw is looked at when it has ended. */
struct worker {
	pthread_t thread;
	struct once_session *session;
	struct mail mail;
	int64_t batches;
	int64_t longest_ms;
	int64_t handled;
	unsigned repeated;
	struct once_error err; /* of the run that failed */
};

static atomic_bool enough;

/* Keys that are being removed, and keys that nobody has seen. */
static void address(struct mail *mail, int64_t batch)
{
	char id[32];

	for (size_t i = 0; i < mail->count; i++) {
		int64_t number = batch * BATCH + (int64_t)i;

		if (i < OLD_ONES)
			snprintf(id, sizeof(id), "o%lld",
				 (long long)(number * 7919 % OLD_ROWS));
		else
			snprintf(id, sizeof(id), "n%lld", (long long)number);
		mail_set_id(mail, i, id);
		mail_set_biz(mail, i, id);
	}
	mail_again(mail);
}

static enum once_status run_batch(struct worker *worker)
{
	struct once_run_stats stats;
	int64_t began_ms = clock_ms();
	int64_t took_ms;
	enum once_status status;

	address(&worker->mail, worker->batches++);
	status = once_session_run(worker->session, worker->mail.items,
				  worker->mail.count, &stats, &worker->err);
	took_ms = clock_ms() - began_ms;
	if (took_ms > worker->longest_ms)
		worker->longest_ms = took_ms;
	worker->repeated += stats.repeated;
	worker->handled +=
		(int64_t)mail_count(&worker->mail, ONCE_HANDLED_ENDING);
	return status;
}

static void *run_worker(void *arg)
{
	struct worker *worker = arg;

	while (!atomic_load(&enough))
		if (run_batch(worker) != ONCE_OK)
			break;
	return NULL;
}

static void start_worker(struct worker *worker)
{
	worker->session = trial_open_session(&trial, NULL);
	mail_init(&worker->mail, BATCH);
	ck_assert_int_eq(
		pthread_create(&worker->thread, NULL, run_worker, worker), 0);
}

static void stop_worker(struct worker *worker)
{
	atomic_store(&enough, true);
	pthread_join(worker->thread, NULL);
	once_session_destroy(worker->session);
	mail_fini(&worker->mail);
	ck_assert_str_eq(worker->err.text, "");
}

/* Of batches of 500, as long ago as that. The planner knows nothing of them
 * yet. */
static void fill_log(void)
{
	char sql[700];

	ck_assert_int_eq(once_session_connect(trial.session, &trial.err),
			 ONCE_OK);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO once.consume_log (consumer_id, msg_id, biz_id, "
		 "topic, partition, message_offset, fingerprint, consumed_at) "
		 "SELECT id, 'o' || i, 'o' || i, 'old', 0, i, NULL, "
		 "now() - interval '40 days' + i / 500 * interval '1 second' "
		 "FROM once.consumer, generate_series(0, %d) AS i",
		 OLD_ROWS - 1);
	pg_fixture_run(&trial.pg, sql);
}

static struct once_cleaner *open_cleaner(void)
{
	static const char *const scopes[] = { "group/trial" };
	const struct once_cleaner_options options = {
		.conninfo = trial.pg.conninfo,
		.application_name = "cleaner",
		.scopes = scopes,
		.scope_count = 1,
		.retention_ms = DAY_MS,
	};
	struct once_cleaner *cleaner = NULL;

	ck_assert_msg(once_cleaner_open(&options, &cleaner, &trial.err) ==
			      ONCE_OK,
		      "%s", trial.err.text);
	return cleaner;
}

static void take_overdue(void *arg, const struct once_log_reading *reading)
{
	*(int64_t *)arg = reading->overdue_ms;
}

static int64_t read_overdue(struct once_cleaner *cleaner)
{
	int64_t overdue_ms = -1;

	ck_assert_int_eq(once_cleaner_read(cleaner, take_overdue, &overdue_ms,
					   &trial.err),
			 ONCE_OK);
	return overdue_ms;
}

struct sum {
	int64_t removed;
	int64_t steps;
	int64_t longest_ms;
};

static void add_step(struct sum *sum, const struct once_clean_step *step)
{
	sum->removed += step->removed;
	sum->steps++;
	if (step->took_ms > sum->longest_ms)
		sum->longest_ms = step->took_ms;
}

/* Another one can't in the middle of it, and what is behind can be seen. */
static struct sum clean_all(struct once_cleaner *cleaner,
			    struct once_cleaner *other)
{
	struct once_clean_step step = { 0 };
	struct sum sum = { 0 };

	while (!step.round_done) {
		ck_assert_msg(once_cleaner_step(cleaner, &step, &trial.err) ==
				      ONCE_OK,
			      "%s", trial.err.text);
		add_step(&sum, &step);
		if (sum.steps != 5)
			continue;
		ck_assert_int_ge(read_overdue(cleaner), DAY_MS);
		ck_assert_int_eq(once_cleaner_step(other, &step, &trial.err),
				 ONCE_OK);
		ck_assert_int_eq(step.busy, 1);
		step.round_done = 0;
	}
	return sum;
}

static int64_t count_scans(void)
{
	pg_fixture_run(&trial.pg, "SELECT pg_stat_clear_snapshot()");
	return trial_count(&trial, "SELECT seq_scan FROM pg_stat_user_tables "
				   "WHERE relname = 'consume_log'");
}

static bool has_left(void *arg)
{
	(void)arg;
	return trial_count(&trial, "SELECT count(*) FROM pg_stat_activity "
				   "WHERE datname = current_database() "
				   "AND application_name = 'cleaner'") == 0;
}

/* What a session has counted is known once it has ended. */
static void close_cleaner(struct once_cleaner *cleaner)
{
	once_cleaner_close(cleaner);
	ck_assert(wait_until(has_left, NULL, 10000));
}

START_TEST(a_million_old_rows_go_while_messages_are_handled) /* C53 C54 C55 */
{
	struct worker worker = { 0 };
	struct once_cleaner *cleaner;
	struct once_cleaner *other;
	struct sum sum;
	int64_t scans;

	trial_init(&trial, NULL, 0);
	fill_log();
	scans = count_scans();
	cleaner = open_cleaner();
	other = open_cleaner();
	start_worker(&worker);
	sum = clean_all(cleaner, other);
	ck_assert_int_eq(read_overdue(cleaner), 0);
	stop_worker(&worker);
	once_cleaner_close(other);
	close_cleaner(cleaner);

	printf("%lld rows in %lld transactions, the longest %lld ms; "
	       "meanwhile %lld batches, the longest %lld ms, %u repeated\n",
	       (long long)sum.removed, (long long)sum.steps,
	       (long long)sum.longest_ms, (long long)worker.batches,
	       (long long)worker.longest_ms, worker.repeated);
	ck_assert_int_eq(sum.removed, OLD_ROWS);
	ck_assert_int_lt(sum.longest_ms, CLEANERS_MOST_MS);
	ck_assert_int_gt(worker.batches, sum.steps / 4);
	ck_assert_int_lt(worker.longest_ms, 2 * CLEANERS_MOST_MS);
	ck_assert_int_ge(worker.handled, worker.batches * (BATCH - OLD_ONES));
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT deadlocks FROM pg_stat_database "
				     "WHERE datname = current_database()"),
			 0);
	ck_assert_int_eq(count_scans(), scans);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM "
					     "once.consume_log"),
			 worker.handled);
	trial_fini(&trial);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upkeep_load");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_set_timeout(tests, 100);
	tcase_add_test(tests, a_million_old_rows_go_while_messages_are_handled);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
