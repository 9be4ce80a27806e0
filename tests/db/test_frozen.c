/*
 * test_frozen.c - a session whose process freezes, whose network goes silent,
 * or whose server does. Whoever comes next is told who is in the way, and goes
 * on within twice the limit; whoever wakes up finds its session gone.
 *
 * The idea: a child has the session that freezes, so that the test can be the
 * one that comes next.
 */
#include "clock.h"
#include "proxy.h"
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LIMIT_MS = 1000,
	MESSAGES = 200
};

static struct trial trial;
static struct mail mail;
static struct proxy proxy;
static struct once_strand strand = { .group = "g", .topic = "t" };
static pid_t child;

static void set_up(void)
{
	struct once_route_options options = trial_route();

	options.timeout_ms = LIMIT_MS;
	trial_init(&trial, &options, 1);
	trial.limits.idle_ms = LIMIT_MS;
	trial.limits.lock_ms = 300;
	trial.limits.answer_ms = 2 * LIMIT_MS;
	trial_reopen(&trial, NULL);
	child = 0;
	memset(&proxy, 0, sizeof(proxy));
}

static void tear_down(void)
{
	if (child != 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	mail_fini(&mail);
	trial_fini(&trial);
	if (proxy.pid != 0)
		proxy_close(&proxy);
}

static void write_mail(void)
{
	mail_init(&mail, MESSAGES);
	for (size_t i = 0; i < MESSAGES; i++)
		mail_set_strand(&mail, i, &strand);
}

static int64_t effects(void)
{
	return trial_count(&trial, "SELECT count(*) FROM effect");
}

/* ---- the one that freezes ---- */

static enum once_verdict freeze(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	raise(SIGSTOP);
	return ONCE_DONE;
}

static enum once_verdict freeze_half_sent(void *self,
					  const struct once_message *msg,
					  struct once_call *call)
{
	size_t size = 3000000;
	char *data = calloc(1, size);
	struct once_bytes value = { data, size };

	for (int i = 0; i < 5; i++)
		once_send(call, "SELECT length($1::bytea)",
			  ONCE_PARAMS(ONCE_BINARY(value)));
	free(data);
	return freeze(self, msg, call);
}

static enum once_verdict freeze_raw(void *self, const struct once_message *msg,
				    struct once_call *call)
{
	PQclear(PQexec((PGconn *)once_pgconn(call), "SELECT 1"));
	return freeze(self, msg, call);
}

static const struct step {
	const char *name;
	const char *fault;    /* NULL: the handler freezes */
	once_handle_f *thing; /* that one, with message 150 of 200 */
} steps[] = {
	{ "after the claims", "after_claim:1:stop", NULL },
	{ "in the handler", NULL, freeze },
	{ "in the handler, much of it sent", NULL, freeze_half_sent },
	{ "in the handler, with the raw session", NULL, freeze_raw },
	{ "after the handlers", "in_handler:1:stop", NULL },
	{ "before COMMIT", "before_commit:1:stop", NULL },
};

/* 0: its session was gone when it woke up, and then its position another's. */
static _Noreturn void run_child(const struct step *step)
{
	struct once_session *session;
	struct once_error err;
	enum once_status status;

	if (step->fault != NULL)
		setenv("ONCE_FAULT", step->fault, 1);
	trial_poison = step->thing;
	if (step->thing != NULL)
		mail_set_value(&mail, 150, "poison");
	session = trial_open_session(&trial, NULL);
	status = once_session_run(session, mail.items, mail.count, NULL, &err);
	if (status == ONCE_TRANSIENT || status == ONCE_UNKNOWN)
		status = once_session_run(session, mail.items, mail.count, NULL,
					  &err);
	_exit(status == ONCE_FENCED ? 0 : 1);
}

static void start_child(const struct step *step)
{
	int status;

	child = fork();
	if (child == 0)
		run_child(step);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	ck_assert_msg(WIFSTOPPED(status), "%s: it didn't freeze", step->name);
}

static void wake_child(const struct step *step)
{
	int status;

	kill(child, SIGCONT);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	child = 0;
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		      "%s: status %x", step->name, (unsigned)status);
}

/* ---- the one that comes next ---- */

static void check_trouble(const struct step *step, enum once_status status)
{
	const struct once_error *err = &trial.err;

	ck_assert_msg(status == ONCE_TRANSIENT &&
			      strcmp(err->sqlstate, "55P03") == 0,
		      "%s: status %d, %s: %s", step->name, (int)status,
		      err->sqlstate, err->text);
	ck_assert_msg(
		strstr(err->text, "pid ") != NULL &&
			strstr(err->text, "application \"trial\"") != NULL &&
			strstr(err->text, "idle in transaction for") != NULL,
		"%s: %s", step->name, err->text);
}

static enum once_status take_over(void)
{
	struct once_position position;
	enum once_status status = once_session_take_position(
		trial.session, "g", "t", 0, &position, &trial.err);

	if (status != ONCE_OK)
		return status;
	strand.next_offset = position.next_offset;
	strand.tenure = position.tenure;
	return once_session_run(trial.session, mail.items, mail.count,
				&trial.stats, &trial.err);
}

static void succeed(const struct step *step)
{
	int64_t began_ms = clock_ms();
	unsigned troubles = 0;
	enum once_status status;

	while ((status = take_over()) != ONCE_OK) {
		check_trouble(step, status);
		troubles++;
		ck_assert_msg(clock_ms() - began_ms < 10 * LIMIT_MS,
			      "%s: still %s", step->name, trial.err.text);
	}
	ck_assert_msg(troubles > 0, "%s: nothing was in the way", step->name);
}

