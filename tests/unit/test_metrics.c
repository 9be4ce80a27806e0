/* The registry, and its page read by a parser that forgives nothing: what it
 * accepts is less than what Prometheus does. */
#include "metrics.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum family {
	REQUESTS,
	BUSY,
	DEPTH,
	SECONDS,
	UNUSED,
	COUNT_FAMILIES
};

static const double bounds[] = { 0.00001, 0.25, 1, 10, 0 };

static const struct metric_family families[COUNT_FAMILIES] = {
	[REQUESTS] = { "x_requests",
		       METRIC_COUNTER,
		       "Requests.",
		       { "route", "stage", "key" },
		       NULL },
	[BUSY] = { "x_busy_seconds", METRIC_COUNTER, "Busy.", { NULL }, NULL },
	[DEPTH] = { "x_depth", METRIC_GAUGE, "Depth.", { "queue" }, NULL },
	[SECONDS] = { "x_call_seconds",
		      METRIC_HISTOGRAM,
		      "Calls.",
		      { "route" },
		      bounds },
	[UNUSED] = { "x_unused", METRIC_GAUGE, "Never.", { NULL }, NULL },
};

static struct metrics *create(void)
{
	struct metrics *metrics = metrics_create(families, COUNT_FAMILIES);

	ck_assert_ptr_nonnull(metrics);
	return metrics;
}

static struct metric_cell *find(struct metrics *metrics, enum family family,
				const char *first)
{
	const char *const values[] = { first, "batch", "biz_id" };
	struct metric_cell *cell = metrics_cell(metrics, family, values);

	ck_assert_ptr_nonnull(cell);
	return cell;
}

/* ---- the parser ---- */

enum {
	NAME_SIZE = 64,
	LABELS_SIZE = 256,
	SAMPLES_MAX = 64
};

struct sample {
	char name[NAME_SIZE];
	char labels[LABELS_SIZE]; /* as on the page, without le */
	char le[NAME_SIZE];       /* "" without it */
	double value;
};

struct page {
	bool open_metrics;
	const char *at;
	char family[NAME_SIZE]; /* the one whose samples come now */
	char type[NAME_SIZE];
	struct sample samples[SAMPLES_MAX];
	size_t count;
};

static void eat(struct page *page, const char *text)
{
	ck_assert_msg(strncmp(page->at, text, strlen(text)) == 0,
		      "\"%s\" expected at \"%.60s\"", text, page->at);
	page->at += strlen(text);
}

static void eat_name(struct page *page, char name[NAME_SIZE])
{
	size_t size = strspn(page->at, "abcdefghijklmnopqrstuvwxyz_0123456789");

	ck_assert_msg(size > 0 && size < NAME_SIZE && page->at[0] > '9',
		      "no name at \"%.60s\"", page->at);
	memcpy(name, page->at, size);
	name[size] = '\0';
	page->at += size;
}

/* A quoted value; where it begins and ends, without the quotes. */
static size_t eat_quoted(struct page *page, const char **ret_value)
{
	eat(page, "\"");
	*ret_value = page->at;
	for (; page->at[0] != '"'; page->at++) {
		ck_assert_msg(page->at[0] != '\0' && page->at[0] != '\n',
			      "a value without its end");
		if (page->at[0] != '\\')
			continue;
		page->at++;
		ck_assert_msg(page->at[0] != '\0' &&
				      strchr("\\\"n", page->at[0]) != NULL,
			      "\\%c is no escape", page->at[0]);
	}
	page->at++;
	return (size_t)(page->at - 1 - *ret_value);
}

static void eat_label(struct page *page, struct sample *sample)
{
	char name[NAME_SIZE];
	const char *value;
	size_t size;
	size_t used = strlen(sample->labels);

	eat_name(page, name);
	eat(page, "=");
	size = eat_quoted(page, &value);
	if (strcmp(name, "le") == 0) {
		ck_assert_uint_lt(size, NAME_SIZE);
		memcpy(sample->le, value, size);
		return;
	}
	ck_assert_ptr_null(strstr(sample->labels, name));
	snprintf(sample->labels + used, LABELS_SIZE - used, "%s%s=\"%.*s\"",
		 used == 0 ? "" : ",", name, (int)size, value);
}

