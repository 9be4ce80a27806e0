/*
 * test_upkeep.c - the cleaner: what goes and what stays, one at a time, and
 * nobody waits.
 */
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <once/upkeep.h>
#include <stdio.h>
#include <string.h>

enum {
	DAY_MS = 24 * 3600 * 1000
};

static struct trial trial;
static struct mail mail;
static struct once_strand strand;

static void set_up(void)
{
	static const int64_t start[] = { 0 };

	trial_init(&trial, NULL, 0);
	ck_assert_int_eq(once_session_create_positions(trial.session, "g", "t",
						       start, 1, &trial.err),
			 ONCE_OK);
	strand = (struct once_strand){ .group = "g", .topic = "t" };
	mail_init(&mail, 10);
	for (size_t i = 0; i < mail.count; i++)
		mail_set_strand(&mail, i, &strand);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 10);
}

static void tear_down(void)
{
	mail_fini(&mail);
	trial_fini(&trial);
}

static void age(const char *condition)
{
	char sql[300];

	snprintf(sql, sizeof(sql),
		 "UPDATE once.consume_log "
		 "SET consumed_at = consumed_at - interval '2 days' WHERE %s",
		 condition);
	pg_fixture_run(&trial.pg, sql);
}

static int64_t count_rows(void)
{
	return trial_count(&trial, "SELECT count(*) FROM once.consume_log");
}

static struct once_cleaner *open_cleaner(bool dry_run)
{
	static const char *const scopes[] = { "group/trial" };
	const struct once_cleaner_options options = {
		.conninfo = trial.pg.conninfo,
		.application_name = "cleaner",
		.scopes = scopes,
		.scope_count = 1,
		.retention_ms = DAY_MS,
		.dry_run = dry_run,
	};
	struct once_cleaner *cleaner = NULL;

	ck_assert_msg(once_cleaner_open(&options, &cleaner, &trial.err) ==
			      ONCE_OK,
		      "%s", trial.err.text);
	return cleaner;
}

/* All the steps of a round, as one. */
static struct once_clean_step run_round(struct once_cleaner *cleaner)
{
	struct once_clean_step all = { 0 };
	struct once_clean_step step = { 0 };

	while (!step.round_done) {
		ck_assert_msg(once_cleaner_step(cleaner, &step, &trial.err) ==
				      ONCE_OK,
			      "%s", trial.err.text);
		all.removed += step.removed;
		all.kept += step.kept;
		all.busy += step.busy;
	}
	return all;
}

static struct once_clean_step clean(void)
{
	struct once_cleaner *cleaner = open_cleaner(false);
	struct once_clean_step all = run_round(cleaner);

	once_cleaner_close(cleaner);
	return all;
}

/* ---- what goes, and what stays ---- */

START_TEST(a_row_goes_when_it_is_older_than_the_retention_and_not_before)
{
	ck_assert_int_eq(clean().removed, 0);
	age("message_offset < 4");
	ck_assert_int_eq(clean().removed, 4);
	ck_assert_int_eq(count_rows(), 6);
	ck_assert_int_eq(trial_count(&trial, "SELECT min(message_offset) "
					     "FROM once.consume_log"),
			 4);
}
END_TEST

/* In a log that is parted by consumer, other rows are at the same places. */
START_TEST(rows_of_another_scope_stay_where_the_log_is_parted)
{
	pg_fixture_run(
		&trial.pg,
		"ALTER TABLE once.consume_log RENAME TO whole;"
		"CREATE TABLE once.consume_log (LIKE once.whole INCLUDING ALL) "
		"PARTITION BY LIST (consumer_id);"
		"CREATE TABLE once.others PARTITION OF once.consume_log DEFAULT;"
		"CREATE TABLE once.ours PARTITION OF once.consume_log "
		"FOR VALUES IN (1);"
		"INSERT INTO once.consume_log SELECT * FROM once.whole;"
		"INSERT INTO once.consume_log (consumer_id, msg_id, biz_id, topic, "
		"partition, message_offset) SELECT 4711, n::text, n::text, 't', "
		"0, n FROM generate_series(1, 100) AS n;"
		"DROP TABLE once.whole");
	ck_assert_int_eq(trial_count(&trial, "SELECT id FROM once.consumer"),
			 1);
	age("consumer_id = 1 AND message_offset < 4");
	ck_assert_int_eq(clean().removed, 4);
	ck_assert_int_eq(count_rows(), 106);
}
END_TEST

