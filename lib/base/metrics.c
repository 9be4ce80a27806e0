/* A list of cells for each family. A value is a double kept in 64 atomic bits,
 * so that seconds and counts are one kind of thing. Whoever counts often has a
 * place of its own in the cell, where it waits for nobody; whoever reads adds
 * the places up. */
#include "metrics.h"

#include "scope.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CACHE_LINE = 64
};

struct metric_cell {
	struct metric_cell *next;
	const struct metric_family *family;
	char *labels;  /* as on the page: a="x",b="y" */
	size_t places; /* the first is everybody's, then one for each writer */
	size_t stride; /* words of a place: whole cache lines */
	_Alignas(CACHE_LINE) atomic_ullong words[];
};

/* In a place. */
enum {
	VALUE = 0, /* a histogram's: its sum */
	BUCKETS    /* of a histogram; last: beyond all bounds */
};

struct metrics {
	const struct metric_family *families;
	size_t count;
	pthread_mutex_t mutex;
	struct metric_cell **cells; /* by family; mutex */
};

/* ---- a double in atomic bits ---- */

static double double_of(unsigned long long bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static unsigned long long bits_of(double value)
{
	unsigned long long bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void add_to(atomic_ullong *sum, double amount)
{
	unsigned long long old = atomic_load(sum);

	while (!atomic_compare_exchange_weak(sum, &old,
					     bits_of(double_of(old) + amount)))
		;
}

/* Nobody else writes there, so it is a load and a store like any other. */
static void add_alone(atomic_ullong *sum, double amount)
{
	double old = double_of(atomic_load_explicit(sum, memory_order_relaxed));

	atomic_store_explicit(sum, bits_of(old + amount), memory_order_relaxed);
}

/* ---- places ---- */

static atomic_ullong *place_of(struct metric_cell *cell, size_t place)
{
	return &cell->words[place * cell->stride];
}

static atomic_ullong *place_of_writer(struct metric_cell *cell, unsigned writer)
{
	return place_of(cell, 1 + writer);
}

static size_t bucket_of(const struct metric_cell *cell, double value)
{
	const double *bounds = cell->family->bounds;
	size_t i = 0;

	while (bounds[i] != 0 && value > bounds[i])
		i++;
	return BUCKETS + i;
}

static unsigned long long get_bucket(const struct metric_cell *cell, size_t i)
{
	unsigned long long count = 0;

	for (size_t place = 0; place < cell->places; place++)
		count += atomic_load_explicit(
			&cell->words[place * cell->stride + BUCKETS + i],
			memory_order_relaxed);
	return count;
}

/* ---- counting ---- */

/* NaN is none: added once, it would be the sum for ever. */
static bool is_amount(double value)
{
	return value >= 0;
}

void metric_add(struct metric_cell *cell, double amount)
{
	if (cell != NULL && is_amount(amount))
		add_to(&place_of(cell, 0)[VALUE], amount);
}

void metric_add_by(struct metric_cell *cell, unsigned writer, double amount)
{
	if (cell != NULL && is_amount(amount))
		add_alone(&place_of_writer(cell, writer)[VALUE], amount);
}

void metric_set(struct metric_cell *cell, double value)
{
	if (cell != NULL && cell->family->type == METRIC_GAUGE)
		atomic_store(&place_of(cell, 0)[VALUE], bits_of(value));
}

void metric_observe(struct metric_cell *cell, double value)
{
	if (cell == NULL || !is_amount(value))
		return;
	atomic_fetch_add(&place_of(cell, 0)[bucket_of(cell, value)], 1);
	add_to(&place_of(cell, 0)[VALUE], value);
}

void metric_observe_by(struct metric_cell *cell, unsigned writer, double value)
{
	atomic_ullong *place;
	atomic_ullong *bucket;

	if (cell == NULL || !is_amount(value))
		return;
	place = place_of_writer(cell, writer);
	bucket = &place[bucket_of(cell, value)];
	atomic_store_explicit(
		bucket, atomic_load_explicit(bucket, memory_order_relaxed) + 1,
		memory_order_relaxed);
	add_alone(&place[VALUE], value);
}

double metric_get(const struct metric_cell *cell)
{
	double sum = 0;

	for (size_t place = 0; cell != NULL && place < cell->places; place++)
		sum += double_of(atomic_load_explicit(
			&cell->words[place * cell->stride + VALUE],
			memory_order_relaxed));
	return sum;
}

double metrics_sum(struct metrics *metrics, size_t family)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&metrics->mutex);
	double sum = 0;

	(void)held;
	for (const struct metric_cell *cell = metrics->cells[family];
	     cell != NULL; cell = cell->next)
		sum += metric_get(cell);
	return sum;
}

