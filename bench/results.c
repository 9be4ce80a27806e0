/*
 * results.c - the figures of a run.
 *
 * The idea: a flat list in the order in which figures first came; sections,
 * rows and columns are what is found by walking through it.
 */
#include "results.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static bool is_same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static size_t find(const struct results *results, const char *section,
		   const char *name, const char *unit)
{
	size_t i = 0;

	for (; i < results->figure_count; i++) {
		const struct figure *figure = &results->figures[i];

		if (is_same(figure->section, section) &&
		    is_same(figure->name, name) && is_same(figure->unit, unit))
			break;
	}
	return i;
}

void results_add(struct results *results, const char *section, const char *name,
		 const char *unit, double value)
{
	size_t i = find(results, section, name, unit);
	struct figure *figure = &results->figures[i];

	if (i == results->figure_count) {
		ck_assert_uint_lt(i, FIGURES_MAX);
		figure->section = section;
		figure->name = name;
		figure->unit = unit;
		results->figure_count++;
	}
	ck_assert_uint_lt(figure->count, ROUNDS_MAX);
	figure->values[figure->count++] = value;
}

static const char *find_against(const struct results *results,
				const char *section, const char *name)
{
	for (size_t i = 0; i < results->yardstick_count; i++) {
		const struct yardstick *yardstick = &results->yardsticks[i];

		if (is_same(yardstick->section, section) &&
		    is_same(yardstick->name, name))
			return yardstick->against;
	}
	return NULL;
}

void results_compare(struct results *results, const char *section,
		     const char *name, const char *against)
{
	struct yardstick *yardstick =
		&results->yardsticks[results->yardstick_count];

	if (find_against(results, section, name) != NULL)
		return;
	ck_assert_uint_lt(results->yardstick_count, FIGURES_MAX);
	yardstick->section = section;
	yardstick->name = name;
	yardstick->against = against;
	results->yardstick_count++;
}

const struct figure *results_find(const struct results *results,
				  const char *section, const char *name,
				  const char *unit)
{
	size_t i = find(results, section, name, unit);

	return i == results->figure_count ? NULL : &results->figures[i];
}

/* The one that is compared. */
static const char *find_unit(const struct results *results, const char *section)
{
	for (size_t i = 0; i < results->figure_count; i++)
		if (is_same(results->figures[i].section, section))
			return results->figures[i].unit;
	return "";
}

const struct figure *results_find_yardstick(const struct results *results,
					    const struct figure *figure)
{
	const char *against =
		find_against(results, figure->section, figure->name);

	if (against == NULL ||
	    !is_same(figure->unit, find_unit(results, figure->section)))
		return NULL;
	return results_find(results, figure->section, against, figure->unit);
}

/* ---- medians ---- */

static int compare(const void *a, const void *b)
{
	const double *left = a;
	const double *right = b;

	return (*left > *right) - (*left < *right);
}

static struct spread spread_of_values(double *values, size_t count)
{
	struct spread spread = { 0 };

	if (count == 0)
		return spread;
	qsort(values, count, sizeof(*values), compare);
	spread.median = (values[(count - 1) / 2] + values[count / 2]) / 2;
	spread.min = values[0];
	spread.max = values[count - 1];
	return spread;
}

struct spread spread_of(const struct figure *figure)
{
	double values[ROUNDS_MAX];

	memcpy(values, figure->values, sizeof(values));
	return spread_of_values(values, figure->count);
}

struct spread spread_of_ratios(const struct figure *figure,
			       const struct figure *yardstick)
{
	double values[ROUNDS_MAX];
	size_t count = figure->count;

	if (count > yardstick->count)
		count = yardstick->count;
	for (size_t i = 0; i < count; i++)
		values[i] = figure->values[i] / yardstick->values[i];
	return spread_of_values(values, count);
}