/* A seek, a failover, a long downtime: what was old is read again. */
START_TEST(a_row_that_a_group_may_read_again_stays_however_old_it_is)
{
	age("true");
	pg_fixture_run(&trial.pg, "UPDATE once.position SET next_offset = 7");
	ck_assert_int_eq(clean().kept, 3);
	ck_assert_int_eq(count_rows(), 3);
	strand.next_offset = 7;
	mail_again(&mail);
	ck_assert_int_eq(once_session_run(trial.session, &mail.items[7], 3,
					  &trial.stats, &trial.err),
			 ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 3);
	ck_assert_int_eq(clean().removed, 3);
}
END_TEST

START_TEST(only_groups_that_read_under_the_scope_are_waited_for)
{
	age("true");
	pg_fixture_run(&trial.pg,
		       "INSERT INTO once.position (group_name, topic, "
		       "partition, next_offset) VALUES ('other', 't', 0, 2)");
	/* of the scope nobody is known: it may be that group's */
	ck_assert_int_eq(clean().removed, 2);
	pg_fixture_run(&trial.pg,
		       "INSERT INTO once.consumer_group (consumer_id, "
		       "group_name) SELECT id, 'g' FROM once.consumer");
	ck_assert_int_eq(clean().removed, 8);
}
END_TEST

START_TEST(a_session_of_an_instance_says_which_group_reads_under_its_scopes)
{
	const struct once_instance instance = {
		"6f2c1d5e-8a44-4c0e-9d4b-0123456789ab", "readers", "here", 1
	};
	const struct once_route *routes[] = { trial.routes[0] };
	const struct once_session_options options = {
		.conninfo = trial.pg.conninfo,
		.routes = routes,
		.route_count = 1,
		.instance = &instance,
		.retention_ms = DAY_MS,
	};
	struct once_session *session;

	ck_assert_int_eq(once_session_create(&options, &session, &trial.err),
			 ONCE_OK);
	ck_assert_msg(once_session_connect(session, &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM once.consumer_group "
				     "AS g JOIN once.consumer AS c "
				     "ON c.id = g.consumer_id "
				     "WHERE c.scope = 'group/trial' "
				     "AND g.group_name = 'readers' "
				     "AND g.retention_ms = 86400000"),
			 1);
	once_session_destroy(session);
}
END_TEST

START_TEST(a_duplicate_is_still_one_after_the_cleaner_ran) /* C38 */
{
	age("message_offset < 5");
	ck_assert_int_eq(clean().removed, 5);
	mail_again(&mail);
	for (size_t i = 0; i < mail.count; i++)
		mail_set_strand(&mail, i, NULL);
	ck_assert_int_eq(once_session_run(trial.session, &mail.items[5], 5,
					  &trial.stats, &trial.err),
			 ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING), 5);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM effect"),
			 10);
}
END_TEST

START_TEST(for_ever_removes_nothing)
{
	static const char *const scopes[] = { "group/trial" };
	const struct once_cleaner_options options = {
		.conninfo = trial.pg.conninfo,
		.scopes = scopes,
		.scope_count = 1,
		.retention_ms = -1,
	};
	struct once_cleaner *cleaner;

	age("true");
	ck_assert_int_eq(once_cleaner_open(&options, &cleaner, &trial.err),
			 ONCE_OK);
	ck_assert_int_eq(run_round(cleaner).removed, 0);
	once_cleaner_close(cleaner);
	ck_assert_int_eq(count_rows(), 10);
}
END_TEST

START_TEST(a_dry_run_counts_and_removes_nothing)
{
	struct once_cleaner *cleaner = open_cleaner(true);

	age("message_offset < 4");
	ck_assert_int_eq(run_round(cleaner).removed, 4);
	once_cleaner_close(cleaner);
	ck_assert_int_eq(count_rows(), 10);
}
END_TEST

