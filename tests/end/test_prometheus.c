/*
 * test_prometheus.c - a real Prometheus scrapes a real run, and what we give to
 * users works on it: every expression of the dashboard and of the alerts is
 * understood, and shows something.
 */
#include "http_get.h"
#include "onced_fixture.h"
#include "prometheus_server.h"
#include "redis_server.h"
#include "servers.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

enum {
	WAIT_MS = 60000,
	TROUBLE_SIZE = 256,
	TEST_SECONDS = 240
};

/* What Prometheus 2.42 asks for, and what older programs do. */
static const char openmetrics[] =
	"application/openmetrics-text;version=1.0.0,"
	"application/openmetrics-text;version=0.0.1;q=0.75,"
	"text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
static const char plain_text[] = "text/plain;version=0.0.4";

/* 0: what came in has an ending. */
static const char sums[] =
	"-abs(sum(onced_consumed_total) + sum(onced_resumed_total)"
	" - sum(onced_handled_total) - sum(onced_intercepts_total)"
	" - sum(onced_backstop_hits_total) - sum(onced_conflicts_total)"
	" - sum(onced_dead_total) - sum(onced_postponed_total)"
	" - (sum(onced_returned_total) or vector(0)))";

/* Counted only if it happens, and it needn't. */
static const char *const may_be_empty[] = { "onced_anchor_gone_total",
					    "onced_group_offset_strange_total",
					    "onced_returned_total" };

/* clang-format off */
static const struct letter first[] = {
	{ 0, "m1", "b1", NULL,      "v" },
	{ 0, "m1", "b1", NULL,      "v" },     /* in the same batch, mostly */
	{ 1, "m2", "b2", NULL,      "v" },
	{ 1, "m3", "b3", "reject",  "v" },     /* dead */
	{ 1, "m4", "b4", "recover", "v" },     /* after two retries */
};
static const struct letter second[] = {
	{ 1, "m1", "b1", NULL,      "v" },     /* a prefilter stops it */
	{ 0, "m5", "b2", NULL,      "v" },     /* and this one, by biz_id */
	{ 0, "m6", "b1", NULL,      "other" }, /* conflict */
};
/* clang-format on */

static struct onced_fixture fixture;
static struct redis_server redis;
static struct prometheus_server prometheus;
static struct onced onced;

/* ---- questions ---- */

static const char *text_at(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text == NULL ? "" : text;
}

static json_t *ask(const char *what, const char *query)
{
	json_t *answer = prometheus_ask(&prometheus, what, query);

	ck_assert_msg(answer != NULL, "Prometheus doesn't answer: %s", what);
	ck_assert_msg(strcmp(text_at(answer, "status"), "success") == 0,
		      "%s\n%s", query == NULL ? what : query,
		      text_at(answer, "error"));
	return answer;
}

static json_t *data_of(const json_t *answer, const char *name)
{
	return json_object_get(json_object_get(answer, "data"), name);
}

static double value_in(const json_t *sample)
{
	const json_t *pair = json_object_get(sample, "value");
	const char *text = json_string_value(json_array_get(pair, 1));

	return text == NULL ? NAN : strtod(text, NULL);
}

/* NaN: there is none, or it isn't a number. Of many, any that is one. */
static double value_of(const char *query)
{
	json_t *answer = ask("query", query);
	const json_t *samples = data_of(answer, "result");
	double value = NAN;

	for (size_t i = 0; i < json_array_size(samples) && isnan(value); i++)
		value = value_in(json_array_get(samples, i));
	json_decref(answer);
	return value;
}

struct wanted {
	const char *query;
	double least;
};

static bool is_reached(void *arg)
{
	const struct wanted *wanted = arg;

	return value_of(wanted->query) >= wanted->least;
}

static void wait_for(const char *query, double least)
{
	struct wanted wanted = { query, least };

	if (wait_until(is_reached, &wanted, WAIT_MS))
		return;
	onced_fixture_show_logs(&fixture);
	ck_abort_msg("%s: is %g, not %g", query, value_of(query), least);
}

/* ---- a run ---- */

