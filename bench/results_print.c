/*
 * results_print.c - a section's figures as a table in markdown, as it is pasted
 * into docs/performance.md.
 */
#include "results.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum {
	COLUMNS_MAX = 16,
	CELL_SIZE = 96
};

/* The units of a section, in the order in which they came. */
struct columns {
	const char *units[COLUMNS_MAX];
	size_t count;
};

/* ---- cells ---- */

static int choose_digits(double value)
{
	if (value >= 100)
		return 0;
	return value >= 10 ? 1 : 2;
}

/* As 1,234,567. */
static void format_large(char cell[CELL_SIZE], double value)
{
	char digits[CELL_SIZE];
	size_t size = (size_t)snprintf(digits, sizeof(digits), "%.0f", value);
	size_t used = 0;

	for (size_t i = 0; i < size; i++) {
		if (i > 0 && (size - i) % 3 == 0)
			cell[used++] = ',';
		cell[used++] = digits[i];
	}
	cell[used] = '\0';
}

static void format_number(char cell[CELL_SIZE], double value)
{
	if (value >= 1000 && value < 1e18)
		format_large(cell, value);
	else
		snprintf(cell, CELL_SIZE, "%.*f", choose_digits(value), value);
}

static void print_spread(struct spread spread)
{
	char median[CELL_SIZE];
	char min[CELL_SIZE];
	char max[CELL_SIZE];

	format_number(median, spread.median);
	format_number(min, spread.min);
	format_number(max, spread.max);
	printf(" %s (%s to %s) |", median, min, max);
}

static void print_ratio(const struct results *results,
			const struct figure *figure)
{
	const struct figure *yardstick =
		results_find_yardstick(results, figure);

	if (yardstick == NULL) {
		printf(" | |");
		return;
	}
	print_spread(spread_of_ratios(figure, yardstick));
	printf(" %s |", yardstick->name);
}

static void print_median(const struct figure *figure)
{
	char cell[CELL_SIZE] = "";

	if (figure != NULL)
		format_number(cell, spread_of(figure).median);
	printf(" %s |", cell);
}

/* ---- rows ---- */

static void note_unit(struct columns *columns, const char *unit)
{
	for (size_t i = 0; i < columns->count; i++)
		if (strcmp(columns->units[i], unit) == 0)
			return;
	ck_assert_uint_lt(columns->count, COLUMNS_MAX);
	columns->units[columns->count++] = unit;
}

static struct columns find_columns(const struct results *results,
				   const char *section)
{
	struct columns columns = { 0 };

	for (size_t i = 0; i < results->figure_count; i++)
		if (strcmp(results->figures[i].section, section) == 0)
			note_unit(&columns, results->figures[i].unit);
	return columns;
}

static void print_head(const char *section, const struct columns *columns)
{
	printf("| %s | %s | ratio | to |", section, columns->units[0]);
	for (size_t i = 1; i < columns->count; i++)
		printf(" %s |", columns->units[i]);
	printf("\n| --- | --- | --- | --- |");
	for (size_t i = 1; i < columns->count; i++)
		printf(" --- |");
	printf("\n");
}

static void print_row(const struct results *results, const char *section,
		      const char *name, const struct columns *columns)
{
	const struct figure *first =
		results_find(results, section, name, columns->units[0]);

	printf("| %s |", name);
	if (first == NULL) {
		printf(" | | |");
	} else {
		print_spread(spread_of(first));
		print_ratio(results, first);
	}
	for (size_t i = 1; i < columns->count; i++)
		print_median(results_find(results, section, name,
					  columns->units[i]));
	printf("\n");
}

static bool begins_row(const struct results *results, size_t i)
{
	const struct figure *figure = &results->figures[i];

	for (size_t k = 0; k < i; k++)
		if (strcmp(results->figures[k].section, figure->section) == 0 &&
		    strcmp(results->figures[k].name, figure->name) == 0)
			return false;
	return true;
}

void results_print(const struct results *results, const char *section)
{
	struct columns columns = find_columns(results, section);

	if (columns.count == 0)
		return;
	printf("\n");
	print_head(section, &columns);
	for (size_t i = 0; i < results->figure_count; i++) {
		const struct figure *figure = &results->figures[i];

		if (strcmp(figure->section, section) == 0 &&
		    begins_row(results, i))
			print_row(results, section, figure->name, &columns);
	}
	fflush(stdout);
}

/* ---- goals ---- */

static void print_goal(const struct goal *goal, double measured, bool is_met)
{
	char limit[CELL_SIZE];
	char value[CELL_SIZE];

	format_number(limit, goal->limit);
	format_number(value, measured);
	printf("| %s, %s%s%s | %s %s | %s | %s |\n", goal->name, goal->unit,
	       goal->against == NULL ? "" : " : ",
	       goal->against == NULL ? "" : goal->against,
	       goal->at_most ? "≤" : "≥", limit, value,
	       is_met ? "met" : "not met");
}

static void check_goal(const struct goal *goal, const struct figure *figure,
		       const struct figure *yardstick)
{
	double figures = spread_of(figure).median;
	double measured = yardstick == NULL
				  ? figures
				  : spread_of_ratios(figure, yardstick).median;
	bool is_met = goal->at_most ? measured <= goal->limit
				    : measured >= goal->limit;

	if (goal->enough > 0 && figures >= goal->enough)
		is_met = true;
	print_goal(goal, measured, is_met);
}

void results_print_goals(const struct results *results, const char *section,
			 const struct goal *goals, size_t count)
{
	if (count > 0)
		printf("\n| goal | wanted | measured | |\n"
		       "| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < count; i++) {
		const struct goal *goal = &goals[i];
		const struct figure *figure =
			results_find(results, section, goal->name, goal->unit);
		const struct figure *yardstick =
			goal->against == NULL
				? NULL
				: results_find(results, section, goal->against,
					       goal->unit);

		if (figure != NULL &&
		    (goal->against == NULL || yardstick != NULL))
			check_goal(goal, figure, yardstick);
	}
	fflush(stdout);
}