/* Somebody has imported them, say; half of them aren't passed yet. */
START_TEST(rows_of_one_time_are_each_looked_at_once)
{
	struct once_clean_step round;

	pg_fixture_run(&trial.pg,
		       "INSERT INTO once.consume_log (consumer_id, msg_id, "
		       "topic, partition, message_offset, consumed_at) "
		       "SELECT id, 'x' || i, 't', i % 2, i, "
		       "now() - interval '3 days' "
		       "FROM once.consumer, generate_series(1, 5000) AS i;"
		       "INSERT INTO once.position (group_name, topic, "
		       "partition, next_offset) VALUES ('g', 't', 1, 0)");
	round = clean();
	ck_assert_int_eq(round.removed, 4);
	ck_assert_int_eq(round.kept, 5000 - 4);
	pg_fixture_run(&trial.pg, "UPDATE once.position SET next_offset = 5001 "
				  "WHERE partition = 0");
	round = clean();
	ck_assert_int_eq(round.removed, 2500 - 4);
	ck_assert_int_eq(round.kept, 2500);
}
END_TEST

START_TEST(tenures_that_have_ended_are_forgotten_after_as_long)
{
	pg_fixture_run(&trial.pg,
		       "INSERT INTO once.tenure (from_offset, to_offset, "
		       "began_at) VALUES (0, 5, now() - interval '2 days'), "
		       "(5, NULL, now() - interval '2 days'), "
		       "(5, 6, now() - interval '1 hour')");
	clean();
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM once.tenure "
					     "WHERE from_offset = 5"),
			 2);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM once.tenure "
					     "WHERE to_offset = 5"),
			 0);
}
END_TEST

/* It ends where the next one of its partition begins; until a retention after
 * that, it proves marks of rows that are still there. */
START_TEST(a_long_tenure_is_forgotten_only_when_its_end_is_old)
{
	pg_fixture_run(&trial.pg,
		       "INSERT INTO once.tenure (group_name, topic, partition, "
		       "from_offset, to_offset, began_at) VALUES "
		       "('g', 't', 0, 0, 1, now() - interval '9 days'), "
		       "('g', 't', 0, 1, 2, now() - interval '8 days'), "
		       "('g', 't', 0, 2, 3, now() - interval '7 days'), "
		       "('g', 't', 0, 3, 4, now() - interval '1 hour'), "
		       "('g', 't', 1, 0, 9, now() - interval '9 days')");
	clean();
	ck_assert_int_eq(trial_count(&trial, "SELECT min(from_offset) FROM "
					     "once.tenure WHERE partition = 0"),
			 2);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM once.tenure "
					     "WHERE partition = 0"),
			 2);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM once.tenure "
					     "WHERE partition = 1"),
			 1);
}
END_TEST

/* ---- how long, and who says so ---- */

static void say_retention(const char *group, const char *retention)
{
	char sql[300];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO once.consumer_group (consumer_id, group_name, "
		 "retention_ms) SELECT id, '%s', %s FROM once.consumer",
		 group, retention);
	pg_fixture_run(&trial.pg, sql);
}

/* Rows are two days old, the cleaner's own retention is one. */
static const struct {
	const char *first;
	const char *second;
	int64_t removed;
} kept_for[] = {
	{ "NULL", "NULL", 10 },           { "3600000", "NULL", 10 },
	{ "3600000", "3 * 86400000", 0 }, { "3 * 86400000", "NULL", 0 },
	{ "-1", "3600000", 0 },
};

START_TEST(the_longest_retention_of_a_scopes_groups_counts)
{
	say_retention("g", kept_for[_i].first);
	say_retention("other", kept_for[_i].second);
	age("true");
	ck_assert_int_eq(clean().removed, kept_for[_i].removed);
}
END_TEST

static enum once_status clean_as_said(struct once_clean_step *step)
{
	static const char *const scopes[] = { "group/trial" };
	const struct once_cleaner_options options = {
		.conninfo = trial.pg.conninfo,
		.scopes = scopes,
		.scope_count = 1,
	};
	struct once_cleaner *cleaner;
	enum once_status status;

	ck_assert_int_eq(once_cleaner_open(&options, &cleaner, &trial.err),
			 ONCE_OK);
	status = once_cleaner_step(cleaner, step, &trial.err);
	once_cleaner_close(cleaner);
	return status;
}