/* ---- cells ---- */

static void add_escaped(struct text *text, const char *value)
{
	for (; *value != '\0'; value++) {
		if (*value == '\n')
			text_adds(text, "\\n");
		else if (*value == '"' || *value == '\\')
			text_addf(text, "\\%c", *value);
		else
			text_add(text, value, 1);
	}
}

/* The caller's to free; NULL: no memory. */
static char *format_labels(const struct metric_family *family,
			   const char *const *values)
{
	struct text text = { 0 };

	text_adds(&text, "");
	for (size_t i = 0; family->labels[i] != NULL; i++) {
		text_addf(&text, "%s%s=\"", i == 0 ? "" : ",",
			  family->labels[i]);
		add_escaped(&text, values[i]);
		text_adds(&text, "\"");
	}
	if (text.broken)
		text_fini(&text);
	return text.data;
}

static struct metric_cell **find_link(struct metrics *metrics, size_t family,
				      const char *labels)
{
	struct metric_cell **link = &metrics->cells[family];

	while (*link != NULL && strcmp((*link)->labels, labels) != 0)
		link = &(*link)->next;
	return link;
}

static size_t count_buckets(const struct metric_family *family)
{
	size_t count = 0;

	if (family->type != METRIC_HISTOGRAM)
		return 0;
	while (family->bounds[count] != 0)
		count++;
	return count + 1;
}

/* No two places are on one line, or their writers would wait for each other. */
static size_t stride_of(const struct metric_family *family)
{
	size_t line = CACHE_LINE / sizeof(atomic_ullong);
	size_t words = BUCKETS + count_buckets(family);

	return (words + line - 1) / line * line;
}

/* Keeps the labels; NULL: no memory, and they aren't kept. */
static struct metric_cell *make_cell(const struct metric_family *family,
				     unsigned writers, char *labels)
{
	size_t places = 1 + writers;
	size_t stride = stride_of(family);
	size_t size = sizeof(struct metric_cell) +
		      places * stride * sizeof(atomic_ullong);
	struct metric_cell *cell = aligned_alloc(CACHE_LINE, size);

	if (cell == NULL)
		return NULL;
	memset(cell, 0, size);
	cell->family = family;
	cell->labels = labels;
	cell->places = places;
	cell->stride = stride;
	return cell;
}

struct metric_cell *metrics_cell(struct metrics *metrics, size_t family,
				 const char *const *values)
{
	return metrics_cell_for(metrics, family, values, 0);
}

struct metric_cell *metrics_cell_for(struct metrics *metrics, size_t family,
				     const char *const *values,
				     unsigned writers)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&metrics->mutex);
	scoped_free char *labels =
		format_labels(&metrics->families[family], values);
	struct metric_cell **link;

	(void)held;
	if (labels == NULL)
		return NULL;
	link = find_link(metrics, family, labels);
	if (*link != NULL)
		return *link;
	*link = make_cell(&metrics->families[family], writers, labels);
	if (*link != NULL)
		(void)take(&labels);
	return *link;
}

static void free_cell(struct metric_cell *cell)
{
	free(cell->labels);
	free(cell);
}

void metrics_remove(struct metrics *metrics, size_t family,
		    const char *const *values)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&metrics->mutex);
	scoped_free char *labels =
		format_labels(&metrics->families[family], values);
	struct metric_cell **link;
	struct metric_cell *cell;

	(void)held;
	if (labels == NULL)
		return;
	link = find_link(metrics, family, labels);
	cell = *link;
	if (cell == NULL)
		return;
	*link = cell->next;
	free_cell(cell);
}

struct metrics *metrics_create(const struct metric_family *families,
			       size_t count)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (metrics == NULL)
		return NULL;
	metrics->families = families;
	metrics->count = count;
	metrics->cells = calloc(count, sizeof(struct metric_cell *));
	pthread_mutex_init(&metrics->mutex, NULL);
	if (metrics->cells == NULL) {
		metrics_destroy(metrics);
		return NULL;
	}
	return metrics;
}