START_TEST(whoever_follows_a_frozen_process_is_told_and_goes_on)
{
	const struct step *step = &steps[_i];
	int64_t offset = 0;

	ck_assert_int_eq(once_session_create_positions(trial.session, "g", "t",
						       &offset, 1, &trial.err),
			 ONCE_OK);
	write_mail();
	start_child(step);
	succeed(step);
	ck_assert_uint_eq(mail_count(&mail, ONCE_HANDLED_ENDING), MESSAGES);
	wake_child(step);
	ck_assert_int_eq(effects(), MESSAGES);
}
END_TEST

/* ---- a silent network, or server ---- */

static enum once_verdict silence(void *self, const struct once_message *msg,
				 struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	proxy_set(&proxy, PROXY_FREEZE, 0);
	return ONCE_DONE;
}

static void open_through_proxy(void)
{
	char conninfo[640];
	char *port = pg_fixture_get_text(&trial.pg, "SHOW port");

	proxy_open(&proxy);
	proxy_start(&proxy, atoi(port));
	free(port);
	snprintf(conninfo, sizeof(conninfo), "%s host=127.0.0.1 port=%d",
		 trial.pg.conninfo, proxy.port);
	trial_reopen(&trial, conninfo);
}

START_TEST(an_answer_that_never_comes_is_not_waited_for)
{
	struct once_session *other = trial_open_session(&trial, NULL);
	struct mail again;

	open_through_proxy();
	mail_init(&mail, 10);
	mail_set_value(&mail, 9, "poison");
	trial_poison = silence;
	trial_run(&trial, &mail, ONCE_TRANSIENT);
	ck_assert_ptr_nonnull(strstr(trial.err.text, "has not answered for"));
	ck_assert_uint_eq(mail_count(&mail, ONCE_PENDING_ENDING), 10);

	trial_poison = NULL;
	mail_init(&again, 10);
	trial_run_by(&trial, other, &again, ONCE_OK);
	ck_assert_uint_eq(mail_count(&again, ONCE_HANDLED_ENDING), 10);
	mail_fini(&again);
	once_session_destroy(other);

	proxy_set(&proxy, PROXY_PASS, 0);
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(mail_count(&mail, ONCE_DUPLICATE_ENDING) +
				  mail_count(&mail, ONCE_CONFLICT_ENDING),
			  10);
	ck_assert_int_eq(effects(), 10);
}
END_TEST

START_TEST(a_server_that_is_silent_at_connect_is_given_up)
{
	open_through_proxy();
	proxy_set(&proxy, PROXY_FREEZE, 0);
	ck_assert_int_eq(once_session_connect(trial.session, &trial.err),
			 ONCE_TRANSIENT);
	mail_init(&mail, 1);
	proxy_set(&proxy, PROXY_PASS, 0);
	trial_run(&trial, &mail, ONCE_OK);
}
END_TEST

static enum once_verdict read_keepalives(void *self,
					 const struct once_message *msg,
					 struct once_call *call)
{
	const struct once_rows *rows =
		once_exec(call,
			  "SELECT current_setting('tcp_keepalives_idle'), "
			  "current_setting('tcp_keepalives_count'), "
			  "current_setting('tcp_user_timeout')",
			  ONCE_NO_PARAMS);

	(void)self;
	(void)msg;
	ck_assert(is_text(once_rows_get(rows, 0, 0), "1"));
	ck_assert(is_text(once_rows_get(rows, 0, 1), "3"));
	ck_assert(is_text(once_rows_get(rows, 0, 2), "1000"));
	return ONCE_DONE;
}

START_TEST(the_server_watches_over_the_connection_as_well)
{
	open_through_proxy();
	trial_poison = read_keepalives;
	mail_init(&mail, 1);
	mail_set_value(&mail, 0, "poison");
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[0], ONCE_HANDLED_ENDING);
}
END_TEST

/* ---- a lock of somebody else's ---- */

START_TEST(a_strangers_lock_is_named_and_what_waits_goes_on_when_it_ends)
{
	char pid[32];

	mail_init(&mail, 2);
	snprintf(pid, sizeof(pid), "pid %d has it",
		 PQbackendPID(trial.pg.conn));
	pg_fixture_run(&trial.pg,
		       "SET application_name = 'psql of somebody'; BEGIN; "
		       "LOCK TABLE once.consume_log IN EXCLUSIVE MODE");
	trial_run(&trial, &mail, ONCE_TRANSIENT);
	ck_assert_ptr_nonnull(strstr(trial.err.text, pid));
	ck_assert_ptr_nonnull(
		strstr(trial.err.text, "application \"psql of somebody\""));
	ck_assert_uint_eq(once_session_connections(trial.session), 1);
	pg_fixture_run(&trial.pg, "ROLLBACK");
	trial_run(&trial, &mail, ONCE_OK);
	ck_assert_uint_eq(once_session_connections(trial.session), 1);
	ck_assert_int_eq(effects(), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frozen");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(
		tests, whoever_follows_a_frozen_process_is_told_and_goes_on, 0,
		sizeof(steps) / sizeof(steps[0]));
	tcase_add_test(tests, an_answer_that_never_comes_is_not_waited_for);
	tcase_add_test(tests, a_server_that_is_silent_at_connect_is_given_up);
	tcase_add_test(tests, the_server_watches_over_the_connection_as_well);
	tcase_add_test(
		tests,
		a_strangers_lock_is_named_and_what_waits_goes_on_when_it_ends);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