static void start_onced(void)
{
	char prefilter[PATH_MAX];
	struct onced_options options = { .prefilter = prefilter };
	struct once_error err;

	ck_assert_msg(redis_server_create(&redis, &err) == ONCE_OK, "%s",
		      err.text);
	snprintf(prefilter, sizeof(prefilter),
		 "  local:\n    max_memory: 1MiB\n  redis:\n    url: \"%s\"\n",
		 redis.url);
	onced_fixture_init(&fixture, 2);
	onced_init(&onced, &fixture, &options);
	onced_start(&onced, NULL);
	onced_wait_until_ready(&onced, WAIT_MS);
}

static void start_prometheus(void)
{
	char rules[PATH_MAX];
	struct once_error err;

	snprintf(rules, sizeof(rules), "%s/config/alerts.yml",
		 getenv("ONCE_TEST_SOURCE"));
	ck_assert_msg(prometheus_server_create(&prometheus, onced.port, rules,
					       &err) == ONCE_OK,
		      "%s", err.text);
}

/* All that is counted has stood at 0 before, so that it has a rate. */
static void set_up(void)
{
	start_onced();
	start_prometheus();
	wait_for("min(count_over_time(onced_handled_total[5m]))", 2);
	onced_fixture_send(&fixture, first, COUNT(first));
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_send(&fixture, second, COUNT(second));
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	wait_for("sum(onced_consumed_total)", COUNT(first) + COUNT(second));
	wait_for(sums, 0);
	wait_for("min(count_over_time(onced_consumed_total[5m]))", 2);
}

static void tear_down(void)
{
	ck_assert_int_eq(onced_stop(&onced), 0);
	prometheus_server_destroy(&prometheus);
	onced_fixture_fini(&fixture);
	redis_server_destroy(&redis);
}

/* ---- pages ---- */

static char *get_metrics(const char *accepted)
{
	char *page;

	ck_assert_int_eq(http_get_as(onced.port, "/metrics", accepted, &page),
			 200);
	ck_assert_ptr_nonnull(page);
	return page;
}

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text);

	return size >= strlen(end) &&
	       strcmp(text + size - strlen(end), end) == 0;
}

static bool is_scraped(void *arg)
{
	json_t *answer = ask("targets", NULL);
	const json_t *target =
		json_array_get(data_of(answer, "activeTargets"), 0);
	char *trouble = arg;
	bool is_up = strcmp(text_at(target, "health"), "up") == 0;

	snprintf(trouble, TROUBLE_SIZE, "%s", text_at(target, "lastError"));
	json_decref(answer);
	return is_up && trouble[0] == '\0';
}

/* OpenMetrics, by the header that Prometheus sends. */
static void check_target(void)
{
	char trouble[TROUBLE_SIZE];
	char *page = get_metrics(openmetrics);

	ck_assert(ends_with(page, "# EOF\n"));
	ck_assert_msg(wait_until(is_scraped, trouble, WAIT_MS), "%s", trouble);
	wait_for("up{job=\"onced\"}", 1);
	free(page);
}

