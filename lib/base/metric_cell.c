/*
 * A value is a double kept in 64 atomic bits, so that seconds and counts are
 * one kind of thing. Whoever counts often has a place of its own in the cell,
 * where it waits for nobody; whoever reads adds the places up.
 */
#include "metrics_impl.h"

#include <stdlib.h>
#include <string.h>

/* In a place. */
enum {
	VALUE = 0, /* a histogram's: its sum */
	BUCKETS    /* of a histogram; last: beyond all bounds */
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

unsigned long long metric_cell_get_bucket(const struct metric_cell *cell,
					  size_t i)
{
	unsigned long long count = 0;

	for (size_t place = 0; place < cell->places; place++)
		count += atomic_load_explicit(
			&cell->words[place * cell->stride + BUCKETS + i],
			memory_order_relaxed);
	return count;
}

/* ---- made and unmade ---- */

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
	size_t line = METRIC_CACHE_LINE / sizeof(atomic_ullong);
	size_t words = BUCKETS + count_buckets(family);

	return (words + line - 1) / line * line;
}

struct metric_cell *metric_cell_create(const struct metric_family *family,
				       unsigned writers, char *labels)
{
	size_t places = 1 + writers;
	size_t stride = stride_of(family);
	size_t size = sizeof(struct metric_cell) +
		      places * stride * sizeof(atomic_ullong);
	struct metric_cell *cell = aligned_alloc(METRIC_CACHE_LINE, size);

	if (cell == NULL)
		return NULL;
	memset(cell, 0, size);
	cell->family = family;
	cell->labels = labels;
	cell->places = places;
	cell->stride = stride;
	return cell;
}

void metric_cell_destroy(struct metric_cell *cell)
{
	free(cell->labels);
	free(cell);
}
