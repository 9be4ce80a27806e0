/* A list of cells for each family. */
#include "metrics_impl.h"

#include "scope.h"

#include <stdlib.h>
#include <string.h>

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
	*link = metric_cell_create(&metrics->families[family], writers, labels);
	if (*link != NULL)
		(void)take(&labels);
	return *link;
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
	metric_cell_destroy(cell);
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

/* ---- made and unmade ---- */

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
			metric_cell_destroy(cell);
		}
	}
	pthread_mutex_destroy(&metrics->mutex);
	free(metrics->cells);
	free(metrics);
}