START_TEST(somebody_elses_scope_is_cleaned_by_what_its_groups_have_said)
{
	struct once_clean_step step;

	age("true");
	ck_assert_int_eq(clean_as_said(&step), ONCE_INVALID);
	ck_assert_ptr_nonnull(strstr(trial.err.text, "--older-than"));
	say_retention("g", "3 * 86400000");
	ck_assert_int_eq(clean_as_said(&step), ONCE_OK);
	ck_assert_int_eq(step.removed, 0);
	pg_fixture_run(
		&trial.pg,
		"UPDATE once.consumer_group SET retention_ms = 86400000");
	ck_assert_int_eq(clean_as_said(&step), ONCE_OK);
	ck_assert_int_eq(step.removed, 10);
}
END_TEST

/* ---- the database's clock ---- */

/* As if it had been set forward by so many days since the last round. */
static void set_clock_forward(int days)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "UPDATE once.consumer SET clock_right_at = now() "
		 "- interval '%d days'",
		 days);
	pg_fixture_run(&trial.pg, sql);
	age("true");
}

static int64_t source_offset_ms; /* of its time to the database's */

static int64_t tell_source_time(void *arg)
{
	(void)arg;
	return trial_count(&trial,
			   "SELECT (extract(epoch FROM now()) * 1000)::int8") +
	       source_offset_ms;
}

static struct once_clean_step clean_by(struct once_clock_seen *clocks,
				       once_source_time_f *source_time,
				       bool clock_is_right)
{
	static const char *const scopes[] = { "group/trial" };
	const struct once_cleaner_options options = {
		.conninfo = trial.pg.conninfo,
		.scopes = scopes,
		.scope_count = 1,
		.retention_ms = DAY_MS,
		.person = clock_is_right ? "ann@example" : NULL,
		.subject = "the clock is right",
		.clocks = clocks,
		.source_time = source_time,
		.clock_is_right = clock_is_right,
	};
	struct once_cleaner *cleaner;
	struct once_clean_step step;

	ck_assert_int_eq(once_cleaner_open(&options, &cleaner, &trial.err),
			 ONCE_OK);
	ck_assert_msg(once_cleaner_step(cleaner, &step, &trial.err) == ONCE_OK,
		      "%s", trial.err.text);
	once_cleaner_close(cleaner);
	return step;
}

START_TEST(nothing_is_removed_by_a_clock_that_nobody_has_watched)
{
	struct once_clean_step step;

	set_clock_forward(40);
	step = clean_by(NULL, NULL, false);
	ck_assert_int_eq(step.in_doubt, 1);
	ck_assert_ptr_nonnull(strstr(step.doubt, "40 days"));
	ck_assert_ptr_nonnull(strstr(step.doubt, "--clock-is-right"));
	ck_assert_int_eq(step.round_done, 1);
	ck_assert_int_eq(count_rows(), 10);
}
END_TEST

/* A retention of a day: what is less than a tenth of it is no matter. */
START_TEST(an_hour_without_a_cleaner_is_no_doubt)
{
	pg_fixture_run(&trial.pg, "UPDATE once.consumer SET clock_right_at = "
				  "now() - interval '1 hour'");
	age("true");
	ck_assert_int_eq(clean_by(NULL, NULL, false).removed, 10);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM once.consumer "
				     "WHERE clock_right_at > now() "
				     "- interval '1 minute'"),
			 1);
}
END_TEST

/* A group that was away for long reads again. */
START_TEST(messages_of_that_time_prove_it)
{
	set_clock_forward(40);
	source_offset_ms = -40 * (int64_t)DAY_MS;
	ck_assert_int_eq(clean_by(NULL, tell_source_time, false).in_doubt, 1);
	source_offset_ms = 60 * 1000;
	ck_assert_int_eq(clean_by(NULL, tell_source_time, false).removed, 10);
}
END_TEST

/* Whatever the source says: its clock may be the same one. */
START_TEST(a_program_that_has_watched_it_knows_whether_it_was_set)
{
	struct once_clock_seen seen = { 0 };
	struct once_clean_step step;

	ck_assert_int_eq(clean_by(&seen, NULL, false).in_doubt, 0);
	ck_assert_int_ne(seen.database_ms, 0);
	set_clock_forward(40);
	seen.database_ms -= 40 * (int64_t)DAY_MS;
	source_offset_ms = 0;
	step = clean_by(&seen, tell_source_time, false);
	ck_assert_ptr_nonnull(strstr(step.doubt, "forward by 40 days"));
	ck_assert_int_eq(count_rows(), 10);
	seen.own_ms -= 40 * (int64_t)DAY_MS; /* no: that long it slept */
	ck_assert_int_eq(clean_by(&seen, NULL, false).removed, 10);
}
END_TEST

