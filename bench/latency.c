/*
 * latency.c - from the broker's time of a message to the answer of its COMMIT,
 * at shares of the top rate; beside it, the COMMIT of a session that writes one
 * row.
 *
 * The idea: the top rate is what onced handles while a sender on the same
 * machine sends no less. What it drains with nobody sending is more, and nine
 * tenths of that may be more than both can do.
 */
#include "commits.h"
#include "onced_process.h"
#include "sections.h"
#include "sender.h"
#include "tables.h"

#include <check.h>
#include <clock.h>
#include <stdio.h>

enum {
	TOPIC_PERCENT = 20,
	WARM_MESSAGES = 400,
	WAIT_MS = 300000
};

#define SECOND_NS INT64_C(1000000000)
#define WARM_NS SECOND_NS /* of each load: not counted */

struct load {
	const char *name;    /* NULL: nothing is sent */
	const char *commits; /* of the yardstick; NULL: it doesn't run */
	int percent;         /* of the top rate; 0: `per_second` */
	int64_t per_second;
};

static const struct load loads[] = {
	{ "alone, one each 50 ms", NULL, 0, 20 },
	{ NULL, "COMMIT alone", 0, 0 },
	{ "1 % of the top rate", "COMMIT beside 1 %", 1, 0 },
	{ "50 % of the top rate", "COMMIT beside 50 %", 50, 0 },
	{ "90 % of the top rate", "COMMIT beside 90 %", 90, 0 },
};

enum {
	LOADS = sizeof(loads) / sizeof(loads[0])
};

/* What is left of a load when onced has stopped. */
struct trace {
	struct window window;
	struct commits commits;
	double per_second;
};

struct latency {
	struct bench *bench;
	const struct section *section;
	struct kafka_fixture kafka; /* made anew, with `timed` beside it */
	struct kafka_fixture timed; /* its topic has the broker's times */
	struct onced_process onced;
	struct sender sender;
	double top_per_second;
	struct trace traces[LOADS];
};

/* ---- what onced has handled ---- */

static int64_t count_handled(struct latency *latency)
{
	return pg_fixture_get_int64(&latency->bench->pg,
				    "SELECT coalesce(sum(next_offset), 0)::int8"
				    " FROM once.position");
}

static bool has_handled_all(void *arg)
{
	struct latency *latency = arg;

	if (!process_is_running(&latency->onced.process))
		onced_process_fail(&latency->onced, "onced ended");
	return count_handled(latency) == latency->sender.sent;
}

static void wait_for_all(struct latency *latency)
{
	if (!wait_until(has_handled_all, latency, WAIT_MS))
		onced_process_fail(&latency->onced,
				   "onced didn't handle all that was sent");
}

/* ---- the top rate ---- */

static double find_drained(struct bench *bench)
{
	static const struct topic_plan plan = { .percent = TOPIC_PERCENT };
	struct scenario scenario = scenario_of(NULL);
	struct outcome outcome = { 0 };
	struct topic topic;

	topic_init(&topic, &plan, bench->messages);
	tables_empty(bench);
	stage_onced(bench, &scenario, &topic, &outcome);
	topic_fini(&topic);
	return (double)outcome.messages * 1e9 / (double)outcome.took_ns;
}

/* Sent as fast as onced has drained; looked at when the sender is done, so that
 * what it takes is taken all the time. */
static double find_top(struct latency *latency, double drained)
{
	int64_t before;
	int64_t began_ns;
	double top;

	tell(latency->section->name, "the top rate");
	sender_run(&latency->sender, (int64_t)drained, WARM_NS);
	before = count_handled(latency);
	began_ns = clock_ns();
	sender_run(&latency->sender, (int64_t)drained,
		   latency->bench->span_s * SECOND_NS);
	top = (double)(count_handled(latency) - before) * 1e9 /
	      (double)(clock_ns() - began_ns);
	wait_for_all(latency);
	return top;
}

/* ---- a load ---- */

static int64_t choose_rate(const struct latency *latency,
			   const struct load *load)
{
	int64_t rate = (int64_t)(latency->top_per_second * load->percent / 100);

	if (load->percent == 0)
		return load->per_second;
	return rate < 1 ? 1 : rate;
}

static void send_load(struct latency *latency, const struct load *load,
		      struct trace *trace, int64_t span_ns)
{
	int64_t began_ns = clock_ns();
	int64_t before = latency->sender.sent;

