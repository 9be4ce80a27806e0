/*
 * table.c - what came out.
 *
 * The idea: a round's ratios are of stages that ran one after the other, so the
 * machine was the same for both; the median is of ratios, not a ratio of
 * medians.
 */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>

typedef double figure_f(const struct round *round);

static double onced_rate(const struct round *round)
{
	return pace_per_second(&round->onced.pace);
}

static double collect_rate(const struct round *round)
{
	return pace_per_second(&round->collect.pace);
}

static double single_rate(const struct round *round)
{
	return pace_per_second(&round->single);
}

static double copy_rate(const struct round *round)
{
	return pace_per_second(&round->copy);
}

static double onced_to_single(const struct round *round)
{
	return onced_rate(round) / single_rate(round);
}

static double collect_to_copy(const struct round *round)
{
	return collect_rate(round) / copy_rate(round);
}

static double onced_to_copy(const struct round *round)
{
	return onced_rate(round) / copy_rate(round);
}

/* Processors that onced itself kept busy. */
static double onced_busy(const struct round *round)
{
	return round->onced.processor_s * 1e9 /
	       (double)round->onced.pace.took_ns;
}

static int compare(const void *a, const void *b)
{
	const double *left = a;
	const double *right = b;

	return (*left > *right) - (*left < *right);
}

static double median(const struct round *rounds, size_t count, figure_f *figure)
{
	double values[ROUNDS_MAX];

	for (size_t i = 0; i < count; i++)
		values[i] = figure(&rounds[i]);
	qsort(values, count, sizeof(*values), compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* ---- lines ---- */

static void print_stage(const char *name, const struct pace *pace, double rate)
{
	printf("%-40s %9lld %8.1f %9.0f\n", name, (long long)pace->messages,
	       (double)pace->took_ns / 1e9, rate);
}

static void print_stages(const struct round *rounds, size_t count)
{
	const struct round *last = &rounds[count - 1];

	printf("%-40s %9s %8s %9s\n", "", "messages", "seconds", "per sec.");
	print_stage("A  onced run, 2 lanes, once_send", &last->onced.pace,
		    median(rounds, count, onced_rate));
	print_stage("D  the same, once_collect", &last->collect.pace,
		    median(rounds, count, collect_rate));
	print_stage("B  a transaction per message, 2 threads", &last->single,
		    median(rounds, count, single_rate));
	print_stage("C  COPY of A's rows, 2 sessions", &last->copy,
		    median(rounds, count, copy_rate));
}

static void print_ratio(const char *name, double ratio, double target)
{
	printf("%-40s %9.2f   wanted: %.1f or more\n", name, ratio, target);
}

static long long most_memory(const struct round *rounds, size_t count,
			     int quarter)
{
	int64_t most_kib = 0;

	for (size_t i = 0; i < count; i++)
		if (rounds[i].onced.memory_kib[quarter] > most_kib)
			most_kib = rounds[i].onced.memory_kib[quarter];
	return (long long)(most_kib * 1024 / 1000000);
}

static void print_memory(const struct round *rounds, size_t count)
{
	printf("%-40s", "A's memory by quarters, MB");
	for (int quarter = 0; quarter < QUARTERS; quarter++)
		printf(" %lld", most_memory(rounds, count, quarter));
	printf("   wanted: below 300, and not growing\n");
}

void table_print(const struct round *rounds, size_t count)
{
	printf("\n");
	print_stages(rounds, count);
	if (count > 1)
		printf("(messages and seconds of the last round; per second, "
		       "the median of %zu)\n",
		       count);
	printf("\n");
	print_ratio("A : B", median(rounds, count, onced_to_single), 10);
	print_ratio("A : C", median(rounds, count, onced_to_copy), 0.4);
	printf("%-40s %9.2f\n", "D : C",
	       median(rounds, count, collect_to_copy));
	print_memory(rounds, count);
	printf("%-40s %9.2f   of onced alone, without the servers\n",
	       "A's processors, kept busy", median(rounds, count, onced_busy));
}