static void eat_labels(struct page *page, struct sample *sample)
{
	if (page->at[0] != '{')
		return;
	eat(page, "{");
	eat_label(page, sample);
	while (page->at[0] == ',') {
		eat(page, ",");
		eat_label(page, sample);
	}
	eat(page, "}");
}

static double eat_number(struct page *page)
{
	size_t size = strcspn(page->at, "\n");
	bool word = strncmp(page->at, "+Inf\n", 5) == 0 ||
		    strncmp(page->at, "-Inf\n", 5) == 0 ||
		    strncmp(page->at, "NaN\n", 4) == 0;
	char *end;
	double value = strtod(page->at, &end);

	ck_assert_msg(word || strspn(page->at, "0123456789.e+-") == size,
		      "no number: %.40s", page->at);
	ck_assert_msg(size > 0 && end == page->at + size, "no number: %.40s",
		      page->at);
	page->at = end;
	return value;
}

/* Is it what its family may have? */
static void check_suffix(const struct page *page, const struct sample *sample)
{
	size_t size = strlen(page->family);
	const char *suffix = sample->name + size;
	bool bucket = strcmp(suffix, "_bucket") == 0;

	ck_assert_int_eq(strncmp(sample->name, page->family, size), 0);
	ck_assert_int_eq(bucket, sample->le[0] != '\0');
	if (strcmp(page->type, "histogram") == 0)
		ck_assert(bucket || strcmp(suffix, "_sum") == 0 ||
			  strcmp(suffix, "_count") == 0);
	else if (strcmp(page->type, "counter") == 0 && page->open_metrics)
		ck_assert_str_eq(suffix, "_total");
	else
		ck_assert_str_eq(suffix, "");
}

static void check_counter(const struct page *page, const struct sample *sample)
{
	if (strcmp(page->type, "counter") != 0)
		return;
	ck_assert_ptr_nonnull(strstr(sample->name, "_total"));
	ck_assert_msg(sample->value >= 0, "%s", sample->name);
}

static void check_new(const struct page *page, const struct sample *sample)
{
	for (const struct sample *at = page->samples; at != sample; at++)
		ck_assert_msg(strcmp(at->name, sample->name) != 0 ||
				      strcmp(at->labels, sample->labels) != 0 ||
				      strcmp(at->le, sample->le) != 0,
			      "twice: %s{%s}", at->name, at->labels);
}

static void eat_sample(struct page *page)
{
	struct sample *sample = &page->samples[page->count];

	ck_assert_uint_lt(page->count, SAMPLES_MAX);
	eat_name(page, sample->name);
	eat_labels(page, sample);
	eat(page, " ");
	sample->value = eat_number(page);
	eat(page, "\n");
	check_suffix(page, sample);
	check_counter(page, sample);
	check_new(page, sample);
	page->count++;
}

static void eat_family(struct page *page, const char *whole)
{
	char line[NAME_SIZE * 2];
	char name[NAME_SIZE];

	eat(page, "# HELP ");
	eat_name(page, page->family);
	eat(page, " ");
	page->at += strcspn(page->at, "\n");
	eat(page, "\n# TYPE ");
	eat_name(page, name);
	ck_assert_str_eq(name, page->family);
	snprintf(line, sizeof(line), "# TYPE %s ", name);
	ck_assert_ptr_eq(strstr(whole, line), page->at - strlen(name) - 7);
	eat(page, " ");
	eat_name(page, page->type);
	eat(page, "\n");
	while (page->at[0] != '#' && page->at[0] != '\0')
		eat_sample(page);
}

/* The buckets of a histogram stand together: they rise, the last is +Inf and
 * as large as the count that follows behind the sum. */