START_TEST(a_clock_that_was_set_back_is_doubted_too)
{
	set_clock_forward(-40);
	ck_assert_int_eq(clean_by(NULL, NULL, false).in_doubt, 1);
	ck_assert_int_eq(count_rows(), 10);
}
END_TEST

START_TEST(a_person_who_says_that_it_is_right_is_believed_and_written_down)
{
	struct once_clock_seen seen = { 0 };

	ck_assert_int_eq(clean_by(&seen, NULL, false).in_doubt, 0);
	set_clock_forward(40);
	seen.database_ms -= 40 * (int64_t)DAY_MS;
	ck_assert_int_eq(clean_by(NULL, NULL, true).removed, 10);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM once.audit "
				     "WHERE person = 'ann@example' "
				     "AND subject = 'the clock is right'"),
			 2);
	/* and so is everybody who had doubts */
	ck_assert_int_eq(clean_by(&seen, NULL, false).in_doubt, 0);
}
END_TEST

/* ---- in a database that is published ---- */

static enum once_verdict leave_a_result(void *self,
					const struct once_message *msg,
					struct once_call *call)
{
	(void)self;
	(void)msg;
	once_set_result(call, bytes("result"));
	return ONCE_DONE;
}

/* A change stream of everything, as many have one. */
START_TEST(results_are_stored_and_rows_removed_in_a_published_database)
{
	pg_fixture_run(&trial.pg, "SET client_min_messages = error; "
				  "CREATE PUBLICATION everything "
				  "FOR ALL TABLES");
	trial_poison = leave_a_result;
	mail_again(&mail);
	for (size_t i = 0; i < mail.count; i++) {
		mail_set_value(&mail, i, "poison");
		mail.items[i].record.offset += 10;
		mail_set_id(&mail, i,
			    (const char[]){ 'n', (char)('0' + i), 0 });
		mail_set_biz(&mail, i,
			     (const char[]){ 'n', (char)('0' + i), 0 });
	}
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), 10);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT count(*) FROM once.consume_log "
				     "WHERE result = 'result'"),
			 10);
	age("true");
	ck_assert_int_eq(clean().removed, 20);
}
END_TEST

/* ---- beside others ---- */

START_TEST(a_second_cleaner_of_a_scope_is_refused)
{
	struct once_cleaner *first = open_cleaner(false);
	struct once_clean_step step;

	pg_fixture_run(&trial.pg,
		       "INSERT INTO once.consume_log (consumer_id, msg_id, "
		       "topic, partition, message_offset, consumed_at) "
		       "SELECT id, 'x' || i, 'u', 0, i, "
		       "now() - interval '3 days' "
		       "FROM once.consumer, generate_series(1, 2000) AS i");
	ck_assert_int_eq(once_cleaner_step(first, &step, &trial.err), ONCE_OK);
	ck_assert_int_eq(step.round_done, 0); /* it is in the middle */
	ck_assert_int_eq(clean().busy, 1);
	ck_assert_int_eq(clean().removed, 0);
	ck_assert_int_eq(step.removed + run_round(first).removed, 2000);
	ck_assert_int_eq(clean().busy, 0);
	once_cleaner_close(first);
}
END_TEST

START_TEST(a_row_that_somebody_holds_is_passed_over_without_a_wait)
{
	age("true");
	pg_fixture_run(&trial.pg, "BEGIN; SELECT FROM once.consume_log "
				  "WHERE message_offset IN (3, 4) FOR UPDATE");
	ck_assert_int_eq(clean().removed, 8);
	pg_fixture_run(&trial.pg, "COMMIT");
	ck_assert_int_eq(clean().removed, 2);
}
END_TEST

/* ---- how it stands ---- */

static struct once_log_reading readings[3];
static char scopes_read[3][64];
static size_t reading_count;