/* The older text, by the parser of promtool. */
static void check_plain_text(void)
{
	char path[PATH_MAX];
	const char *argv[] = { "sh", "-c",
			       "exec promtool check metrics <\"$0\"", path,
			       NULL };
	struct process_options options = { .argv = argv };
	struct once_error err;
	char *page = get_metrics(plain_text);
	FILE *file;

	ck_assert(!ends_with(page, "# EOF\n"));
	ck_assert(temp_dir_path(path, fixture.dir.path, "metrics", &err) ==
		  ONCE_OK);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(page, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(process_run(&options, WAIT_MS, &err), 0);
	free(page);
}

static void check_formats(void)
{
	check_target();
	check_plain_text();
}

static void check_counts(void)
{
	ck_assert_double_eq(value_of("sum(onced_handled_total)"), 3);
	ck_assert_double_eq(value_of("sum(onced_dead_total)"), 1);
	ck_assert_double_eq(value_of("sum(onced_conflicts_total)"), 1);
	ck_assert_double_ge(value_of("sum(onced_intercepts_total"
				     "{stage=~\"local|redis\"})"),
			    1);
}

/* ---- the dashboard ---- */

/* What Grafana puts in place of a variable; steps over it. */
static const char *take_variable(const char **at)
{
	static const char *const variables[][2] = {
		{ "$__rate_interval", "5m" },
		{ "$instance", ".*" },
		{ "$route", ".*" },
		{ "$job", ".*" },
	};

	for (size_t i = 0; i < COUNT(variables); i++) {
		size_t size = strlen(variables[i][0]);

		if (strncmp(*at, variables[i][0], size) != 0)
			continue;
		*at += size;
		return variables[i][1];
	}
	ck_abort_msg("an unknown variable: %s", *at);
	return NULL;
}

static char *fill_in(const char *expression)
{
	struct text text = { 0 };

	while (*expression != '\0')
		if (*expression == '$')
			text_adds(&text, take_variable(&expression));
		else
			text_add(&text, expression++, 1);
	ck_assert_ptr_nonnull(text.data);
	return text.data;
}

static bool needs_data(const char *expression)
{
	for (size_t i = 0; i < COUNT(may_be_empty); i++)
		if (strstr(expression, may_be_empty[i]) != NULL)
			return false;
	return true;
}

static void check_expression(const char *title, const char *expression)
{
	char *query = fill_in(expression);
	double value = value_of(query);

	ck_assert_msg(!needs_data(query) || !isnan(value),
		      "panel \"%s\" shows nothing: %s", title, query);
	free(query);
}

static size_t check_panel(const json_t *panel)
{
	const json_t *targets = json_object_get(panel, "targets");
	size_t count = json_array_size(targets);

	for (size_t i = 0; i < count; i++)
		check_expression(text_at(panel, "title"),
				 text_at(json_array_get(targets, i), "expr"));
	return count;
}

/* Every panel shows something. */
static void check_dashboard(void)
{
	char path[PATH_MAX];
	json_error_t err;
	json_t *dashboard;
	const json_t *panels;
	size_t count = 0;

	snprintf(path, sizeof(path), "%s/config/grafana.json",
		 getenv("ONCE_TEST_SOURCE"));
	dashboard = json_load_file(path, JSON_REJECT_DUPLICATES, &err);
	ck_assert_msg(dashboard != NULL, "%s:%d: %s", path, err.line, err.text);
	panels = json_object_get(dashboard, "panels");
	for (size_t i = 0; i < json_array_size(panels); i++)
		count += check_panel(json_array_get(panels, i));
	ck_assert_uint_gt(count, 30);
	json_decref(dashboard);
}

/* ---- the alerts ---- */

static void check_rule(const json_t *rule)
{
	ck_assert_msg(strcmp(text_at(rule, "health"), "ok") == 0, "%s: %s %s",
		      text_at(rule, "name"), text_at(rule, "health"),
		      text_at(rule, "lastError"));
	value_of(text_at(rule, "query"));
}

static size_t check_group(const json_t *group)
{
	const json_t *rules = json_object_get(group, "rules");
	size_t count = json_array_size(rules);

	for (size_t i = 0; i < count; i++)
		check_rule(json_array_get(rules, i));
	return count;
}

static size_t check_rules(void)
{
	json_t *answer = ask("rules", NULL);
	const json_t *groups = data_of(answer, "groups");
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(groups); i++)
		count += check_group(json_array_get(groups, i));
	json_decref(answer);
	return count;
}

/* Every rule is evaluated; those of this run fire, and no other. */
static void check_alerts(void)
{
	wait_for("count(ALERTS{alertname=\"OncedDead\","
		 "alertstate=\"firing\",reason=\"rejected\"})",
		 1);
	wait_for("count(ALERTS{alertname=\"OncedConflicts\","
		 "alertstate=\"firing\"})",
		 1);
	ck_assert_uint_gt(check_rules(), 15);
	ck_assert_double_eq(value_of("count(ALERTS{alertstate=\"firing\"})"),
			    2);
	ck_assert_double_eq(value_of("job:onced_prefilter:on"), 1);
	ck_assert_double_eq(value_of("job_topic:onced_partitions:count"), 2);
}

START_TEST(prometheus_reads_a_run_and_dashboard_and_alerts_show_it)
{
	check_formats();
	check_counts();
	check_dashboard();
	check_alerts();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("prometheus");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA) | NEED(REDIS));
	if (!prometheus_is_installed()) {
		fprintf(stderr, "there is no prometheus (make deps)\n");
		return servers_skip_code();
	}
	tcase_set_timeout(tests, TEST_SECONDS);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests,
		       prometheus_reads_a_run_and_dashboard_and_alerts_show_it);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