static void check_buckets(const struct page *page)
{
	const struct sample *end = page->samples + page->count;

	for (const struct sample *at = page->samples; at < end; at++) {
		if (at->le[0] == '\0')
			continue;
		if (strcmp(at->le, "+Inf") == 0) {
			ck_assert_ptr_nonnull(strstr(at[1].name, "_sum"));
			ck_assert_ptr_nonnull(strstr(at[2].name, "_count"));
			ck_assert_double_eq(at[2].value, at->value);
			continue;
		}
		ck_assert_str_eq(at[1].labels, at->labels);
		ck_assert_double_lt(strtod(at->le, NULL),
				    strtod(at[1].le, NULL));
		ck_assert_double_le(at->value, at[1].value);
		if (page->open_metrics)
			ck_assert_ptr_nonnull(strpbrk(at->le, ".e"));
	}
}

static void parse(struct page *page, struct metrics *metrics, bool open_metrics)
{
	scoped_text struct text text = { 0 };

	*page = (struct page){ .open_metrics = open_metrics };
	metrics_render(metrics, open_metrics, &text);
	ck_assert(!text.broken);
	page->at = text.data;
	while (page->at[0] != '\0' && strcmp(page->at, "# EOF\n") != 0)
		eat_family(page, text.data);
	ck_assert_int_eq(page->at[0] != '\0', open_metrics);
	check_buckets(page);
}

/* The value; fails if the page doesn't have it. */
static double value_of(struct metrics *metrics, const char *name,
		       const char *labels, const char *le)
{
	struct page page;

	parse(&page, metrics, false);
	for (size_t i = 0; i < page.count; i++)
		if (strcmp(page.samples[i].name, name) == 0 &&
		    strcmp(page.samples[i].labels, labels) == 0 &&
		    strcmp(page.samples[i].le, le) == 0)
			return page.samples[i].value;
	ck_abort_msg("no %s{%s}", name, labels);
	return 0;
}

/* ---- the promises ---- */

static void fill(struct metrics *metrics)
{
	metric_add(find(metrics, REQUESTS, "a"), 3);
	metric_add(find(metrics, REQUESTS, "b"), 1e15);
	metric_add(find(metrics, BUSY, NULL), 0.1);
	metric_set(find(metrics, DEPTH, "q"), -1.5);
	metric_observe(find(metrics, SECONDS, "a"), 0.25);
	metric_observe(find(metrics, SECONDS, "a"), 0.26);
	metric_observe(find(metrics, SECONDS, "a"), 1e9);
	(void)find(metrics, SECONDS, "b");
}

START_TEST(both_formats_are_well_formed)
{
	struct metrics *metrics = create();
	struct page page;

	fill(metrics);
	parse(&page, metrics, false);
	ck_assert_uint_eq(page.count, 4 + 2 * 7);
	parse(&page, metrics, true);
	ck_assert_uint_eq(page.count, 4 + 2 * 7);
	metrics_destroy(metrics);
}
END_TEST

START_TEST(an_empty_registry_is_a_page_in_both_formats)
{
	struct metrics *metrics = create();
	scoped_text struct text page = { 0 };

	metrics_render(metrics, false, &page);
	ck_assert_ptr_nonnull(page.data);
	ck_assert_str_eq(page.data, "");
	metrics_render(metrics, true, &page);
	ck_assert_str_eq(page.data, "# EOF\n");
	metrics_destroy(metrics);
}
END_TEST

START_TEST(a_counter_family_loses_its_total_in_openmetrics_only)
{
	struct metrics *metrics = create();
	scoped_text struct text plain = { 0 };
	scoped_text struct text open = { 0 };

	metric_add(find(metrics, BUSY, NULL), 0.1);
	metrics_render(metrics, false, &plain);
	metrics_render(metrics, true, &open);
	ck_assert_str_eq(plain.data, "# HELP x_busy_seconds_total Busy.\n"
				     "# TYPE x_busy_seconds_total counter\n"
				     "x_busy_seconds_total 0.1\n");
	ck_assert_str_eq(open.data, "# HELP x_busy_seconds Busy.\n"
				    "# TYPE x_busy_seconds counter\n"
				    "x_busy_seconds_total 0.1\n"
				    "# EOF\n");
	metrics_destroy(metrics);
}
END_TEST

