/* page.h - what onced counts, from its page /metrics. */
#ifndef BENCH_PAGE_H
#define BENCH_PAGE_H

#include <metric_families.h>
#include <stddef.h>

enum {
	PAGE_BUCKETS_MAX = 32
};

struct page_bucket {
	double bound_s;
	double count; /* of those below it, too */
};

struct page {
	double consumed;
	double batched; /* messages in batches */
	double busy_s;  /* of all lanes */
	double stages_s[TIMED_COUNT];
	struct page_bucket buckets[PAGE_BUCKETS_MAX]; /* of transactions */
	size_t bucket_count;
};

void page_read(int port, struct page *ret_page);
void page_subtract(struct page *page, const struct page *earlier);
/* The time that this share of the transactions didn't exceed, guessed from the
 * buckets as Prometheus does. */
double page_guess_s(const struct page *page, double share);

extern const char *const page_stage_words[TIMED_COUNT];

#endif
