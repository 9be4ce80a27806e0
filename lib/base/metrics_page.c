/* What Prometheus reads. */
#include "metrics_impl.h"

#include "scope.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		count += metric_cell_get_bucket(cell, i);
		render_bucket(cell, bound.broken ? "" : bound.data, count,
			      page);
	}
	count += metric_cell_get_bucket(cell, i);
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
