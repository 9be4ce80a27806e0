/* results_json.c - figures in JSON, a flat list as they are kept. The file is
 * whole at any time: it is written beside and renamed. */
#include "results_json.h"

#include <check.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>

static void put(json_t *object, const char *name, json_t *value)
{
	ck_assert_int_eq(json_object_set_new(object, name, value), 0);
}

static void put_spread(json_t *object, struct spread spread)
{
	put(object, "median", json_real(spread.median));
	put(object, "min", json_real(spread.min));
	put(object, "max", json_real(spread.max));
}

static json_t *format_values(const struct figure *figure)
{
	json_t *values = json_array();

	for (size_t i = 0; i < figure->count; i++)
		json_array_append_new(values, json_real(figure->values[i]));
	return values;
}

static void put_ratio(json_t *object, const struct results *results,
		      const struct figure *figure)
{
	const struct figure *yardstick =
		results_find_yardstick(results, figure);
	json_t *ratio;

	if (yardstick == NULL)
		return;
	ratio = json_object();
	put_spread(ratio, spread_of_ratios(figure, yardstick));
	put(object, "against", json_string(yardstick->name));
	put(object, "ratio", ratio);
}

static json_t *format_figure(const struct results *results,
			     const struct figure *figure)
{
	json_t *object = json_object();

	put(object, "section", json_string(figure->section));
	put(object, "stage", json_string(figure->name));
	put(object, "unit", json_string(figure->unit));
	put(object, "values", format_values(figure));
	put_spread(object, spread_of(figure));
	put_ratio(object, results, figure);
	return object;
}

static json_t *format_facts(const struct facts *facts)
{
	json_t *object = json_object();

	put(object, "date", json_string(facts->date));
	put(object, "kernel", json_string(facts->kernel));
	put(object, "processor", json_string(facts->processor));
	put(object, "processors", json_integer(facts->processors));
	put(object, "postgres", json_string(facts->postgres));
	put(object, "librdkafka", json_string(facts->librdkafka));
	put(object, "messages", json_integer(facts->messages));
	put(object, "rounds", json_integer(facts->rounds));
	return object;
}

void results_write_json(const struct results *results,
			const struct facts *facts, const char *path)
{
	json_t *root = json_object();
	json_t *figures = json_array();
	char beside[PATH_MAX];

	for (size_t i = 0; i < results->figure_count; i++)
		json_array_append_new(
			figures, format_figure(results, &results->figures[i]));
	put(root, "run", format_facts(facts));
	put(root, "figures", figures);
	snprintf(beside, sizeof(beside), "%.*s.new", PATH_MAX - 8, path);
	ck_assert_msg(json_dump_file(root, beside,
				     JSON_INDENT(1) | JSON_REAL_PRECISION(6)) ==
				      0 &&
			      rename(beside, path) == 0,
		      "could not write \"%s\"", path);
	json_decref(root);
}