START_TEST(a_value_on_its_bound_belongs_to_that_bucket)
{
	struct metrics *metrics = create();

	fill(metrics);
	ck_assert_double_eq(value_of(metrics, "x_call_seconds_bucket",
				     "route=\"a\"", "0.25"),
			    1);
	ck_assert_double_eq(
		value_of(metrics, "x_call_seconds_bucket", "route=\"a\"", "10"),
		2);
	ck_assert_double_eq(
		value_of(metrics, "x_call_seconds_count", "route=\"a\"", ""),
		3);
	ck_assert_double_eq(
		value_of(metrics, "x_call_seconds_sum", "route=\"a\"", ""),
		0.25 + 0.26 + 1e9);
	metrics_destroy(metrics);
}
END_TEST

START_TEST(a_counter_never_goes_down)
{
	struct metrics *metrics = create();
	struct metric_cell *requests = find(metrics, REQUESTS, "a");
	struct metric_cell *seconds = find(metrics, SECONDS, "a");

	metric_add(requests, 3);
	metric_add(requests, -1);
	metric_add(requests, NAN);
	metric_set(requests, 1);
	ck_assert_double_eq(metric_get(requests), 3);
	metric_observe(seconds, 2);
	metric_observe(seconds, -1);
	metric_observe(seconds, NAN);
	ck_assert_double_eq(metric_get(seconds), 2);
	ck_assert_double_eq(
		value_of(metrics, "x_call_seconds_count", "route=\"a\"", ""),
		1);
	metrics_destroy(metrics);
}
END_TEST

START_TEST(a_gauge_shows_every_number_there_is)
{
	const double values[] = { 0,      -1.5,     0.1,
				  1e-300, 1.0 / 3,  9007199254740993.0,
				  1e22,   HUGE_VAL, -HUGE_VAL };
	struct metrics *metrics = create();
	struct metric_cell *depth = find(metrics, DEPTH, "q");

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		metric_set(depth, values[i]);
		ck_assert(value_of(metrics, "x_depth", "queue=\"q\"", "") ==
			  values[i]);
	}
	metric_set(depth, -(double)NAN);
	ck_assert(isnan(value_of(metrics, "x_depth", "queue=\"q\"", "")));
	metrics_destroy(metrics);
}
END_TEST

START_TEST(label_values_are_escaped)
{
	struct metrics *metrics = create();

	metric_set(find(metrics, DEPTH, "a\\b\"c\nd\xc3\xa9"), 7);
	ck_assert_double_eq(value_of(metrics, "x_depth",
				     "queue=\"a\\\\b\\\"c\\nd\xc3\xa9\"", ""),
			    7);
	metrics_destroy(metrics);
}
END_TEST

START_TEST(the_same_labels_are_the_same_cell)
{
	struct metrics *metrics = create();
	const char *const values[] = { "q" };
	struct metric_cell *depth = find(metrics, DEPTH, "q");

	ck_assert_ptr_eq(depth, find(metrics, DEPTH, "q"));
	ck_assert_ptr_ne(depth, find(metrics, DEPTH, "r"));
	metrics_remove(metrics, DEPTH, values);
	metrics_remove(metrics, DEPTH, values); /* nothing to remove */
	metric_set(find(metrics, DEPTH, "q"), 1);
	ck_assert_double_eq(value_of(metrics, "x_depth", "queue=\"r\"", ""), 0);
	metrics_destroy(metrics);
}
END_TEST

START_TEST(no_cell_counts_nothing)
{
	metric_add(NULL, 1);
	metric_set(NULL, 1);
	metric_observe(NULL, 1);
	metric_add_by(NULL, 0, 1);
	metric_observe_by(NULL, 0, 1);
	ck_assert_double_eq(metric_get(NULL), 0);
	metrics_destroy(NULL);
}
END_TEST

