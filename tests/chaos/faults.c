/*
 * faults.c - begins and ends faults.
 *
 * The idea: a fault is two functions and a time in between. What a fault needs
 * to know about its target is in the stage.
 */
#include "faults.h"

#include "kafka_rights.h"

#include <check.h>
#include <clock.h>
#include <fault.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	REST_MIN_MS = 50, /* from the beginning of one to the next */
	REST_MAX_MS = 600,
	DELAY_MS = 60,
	EXIT_MS = 40000,
	EXIT_LATE = 74 /* stop took longer than shutdown_timeout */
};

const char *const fault_names[FAULT_NAMES] = {
#define X(name, target, weight, shortest, longest, text) #name,
	FAULT_TABLE(X)
#undef X
};

static const struct {
	enum fault_target target;
	int weight;
	int shortest_ms;
	int longest_ms;
} rules[FAULT_NAMES] = {
#define X(name, target, weight, shortest, longest, text) \
	{ target, weight, shortest, longest },
	FAULT_TABLE(X)
#undef X
};

static const char *const targets[FAULT_TARGETS] = {
	"one",
	"two",
	"three",
	"PostgreSQL",
	"Kafka",
	"handler",
	"network to PostgreSQL",
	"network to Kafka",
};

__attribute__((format(printf, 2, 3))) static void tell(
	const struct faults *faults, const char *format, ...)
{
	va_list args;

	printf("%7.2f s  ", (double)(clock_ms() - faults->begin_ms) / 1000);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static struct process *process_of(struct faults *faults, int target)
{
	return &faults->stage->members[target].onced.process;
}

/* ---- members ---- */

static void begin_killed(struct faults *faults, int target)
{
	stage_note_member(faults->stage, target);
	process_kill(process_of(faults, target));
}

static void begin_told(struct faults *faults, int target)
{
	stage_note_member(faults->stage, target);
	onced_tell_to_stop(&faults->stage->members[target].onced);
}

static void end_told(struct faults *faults, int target)
{
	struct process *process = process_of(faults, target);
	int code;

	ck_assert_msg(process_wait(process, EXIT_MS),
		      "%s hasn't ended after SIGTERM", targets[target]);
	code = process_exit_code(process);
	ck_assert_msg(
		code == 0 || code == EXIT_LATE ||
			stage_has_fenced_itself(faults->stage, target, code),
		"%s was told to stop, and its code is %d", targets[target],
		code);
	stage_start_member(faults->stage, target, NULL);
}

static void begin_frozen(struct faults *faults, int target)
{
	process_signal(process_of(faults, target), SIGSTOP);
}

static void end_frozen(struct faults *faults, int target)
{
	process_signal(process_of(faults, target), SIGCONT);
}

static void begin_at_point(struct faults *faults, int target, bool freezes)
{
	static const char *const points[] = {
#define X(name, text) #name,
		FAULT_POINT_TABLE(X)
#undef X
	};
	int64_t count = sizeof(points) / sizeof(points[0]);
	char fault[64];

	snprintf(fault, sizeof(fault), "%s:%" PRId64 "%s",
		 points[dice_roll(&faults->details, 0, count - 1)],
		 dice_roll(&faults->details, 1, 8), freezes ? ":stop" : "");
	begin_killed(faults, target);
	stage_start_member(faults->stage, target, fault);
	tell(faults, "%s lives until %s", targets[target], fault);
}

/* It wakes up to a session that is gone, and has some time to do harm. */
static void wake(struct faults *faults, int target)
{
	const struct timespec pause = { 0, 400000000 };

	process_signal(process_of(faults, target), SIGCONT);
	nanosleep(&pause, NULL);
}

static void end_by_new_life(struct faults *faults, int target)
{
	process_kill(process_of(faults, target));
	stage_start_member(faults->stage, target, NULL);
}

/* ---- servers ---- */

static void begin_pg(struct faults *faults, enum fault_name name)
{
	struct pg_server *pg = &faults->stage->pg;

	if (name == FAULT_stopped)
		pg_server_stop(pg);
	else if (name == FAULT_crashed)
		pg_server_crash(pg);
	else if (name == FAULT_destroyed)
		pg_server_kill(pg);
	else
		pg_server_freeze(pg);
}

static void end_pg(struct faults *faults, enum fault_name name)
{
	if (name == FAULT_stuck)
		pg_server_thaw(&faults->stage->pg);
	else
		stage_start_pg(faults->stage);
}

/* That of onced which has waited longest since it last said something. */
static void unseat(struct faults *faults)
{
	static const char sql[] =
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
		"WHERE datname = current_database() "
		"AND application_name LIKE 'onced%' "
		"ORDER BY state_change LIMIT 1";

	pg_fixture_reconnect(&faults->stage->fixture.pg);
	pg_fixture_run(&faults->stage->fixture.pg, sql);
}

static void set_hostile(struct faults *faults, bool begins)
{
	static const char *const settings[] = {
		"bytea_output = 'escape'",
		"client_encoding = 'LATIN1'",
		"statement_timeout = '5ms'",
		"lock_timeout = '1ms'",
		"search_path = 'pg_catalog'",
		"\"DateStyle\" = 'SQL, DMY'",
		"default_transaction_isolation = 'repeatable read'",
		"idle_in_transaction_session_timeout = '5ms'",
		"standard_conforming_strings = off",
	};
	int64_t count = sizeof(settings) / sizeof(settings[0]);
	const char *setting =
		settings[dice_roll(&faults->details, 0, count - 1)];
	struct pg_fixture *pg = &faults->stage->fixture.pg;
	char sql[512];

	pg_fixture_reconnect(pg);
	/* Its own session has the settings, too. */
	snprintf(sql, sizeof(sql),
		 "RESET ALL; SET statement_timeout = 0; SET lock_timeout = 0; "
		 "DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I "
		 "%s', current_database(), $_$%s$_$); END $$",
		 begins ? "SET %s" : "RESET ALL", setting);
	pg_fixture_run(pg, sql);
	pg_fixture_end_sessions(pg, "onced%");
	if (begins)
		tell(faults, "PostgreSQL: %s", setting);
}

static void move_right(struct stage *stage, enum fault_name name, bool begins)
{
	struct kafka_fixture *kafka = &stage->fixture.kafka;
	bool is_topic = name == FAULT_topic_denied;

	(begins ? kafka_rights_revoke : kafka_rights_grant)(
		kafka,
		is_topic ? RD_KAFKA_RESOURCE_TOPIC : RD_KAFKA_RESOURCE_GROUP,
		is_topic ? kafka->topic : kafka->group,
		RD_KAFKA_ACL_OPERATION_READ);
}

static void restart_kafka(struct stage *stage, const char *password)
{
	stage->kafka_is_up = false;
	kafka_server_stop(&stage->kafka);
	stage_start_kafka(stage, password);
}

static void begin_kafka(struct faults *faults, enum fault_name name)
{
	struct stage *stage = faults->stage;

	if (name == FAULT_locked_out) {
		restart_kafka(stage, "another");
	} else if (name == FAULT_topic_denied || name == FAULT_group_denied) {
		move_right(stage, name, true);
	} else if (name == FAULT_deleted) {
		kafka_fixture_delete_topic(&stage->fixture.kafka, stage->extra);
	} else {
		stage->kafka_is_up = false;
		if (name == FAULT_lost)
			kafka_server_kill(&stage->kafka);
		else
			kafka_server_stop(&stage->kafka);
	}
}

static void end_kafka(struct faults *faults, enum fault_name name)
{
	struct stage *stage = faults->stage;

	if (name == FAULT_locked_out)
		restart_kafka(stage, STAGE_PASSWORD);
	else if (name == FAULT_topic_denied || name == FAULT_group_denied)
		move_right(stage, name, false);
	else if (name == FAULT_deleted)
		kafka_fixture_create_topic(&stage->fixture.kafka, stage->extra,
					   1, NULL);
	else
		stage_start_kafka(stage, STAGE_PASSWORD);
}

/* ---- the network ---- */

static void strike_network(struct faults *faults, enum fault_name name,
			   bool begins)
{
	static const enum proxy_mode modes[] = { PROXY_DELAY, PROXY_FREEZE,
						 PROXY_DEAF, PROXY_REFUSE };
	bool is_pg = rules[name].target == FAULT_BEFORE_PG;
	struct proxy *proxy =
		is_pg ? &faults->stage->to_pg : &faults->stage->to_kafka;

	if (name == FAULT_pg_cut || name == FAULT_kafka_cut) {
		if (begins)
			proxy_cut(proxy);
	} else if (begins) {
		proxy_set(proxy,
			  modes[name -
				(is_pg ? FAULT_pg_late : FAULT_kafka_late)],
			  DELAY_MS);
	} else {
		proxy_set(proxy, PROXY_PASS, 0);
		/* Where all is slow, a COMMIT is likely to be on its way. */
		if (name == FAULT_pg_late || name == FAULT_kafka_late)
			proxy_cut(proxy);
	}
}

/* ---- all of them ---- */

static void begin_member(struct faults *faults, enum fault_name name,
			 int target)
{
	if (name == FAULT_killed)
		begin_killed(faults, target);
	else if (name == FAULT_told)
		begin_told(faults, target);
	else if (name == FAULT_frozen)
		begin_frozen(faults, target);
	else
		begin_at_point(faults, target, name == FAULT_frozen_at);
}

static void end_member(struct faults *faults, enum fault_name name, int target)
{
	if (name == FAULT_told)
		end_told(faults, target);
	else if (name == FAULT_frozen)
		end_frozen(faults, target);
	else {
		if (name == FAULT_frozen_at)
			wake(faults, target);
		end_by_new_life(faults, target);
	}
}

static void begin(struct faults *faults, enum fault_name name, int target)
{
	if (target < FAULT_AT_PG)
		begin_member(faults, name, target);
	else if (name == FAULT_unseated)
		unseat(faults);
	else if (name == FAULT_hostile)
		set_hostile(faults, true);
	else if (target == FAULT_AT_PG)
		begin_pg(faults, name);
	else if (target == FAULT_AT_KAFKA)
		begin_kafka(faults, name);
	else if (target == FAULT_AT_HANDLER)
		onced_fixture_put_file(&faults->stage->fixture, "pause");
	else
		strike_network(faults, name, true);
}

static void end(struct faults *faults, enum fault_name name, int target)
{
	if (target < FAULT_AT_PG)
		end_member(faults, name, target);
	else if (name == FAULT_unseated)
		return;
	else if (name == FAULT_hostile)
		set_hostile(faults, false);
	else if (target == FAULT_AT_PG)
		end_pg(faults, name);
	else if (target == FAULT_AT_KAFKA)
		end_kafka(faults, name);
	else if (target == FAULT_AT_HANDLER)
		onced_fixture_remove_file(&faults->stage->fixture, "pause");
	else
		strike_network(faults, name, false);
}

/* ---- when ---- */

/* "killed,deleted": one of those? */
static bool is_in_list(const char *names, const char *name)
{
	size_t size = strlen(name);
	const char *at = names;

	while ((at = strstr(at, name)) != NULL) {
		if ((at == names || at[-1] == ',') &&
		    (at[size] == ',' || at[size] == '\0'))
			return true;
		at += size;
	}
	return false;
}

static bool is_allowed(const struct faults *faults, int name)
{
	const char *names = getenv("ONCE_TEST_FAULTS");

	if (names != NULL && !is_in_list(names, fault_names[name]))
		return false;
	return !faults->only_members || rules[name].target == FAULT_AT_MEMBER;
}

static enum fault_name draw_name(struct faults *faults)
{
	int64_t sum = 0;
	int64_t rest;
	int name = -1;

	for (int i = 0; i < FAULT_NAMES; i++)
		sum += is_allowed(faults, i) ? rules[i].weight : 0;
	rest = dice_roll(&faults->dice, 0, sum - 1);
	while (rest >= 0) {
		name++;
		rest -= is_allowed(faults, name) ? rules[name].weight : 0;
	}
	return (enum fault_name)name;
}

/* The dice are rolled alike whether or not the target is free. */
static void begin_one(struct faults *faults)
{
	enum fault_name name = draw_name(faults);
	int64_t ms = dice_roll(&faults->dice, rules[name].shortest_ms,
			       rules[name].longest_ms);
	int member = (int)dice_roll(&faults->dice, 0, STAGE_MEMBERS - 1);
	int target = (int)rules[name].target +
		     (rules[name].target == FAULT_AT_MEMBER ? member : 0);
	struct trouble *trouble = &faults->troubles[target];

	faults->details.state = dice_next(&faults->dice);
	faults->next_ms =
		clock_ms() + dice_roll(&faults->dice, REST_MIN_MS, REST_MAX_MS);
	if (trouble->is_there)
		return;
	tell(faults, "%s: %s for %" PRId64 " ms", targets[target],
	     fault_names[name], ms);
	begin(faults, name, target);
	*trouble = (struct trouble){ true, name, clock_ms() + ms };
	faults->counts[name]++;
}

static void end_one(struct faults *faults, int target)
{
	struct trouble *trouble = &faults->troubles[target];

	end(faults, trouble->name, target);
	trouble->is_there = false;
	tell(faults, "%s: %s no more", targets[target],
	     fault_names[trouble->name]);
}

/* A process that was told to stop may need what is in trouble elsewhere. */
static bool is_over(struct faults *faults, int target)
{
	const struct trouble *trouble = &faults->troubles[target];
	int64_t now_ms = clock_ms();

	return trouble->is_there && now_ms >= trouble->until_ms &&
	       (trouble->name != FAULT_told ||
		!process_is_running(process_of(faults, target)) ||
		now_ms >= trouble->until_ms + EXIT_MS);
}

/* Nobody told it to. */
static void meet_end(struct faults *faults, int member)
{
	int code = process_exit_code(process_of(faults, member));

	if (!stage_has_fenced_itself(faults->stage, member, code)) {
		onced_fixture_show_logs(&faults->stage->fixture);
		ck_abort_msg("%s has ended by itself: %d", targets[member],
			     code);
	}
	tell(faults, "%s has fenced itself", targets[member]);
	faults->fenced++;
	stage_start_member(faults->stage, member, NULL);
}

static void look_after_members(struct faults *faults)
{
	for (int i = 0; i < STAGE_MEMBERS; i++)
		if (!faults->troubles[i].is_there &&
		    !process_is_running(process_of(faults, i)))
			meet_end(faults, i);
}

void faults_init(struct faults *faults, struct stage *stage, uint64_t seed,
		 bool only_members)
{
	*faults = (struct faults){ .stage = stage,
				   .dice = { seed },
				   .only_members = only_members,
				   .begin_ms = clock_ms(),
				   .next_ms = clock_ms() + REST_MAX_MS };
}

void faults_go_on(struct faults *faults)
{
	for (int i = 0; i < FAULT_TARGETS; i++)
		if (is_over(faults, i))
			end_one(faults, i);
	look_after_members(faults);
	if (clock_ms() >= faults->next_ms)
		begin_one(faults);
}

/* Members last: they stop only where the rest is well. */
void faults_cease(struct faults *faults)
{
	for (int i = FAULT_TARGETS - 1; i >= 0; i--)
		if (faults->troubles[i].is_there)
			end_one(faults, i);
	tell(faults, "all faults have ceased");
}
