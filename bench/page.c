/* page.c - one walk over the lines of Prometheus' text. */
#include "page.h"

#include <check.h>
#include <http_get.h>
#include <scope.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const page_stage_words[TIMED_COUNT] = {
#define X(id, word) word,
	TIMED_STAGE_TABLE(X)
#undef X
};

/* Behind `start`; NULL: the line begins otherwise. */
static const char *skip(const char *line, const char *start)
{
	size_t size = strlen(start);

	return strncmp(line, start, size) == 0 ? line + size : NULL;
}

static void note_stage(struct page *page, const char *label, double value)
{
	for (size_t i = 0; i < TIMED_COUNT; i++) {
		size_t size = strlen(page_stage_words[i]);

		if (strncmp(label, page_stage_words[i], size) == 0 &&
		    label[size] == '"')
			page->stages_s[i] = value;
	}
}

static void note_bucket(struct page *page, const char *label, double value)
{
	ck_assert_uint_lt(page->bucket_count, PAGE_BUCKETS_MAX);
	page->buckets[page->bucket_count++] =
		(struct page_bucket){ strtod(label, NULL), value };
}

static void note_line(struct page *page, const char *line)
{
	const char *space = strrchr(line, ' ');
	double value = space == NULL ? 0 : strtod(space, NULL);
	const char *rest;

	if ((rest = skip(line, "onced_stage_seconds_total{stage=\"")) != NULL)
		note_stage(page, rest, value);
	else if ((rest = skip(line, "onced_transaction_seconds_bucket{le=\"")))
		note_bucket(page, rest, value);
	else if (skip(line, "onced_consumed_total{") != NULL)
		page->consumed += value;
	else if (skip(line, "onced_batch_messages_sum") != NULL)
		page->batched = value;
	else if (skip(line, "onced_lane_busy_seconds_total{") != NULL)
		page->busy_s += value;
}

void page_read(int port, struct page *ret_page)
{
	char *text;
	int code = http_get(port, "/metrics", &text);
	scoped_free char *kept = text;
	char *rest;

	ck_assert_msg(code == 200 && text != NULL,
		      "onced doesn't give its numbers (%d)", code);
	memset(ret_page, 0, sizeof(*ret_page));
	for (char *line = strtok_r(kept, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		note_line(ret_page, line);
	ck_assert_uint_gt(ret_page->bucket_count, 0);
}

void page_subtract(struct page *page, const struct page *earlier)
{
	page->consumed -= earlier->consumed;
	page->batched -= earlier->batched;
	page->busy_s -= earlier->busy_s;
	for (size_t i = 0; i < TIMED_COUNT; i++)
		page->stages_s[i] -= earlier->stages_s[i];
	for (size_t i = 0; i < earlier->bucket_count; i++)
		page->buckets[i].count -= earlier->buckets[i].count;
}

/* Within its bucket all times are taken to be equally frequent. Of the last
 * one, which has no end, the beginning is told. */
static double guess_in(const struct page_bucket *below,
		       const struct page_bucket *bucket, double rank)
{
	double inside = bucket->count - below->count;

	if (bucket->bound_s > 1e9)
		return below->bound_s;
	return below->bound_s + (bucket->bound_s - below->bound_s) *
					(rank - below->count) / inside;
}

double page_guess_s(const struct page *page, double share)
{
	struct page_bucket below = { 0 };
	double rank;

	if (page->bucket_count == 0)
		return 0;
	rank = share * page->buckets[page->bucket_count - 1].count;
	for (size_t i = 0; i < page->bucket_count; i++) {
		if (page->buckets[i].count >= rank &&
		    page->buckets[i].count > below.count)
			return guess_in(&below, &page->buckets[i], rank);
		below = page->buckets[i];
	}
	return 0;
}