void metrics_destroy(struct metrics *metrics)
{
	if (metrics == NULL)
		return;
	for (size_t i = 0; metrics->cells != NULL && i < metrics->count; i++) {
		while (metrics->cells[i] != NULL) {
			struct metric_cell *cell = metrics->cells[i];

			metrics->cells[i] = cell->next;
			free_cell(cell);
		}
	}
	pthread_mutex_destroy(&metrics->mutex);
	free(metrics->cells);
	free(metrics);
}

/* ---- the page ---- */

/* The fewest digits that read back as the same number. */
static void add_number(struct text *page, double value)
{
	char digits[32];

	if (isnan(value)) {
		text_adds(page, "NaN");
	} else if (isinf(value)) {
		text_adds(page, value > 0 ? "+Inf" : "-Inf");
	} else {
		snprintf(digits, sizeof(digits), "%.15g", value);
		if (strtod(digits, NULL) != value)
			snprintf(digits, sizeof(digits), "%.17g", value);
		text_adds(page, digits);
	}
}

/* OpenMetrics wants to see that it isn't an integer: "1.0", not "1". */
static void add_bound(struct text *text, double bound, bool open_metrics)
{
	add_number(text, bound);
	if (open_metrics && !text->broken && strpbrk(text->data, ".e") == NULL)
		text_adds(text, ".0");
}

static void render_sample(const struct metric_cell *cell, struct text *page)
{
	text_adds(page, cell->family->name);
	if (cell->family->type == METRIC_COUNTER)
		text_adds(page, "_total");
	if (cell->labels[0] != '\0')
		text_addf(page, "{%s}", cell->labels);
	text_adds(page, " ");
	add_number(page, metric_get(cell));
	text_adds(page, "\n");
}

static void render_bucket(const struct metric_cell *cell, const char *bound,
			  unsigned long long count, struct text *page)
{
	text_addf(page, "%s_bucket{%s%sle=\"%s\"} %llu\n", cell->family->name,
		  cell->labels, cell->labels[0] == '\0' ? "" : ",", bound,
		  count);
}

static unsigned long long render_buckets(const struct metric_cell *cell,
					 bool open_metrics, struct text *page)
{
	const double *bounds = cell->family->bounds;
	unsigned long long count = 0;
	size_t i;

	for (i = 0; bounds[i] != 0; i++) {
		scoped_text struct text bound = { 0 };

		add_bound(&bound, bounds[i], open_metrics);
		count += get_bucket(cell, i);
		render_bucket(cell, bound.broken ? "" : bound.data, count,
			      page);
	}
	count += get_bucket(cell, i);
	render_bucket(cell, "+Inf", count, page);
	return count;
}

/* The count is the last bucket's, so that the two agree whoever counts
 * meanwhile. */
static void render_histogram(const struct metric_cell *cell, bool open_metrics,
			     struct text *page)
{
	const char *open = cell->labels[0] == '\0' ? "" : "{";
	const char *close = cell->labels[0] == '\0' ? "" : "}";
	unsigned long long count = render_buckets(cell, open_metrics, page);

	text_addf(page, "%s_sum%s%s%s ", cell->family->name, open, cell->labels,
		  close);
	add_number(page, metric_get(cell));
	text_addf(page, "\n%s_count%s%s%s %llu\n", cell->family->name, open,
		  cell->labels, close, count);
}

static void render_family(struct metrics *metrics, size_t i, bool open_metrics,
			  struct text *page)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };
	const struct metric_family *family = &metrics->families[i];
	const char *suffix =
		family->type == METRIC_COUNTER && !open_metrics ? "_total" : "";

	text_addf(page, "# HELP %s%s %s\n# TYPE %s%s %s\n", family->name,
		  suffix, family->help, family->name, suffix,
		  types[family->type]);
	for (struct metric_cell *cell = metrics->cells[i]; cell != NULL;
	     cell = cell->next) {
		if (family->type == METRIC_HISTOGRAM)
			render_histogram(cell, open_metrics, page);
		else
			render_sample(cell, page);
	}
}

void metrics_render(struct metrics *metrics, bool open_metrics,
		    struct text *page)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&metrics->mutex);

	(void)held;
	text_adds(page, ""); /* a page, even if nothing is on it */
	for (size_t i = 0; i < metrics->count; i++)
		if (metrics->cells[i] != NULL)
			render_family(metrics, i, open_metrics, page);
	if (open_metrics)
		text_adds(page, "# EOF\n");
}
