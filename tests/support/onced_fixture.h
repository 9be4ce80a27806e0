/*
 * onced_fixture.h - onced itself, as a user runs it: a topic, a database with
 * its schema and a table of effects, a directory; and processes that are
 * started, stopped and killed there. All functions fail the test when they
 * can't do what they say, and then show the ends of all logs.
 *
 * The table `effect` has a row for each time that a handler's work was
 * committed, and no unique key: what is done twice is seen.
 */
#ifndef TEST_ONCED_FIXTURE_H
#define TEST_ONCED_FIXTURE_H

#include "kafka_fixture.h"
#include "monitor.h"
#include "pg_fixture.h"
#include "process.h"
#include "temp_dir.h"

struct onced_fixture {
	struct kafka_fixture kafka;
	struct pg_fixture pg;
	struct temp_dir dir;
	struct monitor *monitor; /* NULL: nobody watches */
	int partitions;
	int shift;    /* of the partitions of a series */
	int64_t sent; /* messages, all partitions */
};

/* On the shared servers. */
void onced_fixture_init(struct onced_fixture *fixture, int partitions);
/* With the database on a server of the test's own, */
void onced_fixture_init_at(struct onced_fixture *fixture, int partitions,
			   const char *conninfo);
/* or with the topic on a broker of its own. */
void onced_fixture_init_on(struct onced_fixture *fixture, int partitions,
			   const char *bootstrap);
/* Or both. */
void onced_fixture_init_with(struct onced_fixture *fixture, int partitions,
			     const char *conninfo, const char *bootstrap);
/* The monitor (monitor.h) judges, at last. */
/* or with the topic on a mock cluster: fixture->kafka.mock. */
void onced_fixture_init_mock(struct onced_fixture *fixture, int partitions);
void onced_fixture_fini(struct onced_fixture *fixture);

/* The same topic for another group, with an empty database. Nobody watches. */
void onced_fixture_begin_anew(struct onced_fixture *fixture);

/* From here on nobody watches; what was until now is judged. For a test that
 * breaks the rules by its own hand, such as by moving a position. */
void onced_fixture_without_monitor(struct onced_fixture *fixture);

/* ---- messages ---- */

struct letter {
	int32_t partition;
	const char *msg_id; /* header "id"; NULL: none */
	const char *biz_id; /* header "biz"; NULL: none */
	const char *act;    /* header "act": see tests/handlers/effect.c */
	const char *value;  /* NULL: a tombstone */
};

void onced_fixture_send(struct onced_fixture *fixture,
			const struct letter *letters, size_t count);
/* Numbers `first` to first + count - 1: message "m7" of operation "b7" with
 * value "v7", over all partitions in turn. */
void onced_fixture_send_series(struct onced_fixture *fixture, int64_t first,
			       int64_t count);
/* Messages of 10 kB, numbered from 0 on, over all partitions in turn. */
void onced_fixture_send_heavy(struct onced_fixture *fixture, int megabytes,
			      const char *act);

/* Files in the directory, by which tests and handlers talk (effect.c). */
void onced_fixture_put_file(struct onced_fixture *fixture, const char *name);
void onced_fixture_remove_file(struct onced_fixture *fixture, const char *name);
void onced_fixture_wait_for_file(struct onced_fixture *fixture,
				 const char *name, int64_t timeout_ms);

/* ---- what came of them ---- */

/* Until the query gives the number. */
void onced_fixture_wait_for(struct onced_fixture *fixture, const char *sql,
			    int64_t number, int64_t timeout_ms);
/* Until the positions of all partitions together are past what was sent. */
void onced_fixture_wait_for_all(struct onced_fixture *fixture,
				int64_t timeout_ms);
int64_t onced_fixture_position(struct onced_fixture *fixture,
			       int32_t partition);
/* Exactly `count` operations took effect, each one once. */
void onced_fixture_check_effects(struct onced_fixture *fixture, int64_t count);

/* The ends of all logs, to stderr. */
void onced_fixture_show_logs(struct onced_fixture *fixture);