static void take_reading(void *arg, const struct once_log_reading *reading)
{
	(void)arg;
	ck_assert_uint_lt(reading_count, 3);
	snprintf(scopes_read[reading_count], sizeof(scopes_read[0]), "%s",
		 reading->scope);
	readings[reading_count++] = *reading;
}

static void read_all(struct once_cleaner *cleaner)
{
	reading_count = 0;
	ck_assert_msg(once_cleaner_read(cleaner, take_reading, NULL,
					&trial.err) == ONCE_OK,
		      "%s", trial.err.text);
}

START_TEST(the_log_is_read_by_scope_and_those_without_a_route_are_told)
{
	struct once_cleaner *cleaner = open_cleaner(false);

	pg_fixture_run(&trial.pg,
		       "INSERT INTO once.consumer (scope) VALUES ('empty'), "
		       "('group/renamed');"
		       "INSERT INTO once.consume_log (consumer_id, msg_id, "
		       "topic, partition, message_offset, consumed_at) "
		       "SELECT id, 'x', 'u', 0, 1, now() - interval '3 days' "
		       "FROM once.consumer WHERE scope = 'group/renamed'");
	read_all(cleaner);
	ck_assert_uint_eq(reading_count, 3);
	ck_assert_str_eq(scopes_read[0], "empty");
	ck_assert_int_eq(readings[0].oldest_ms, -1);
	ck_assert_str_eq(scopes_read[1], "group/renamed");
	ck_assert_int_eq(readings[1].known, 0);
	ck_assert_int_eq(readings[1].rows, 1);
	ck_assert_int_eq(readings[1].overdue_ms, 0); /* nobody has said */
	ck_assert_str_eq(scopes_read[2], "group/trial");
	ck_assert_int_eq(readings[2].known, 1);
	ck_assert_uint_eq(readings[2].index, 0);
	ck_assert_int_eq(readings[2].rows, 10);
	ck_assert_int_eq(readings[2].exact, 1);
	ck_assert_int_eq(readings[2].overdue_ms, 0);
	ck_assert_int_eq(run_round(cleaner).removed, 0); /* not its scope */
	pg_fixture_run(&trial.pg,
		       "INSERT INTO once.consumer_group (consumer_id, "
		       "group_name, retention_ms) SELECT id, 'g', 86400000 "
		       "FROM once.consumer WHERE scope = 'group/renamed'");
	read_all(cleaner);
	ck_assert_int_ge(readings[1].overdue_ms, 2 * DAY_MS);
	reading_count = 0;
	ck_assert_int_eq(once_log_read(
				 &(struct once_cleaner_options){
					 .conninfo = trial.pg.conninfo,
					 .retention_ms = -1 },
				 take_reading, NULL, &trial.err),
			 ONCE_OK);
	ck_assert_uint_eq(reading_count, 3);
	ck_assert_int_eq(readings[2].known, 0);
	ck_assert_int_eq(readings[2].rows, 10);
	once_cleaner_close(cleaner);
}
END_TEST

START_TEST(what_may_not_go_is_not_overdue)
{
	struct once_cleaner *cleaner = open_cleaner(false);

	age("message_offset >= 8");
	read_all(cleaner);
	ck_assert_int_ge(readings[0].overdue_ms, DAY_MS);
	pg_fixture_run(&trial.pg, "UPDATE once.position SET next_offset = 8");
	read_all(cleaner);
	ck_assert_int_ge(readings[0].oldest_ms, 2 * DAY_MS);
	ck_assert_int_eq(readings[0].overdue_ms, 0);
	once_cleaner_close(cleaner);
}
END_TEST

static enum once_status check_foreign(const char *scope)
{
	struct once_cleaner *cleaner = open_cleaner(false);
	enum once_status status =
		once_cleaner_check_foreign(cleaner, scope, &trial.err);

	once_cleaner_close(cleaner);
	return status;
}