	sender_run(&latency->sender, choose_rate(latency, load), span_ns);
	trace->per_second = (double)(latency->sender.sent - before) * 1e9 /
			    (double)(clock_ns() - began_ns);
}

static void let_pass(int64_t span_ns)
{
	const struct timespec span = { span_ns / SECOND_NS, 0 };

	nanosleep(&span, NULL);
}

static void run_load(struct latency *latency, const struct load *load,
		     struct trace *trace)
{
	int64_t span_ns = WARM_NS + latency->bench->span_s * SECOND_NS;

	tell(latency->section->name,
	     load->name == NULL ? load->commits : load->name);
	trace->window.from_ns = clock_ns() + WARM_NS;
	if (load->commits != NULL)
		commits_start(&trace->commits, latency->bench->pg.conninfo,
			      span_ns);
	if (load->name != NULL)
		send_load(latency, load, trace, span_ns);
	else
		let_pass(span_ns);
	trace->window.to_ns = clock_ns();
	if (load->commits != NULL)
		commits_stop(&trace->commits);
	wait_for_all(latency);
}

/* ---- what came out ---- */

static void add_load(struct latency *latency, const struct load *load,
		     const struct trace *trace, const struct moments *moments)
{
	struct results *results = &latency->bench->results;
	const char *section = latency->section->name;

	if (load->name != NULL) {
		moments_add(moments, &trace->window, SINCE_COUNT, results,
			    section, load->name);
		results_add(results, section, load->name, "messages/s",
			    trace->per_second);
	}
	if (load->commits != NULL)
		moments_add(&trace->commits.moments, &trace->window, 1, results,
			    section, load->commits);
	if (load->name != NULL && load->commits != NULL)
		results_compare(results, section, load->name, load->commits);
}

static void add_all(struct latency *latency)
{
	struct moments moments;

	moments_read(&moments, latency->onced.moments);
	ck_assert_int_eq((int64_t)moments.count, latency->sender.sent);
	for (size_t i = 0; i < LOADS; i++) {
		add_load(latency, &loads[i], &latency->traces[i], &moments);
		commits_fini(&latency->traces[i].commits);
	}
	moments_fini(&moments);
	results_add(&latency->bench->results, latency->section->name,
		    "the top rate", "messages/s", latency->top_per_second);
}

/* ---- the run ---- */

static void create_topic(struct latency *latency)
{
	static const char *const settings[] = {
		"message.timestamp.type=LogAppendTime", NULL
	};

	kafka_fixture_init(&latency->kafka, TOPIC_PARTITIONS);
	latency->timed = latency->kafka;
	snprintf(latency->timed.topic, sizeof(latency->timed.topic),
		 "%.80s-timed", latency->kafka.topic);
	kafka_fixture_create_topic(&latency->kafka, latency->timed.topic,
				   TOPIC_PARTITIONS, settings);
	latency->sender.kafka = &latency->timed;
}

static void delete_topic(struct latency *latency)
{
	kafka_fixture_delete_topic(&latency->kafka, latency->timed.topic);
	kafka_fixture_fini(&latency->kafka);
}

/* One onced for all loads, as a service has it. */
static void start(struct latency *latency)
{
	const struct scenario scenario = scenario_of(NULL);
	struct topic topic = { .kafka = latency->timed };

	tables_empty(latency->bench);
	onced_process_init(&latency->onced, latency->bench, &scenario, &topic);
	onced_process_add_clock(&latency->onced, latency->bench);
	onced_process_start(&latency->onced, latency->bench);
	sender_run(&latency->sender, WARM_MESSAGES, SECOND_NS);
	wait_for_all(latency);
}

static void run_round(struct bench *bench, const struct section *section,
		      double drained)
{
	struct latency latency = { .bench = bench, .section = section };

	create_topic(&latency);
	start(&latency);
	latency.top_per_second = (double)bench->top_per_second;
	if (bench->top_per_second == 0)
		latency.top_per_second = find_top(&latency, drained);
	for (size_t i = 0; i < LOADS; i++)
		run_load(&latency, &loads[i], &latency.traces[i]);
	onced_process_stop(&latency.onced);
	tables_check(bench, latency.sender.sent);
	add_all(&latency);
	delete_topic(&latency);
}

void section_run_latency(struct bench *bench, const struct section *section)
{
	double drained = 0;

	if (bench->top_per_second == 0) {
		tell(section->name, "what is drained");
		drained = find_drained(bench);
	}
	for (int round = 0; round < bench->rounds; round++)
		run_round(bench, section, drained);
}