enum {
	COUNTERS = 4,
	COUNTS = 50000
};

struct counting {
	struct metrics *metrics;
	struct metric_cell *requests;
	struct metric_cell *seconds;
	atomic_uint writers;
	atomic_int running;
};

static struct metric_cell *find_for_writers(struct metrics *metrics,
					    enum family family)
{
	const char *const values[] = { "a", "batch", "biz_id" };
	struct metric_cell *cell =
		metrics_cell_for(metrics, family, values, COUNTERS);

	ck_assert_ptr_nonnull(cell);
	ck_assert_ptr_eq(cell, find(metrics, family, "a"));
	return cell;
}

/* As anybody, and as the writer that it alone is. */
static void *count_much(void *arg)
{
	struct counting *counting = arg;
	unsigned writer = atomic_fetch_add(&counting->writers, 1);

	for (int i = 0; i < COUNTS; i++) {
		metric_add(counting->requests, 1);
		metric_add_by(counting->requests, writer, 2);
		metric_observe(counting->seconds, 0.5);
		metric_observe_by(counting->seconds, writer, 2);
	}
	atomic_fetch_sub(&counting->running, 1);
	return NULL;
}

/* Partitions come and go meanwhile. */
static void *come_and_go(void *arg)
{
	struct counting *counting = arg;
	const char *const values[] = { "partition" };

	while (atomic_load(&counting->running) > 0) {
		metric_set(find(counting->metrics, DEPTH, values[0]), 1);
		metrics_remove(counting->metrics, DEPTH, values);
	}
	return NULL;
}

START_TEST(counting_from_many_threads_loses_nothing_and_every_page_is_whole)
{
	struct counting counting = { .metrics = create() };
	pthread_t threads[COUNTERS + 1];
	struct page page;
	double before = 0;

	counting.requests = find_for_writers(counting.metrics, REQUESTS);
	counting.seconds = find_for_writers(counting.metrics, SECONDS);
	atomic_store(&counting.running, COUNTERS);
	for (int i = 0; i < COUNTERS; i++)
		pthread_create(&threads[i], NULL, count_much, &counting);
	pthread_create(&threads[COUNTERS], NULL, come_and_go, &counting);
	while (atomic_load(&counting.running) > 0) {
		parse(&page, counting.metrics, true);
		ck_assert_double_ge(page.samples[0].value, before);
		before = page.samples[0].value;
	}
	for (int i = 0; i <= COUNTERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_double_eq(metric_get(counting.requests),
			    3 * COUNTERS * COUNTS);
	ck_assert_double_eq(metric_get(counting.seconds),
			    2.5 * COUNTERS * COUNTS);
	ck_assert_double_eq(value_of(counting.metrics, "x_call_seconds_bucket",
				     "route=\"a\"", "1"),
			    COUNTERS * COUNTS);
	ck_assert_double_eq(value_of(counting.metrics, "x_call_seconds_count",
				     "route=\"a\"", ""),
			    2 * COUNTERS * COUNTS);
	metrics_destroy(counting.metrics);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metrics");
	TCase *tests = tcase_create("metrics");

	tcase_add_test(tests, both_formats_are_well_formed);
	tcase_add_test(tests, an_empty_registry_is_a_page_in_both_formats);
	tcase_add_test(tests,
		       a_counter_family_loses_its_total_in_openmetrics_only);
	tcase_add_test(tests, a_value_on_its_bound_belongs_to_that_bucket);
	tcase_add_test(tests, a_counter_never_goes_down);
	tcase_add_test(tests, a_gauge_shows_every_number_there_is);
	tcase_add_test(tests, label_values_are_escaped);
	tcase_add_test(tests, the_same_labels_are_the_same_cell);
	tcase_add_test(tests, no_cell_counts_nothing);
	tcase_add_test(
		tests,
		counting_from_many_threads_loses_nothing_and_every_page_is_whole);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