/* ---- processes ---- */

/* NULL or 0: as in the comment. */
struct onced_options {
	const char *name;        /* of its files; "onced" */
	const char *instance_id; /* none */
	const char *program;     /* this build's onced */
	const char *plugin;    /* in ONCE_TEST_HANDLERS, or a path; "effect" */
	const char *topics;    /* more than the fixture's: ", a, b" */
	const char *conninfo;  /* the fixture's database */
	const char *brokers;   /* the fixture's Kafka */
	const char *lanes;     /* "2" */
	const char *log_level; /* "info" */
	const char *shutdown;  /* "20s" */
	const char *attempts;  /* "3" */
	const char *crashes;   /* "2" */
	const char *batch;     /* messages at most; "500" */
	const char *max_time;  /* of a batch's calls; "1s" */
	const char *settings;  /* one more of the handler's: "name=value" */
	const char *memory;    /* kafka.max_memory; as a user has it */
	const char *property;  /* one more of Kafka's: "name=value" */
	const char *session;   /* lines instead of a session's times; 6 s */
	const char *msg_id;    /* "{header:id}" */
	const char *route;     /* more lines of the route */
	const char *retention; /* "forever" */
	const char *database;  /* more lines of the section "database" */
	const char *prefilter; /* lines of the section "prefilter" */
};

/* For options.prefilter: a local one, and the shared Redis. Static. */
const char *onced_both_prefilters(void);

struct onced {
	struct onced_fixture *fixture;
	struct process process;
	int port; /* of its pages */
	const char *program;
	char config[PATH_MAX];
	char log[PATH_MAX];    /* of all its runs */
	char output[PATH_MAX]; /* of the last command */
};

/* Write its configuration file. `options` may be NULL. */
void onced_init(struct onced *onced, struct onced_fixture *fixture,
		const struct onced_options *options);
/* `onced run`; "after_claim:3" and the like, or NULL: see fault.h. */
void onced_start(struct onced *onced, const char *fault);
/* Until it has ended by itself; its exit code. */
int onced_wait(struct onced *onced, int64_t timeout_ms);
/* SIGTERM, as soon as it knows what to do with it. */
void onced_tell_to_stop(struct onced *onced);
/* The same, and wait; its exit code. After 0, all that it took from Kafka has
 * an ending in its numbers. */
int onced_stop(struct onced *onced);
void onced_kill(struct onced *onced);

/* Another command, to its end; its exit code. The arguments end with NULL. */
int onced_call(struct onced *onced, const char *const *arguments);
/* One that takes the file, such as "check". `more`: one more argument, or NULL.
 */
int onced_command(struct onced *onced, const char *command, const char *more);
/* Is it in what the last command wrote? */
void onced_check_output(struct onced *onced, const char *text);

bool onced_has_logged(struct onced *onced, const char *text);
void onced_wait_for_log(struct onced *onced, const char *text,
			int64_t timeout_ms);
/* Until /readyz is green, or red with a page that has `why` in it. */
void onced_wait_until_ready(struct onced *onced, int64_t timeout_ms);
void onced_wait_until_not_ready(struct onced *onced, const char *why,
				int64_t timeout_ms);
/* At no time in so long. */
void onced_check_not_ready(struct onced *onced, int64_t span_ms);

/* ---- its numbers ---- */

/* The sum of a metric's samples; `label`: of those only that have it in their
 * labels, such as "key=\"msg_id\""; NULL: of all. */
int64_t onced_get_metric(struct onced *onced, const char *name,
			 const char *label);
/* The same of a sum of seconds. */
double onced_get_seconds(struct onced *onced, const char *name,
			 const char *label);
/* Until the numbers of these processes tell how each of at least so many
 * messages ended, which they took from Kafka or, again, from those parked. A
 * batch is counted after it is committed: before a test compares a number, it
 * has to wait for this, not only for the database. */
void onced_wait_until_counted(struct onced *onced, size_t processes,
			      int64_t messages);
/* The same, of the last line that it logs. */
void onced_check_last_sums(struct onced *onced);

#endif