START_TEST(a_scope_is_somebody_elses_while_a_process_reads_under_it)
{
	ck_assert_int_eq(check_foreign("nobody's"), ONCE_INVALID);
	pg_fixture_run(&trial.pg,
		       "INSERT INTO once.consumer_group (consumer_id, "
		       "group_name) SELECT id, 'g' FROM once.consumer");
	ck_assert_int_eq(check_foreign("group/trial"), ONCE_OK);
	pg_fixture_run(&trial.pg,
		       "INSERT INTO once.instance (group_name, host, pid, "
		       "version, started_at) VALUES ('g', 'there', 7, 'x', "
		       "now() - interval '1 hour');"
		       "SELECT pg_advisory_lock_shared(once.instance_lock(id)) "
		       "FROM once.instance");
	ck_assert_int_eq(check_foreign("group/trial"), ONCE_FENCED);
	ck_assert_ptr_nonnull(strstr(trial.err.text, "there, pid 7"));
	/* started since the scope was read under last: renamed meanwhile */
	pg_fixture_run(&trial.pg, "UPDATE once.instance SET started_at = now() "
				  "+ interval '1 hour'");
	ck_assert_int_eq(check_foreign("group/trial"), ONCE_OK);
}
END_TEST

START_TEST(what_a_person_has_removed_is_written_down)
{
	static const char *const scopes[] = { "group/trial" };
	const struct once_cleaner_options options = {
		.conninfo = trial.pg.conninfo,
		.scopes = scopes,
		.scope_count = 1,
		.retention_ms = DAY_MS,
		.person = "ann@example",
		.subject = "scope group/trial",
	};
	struct once_cleaner *cleaner;

	ck_assert_int_eq(once_cleaner_open(&options, &cleaner, &trial.err),
			 ONCE_OK);
	run_round(cleaner);
	age("true");
	run_round(cleaner);
	once_cleaner_close(cleaner);
	ck_assert_int_eq(trial_count(&trial,
				     "SELECT rows_changed FROM once.audit "
				     "WHERE person = 'ann@example' "
				     "AND command = 'gc'"),
			 10);
	ck_assert_int_eq(trial_count(&trial, "SELECT count(*) FROM once.audit"),
			 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upkeep");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(
		tests,
		a_row_goes_when_it_is_older_than_the_retention_and_not_before);
	tcase_add_test(tests,
		       rows_of_another_scope_stay_where_the_log_is_parted);
	tcase_add_test(
		tests,
		a_row_that_a_group_may_read_again_stays_however_old_it_is);
	tcase_add_test(tests,
		       only_groups_that_read_under_the_scope_are_waited_for);
	tcase_add_test(
		tests,
		a_session_of_an_instance_says_which_group_reads_under_its_scopes);
	tcase_add_test(tests, a_duplicate_is_still_one_after_the_cleaner_ran);
	tcase_add_test(tests, for_ever_removes_nothing);
	tcase_add_test(tests, a_dry_run_counts_and_removes_nothing);
	tcase_add_test(tests, rows_of_one_time_are_each_looked_at_once);
	tcase_add_test(tests,
		       tenures_that_have_ended_are_forgotten_after_as_long);
	tcase_add_test(tests,
		       a_long_tenure_is_forgotten_only_when_its_end_is_old);
	tcase_add_loop_test(
		tests, the_longest_retention_of_a_scopes_groups_counts, 0, 5);
	tcase_add_test(
		tests,
		somebody_elses_scope_is_cleaned_by_what_its_groups_have_said);
	tcase_add_test(tests,
		       nothing_is_removed_by_a_clock_that_nobody_has_watched);
	tcase_add_test(tests, an_hour_without_a_cleaner_is_no_doubt);
	tcase_add_test(tests, messages_of_that_time_prove_it);
	tcase_add_test(tests,
		       a_program_that_has_watched_it_knows_whether_it_was_set);
	tcase_add_test(tests, a_clock_that_was_set_back_is_doubted_too);
	tcase_add_test(
		tests,
		a_person_who_says_that_it_is_right_is_believed_and_written_down);
	tcase_add_test(
		tests,
		results_are_stored_and_rows_removed_in_a_published_database);
	tcase_add_test(tests, a_second_cleaner_of_a_scope_is_refused);
	tcase_add_test(tests,
		       a_row_that_somebody_holds_is_passed_over_without_a_wait);
	tcase_add_test(
		tests,
		the_log_is_read_by_scope_and_those_without_a_route_are_told);
	tcase_add_test(tests, what_may_not_go_is_not_overdue);
	tcase_add_test(
		tests,
		a_scope_is_somebody_elses_while_a_process_reads_under_it);
	tcase_add_test(tests, what_a_person_has_removed_is_written_down);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
