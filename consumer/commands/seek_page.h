/* seek_page.h - what onced seek has to say of each partition that it moves. */
#ifndef ONCED_SEEK_PAGE_H
#define ONCED_SEEK_PAGE_H

#include "source_seek.h"
#include "text.h"

/* What the group has and what Kafka has, by partition. */
struct seeker {
	struct once_position *positions;
	size_t position_count;
	struct seek_place *places;
	size_t place_count;
	bool broken; /* no memory */
};

/* It goes back to messages that the log may have forgotten: they would be new.
 */
bool seek_is_beyond(const struct seek_place *place, int64_t from);

struct seek_page {
	const char *topic;
	bool json;
	bool dry_run;
	bool remembers_all; /* the retention is "forever" */
	const struct seeker *seeker;
	struct text text;
};

/* A once_seek_f. */
void seek_page_take(void *page, int32_t partition, int64_t from, int64_t to);
void seek_page_print(struct seek_page *page);

#endif
