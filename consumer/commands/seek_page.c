/* A line for each partition, and below it what a person can't know. */
#include "seek_page.h"

#include "bytes.h"
#include "readable.h"

#include <stdio.h>

static int32_t generation_of(const struct seeker *seeker, int32_t partition)
{
	size_t i = (size_t)partition;

	if (i >= seeker->position_count)
		return 0;
	return seeker->positions[i].log_generation +
	       (seeker->places[i].log == SEEK_LOG_ANOTHER);
}

bool seek_is_beyond(const struct seek_place *place, int64_t from)
{
	return place->log != SEEK_LOG_ANOTHER && place->offset >= 0 &&
	       place->offset < from && place->offset < place->remembered;
}

static void add_json(struct seek_page *page, int32_t partition, int64_t from,
		     int64_t to)
{
	const struct seek_place *place = &page->seeker->places[partition];

	text_adds(&page->text, page->text.size == 0 ? "[" : ",");
	text_adds(&page->text, "{\"topic\":");
	text_add_json(&page->text, bytes_text(page->topic));
	text_addf(&page->text,
		  ",\"partition\":%d,\"from\":%lld,\"to\":%lld,\"moved\":%s",
		  (int)partition, (long long)from, (long long)to,
		  page->dry_run ? "false" : "true");
	text_addf(&page->text,
		  ",\"remembered_from\":%lld,\"beyond_retention\":%s,"
		  "\"another_log\":%s,\"log_generation\":%d}",
		  (long long)place->remembered,
		  seek_is_beyond(place, from) ? "true" : "false",
		  place->log == SEEK_LOG_ANOTHER    ? "true"
		  : place->log == SEEK_LOG_UNPROVEN ? "null"
						    : "false",
		  (int)generation_of(page->seeker, partition));
}

static void add_move(struct seek_page *page, int64_t from, int64_t to)
{
	if (from < 0)
		text_addf(&page->text, "starts at %lld (it had no position)\n",
			  (long long)to);
	else if (to == from)
		text_addf(&page->text, "stays at %lld\n", (long long)to);
	else if (to > from)
		text_addf(&page->text,
			  "%lld -> %lld: up to %lld messages are skipped, and "
			  "never handled\n",
			  (long long)from, (long long)to,
			  (long long)(to - from));
	else
		text_addf(&page->text,
			  "%lld -> %lld: up to %lld messages are read again; "
			  "those whose keys are in the log are duplicates\n",
			  (long long)from, (long long)to,
			  (long long)(from - to));
}

static void add_memory(struct seek_page *page, const struct seek_place *place,
		       int64_t from)
{
	if (page->remembers_all || place->log == SEEK_LOG_ANOTHER)
		return;
	if (seek_is_beyond(place, from))
		text_addf(&page->text,
			  "    those before offset %lld are older than the "
			  "retention: they may be handled a second time\n",
			  (long long)place->remembered);
	else
		text_addf(&page->text,
			  "    the log remembers all that was handled from "
			  "offset %lld on\n",
			  (long long)place->remembered);
}

static void add_lines(struct seek_page *page, int32_t partition, int64_t from,
		      int64_t to)
{
	const struct seek_place *place = &page->seeker->places[partition];

	readable_add(&page->text, bytes_text(page->topic), READABLE_WHOLE);
	text_addf(&page->text, "[%d]: ", (int)partition);
	if (place->log == SEEK_LOG_ANOTHER)
		text_addf(&page->text,
			  "%lld -> %lld in another log, for the topic was "
			  "made again, or its log was cut: the same offsets "
			  "are other messages there (log generation %d)\n",
			  (long long)from, (long long)to,
			  (int)generation_of(page->seeker, partition));
	else
		add_move(page, from, to);
	if (place->log == SEEK_LOG_UNPROVEN)
		text_adds(&page->text,
			  "    could not verify that this is the same log: "
			  "the message handled last has been removed; if the "
			  "topic was made again, add --another-log\n");
	add_memory(page, place, from);
}

void seek_page_take(void *arg, int32_t partition, int64_t from, int64_t to)
{
	struct seek_page *page = arg;

	if (page->json)
		add_json(page, partition, from, to);
	else
		add_lines(page, partition, from, to);
}

void seek_page_print(struct seek_page *page)
{
	if (page->json)
		text_adds(&page->text, page->text.size == 0 ? "[]" : "]");
	else
		text_adds(&page->text, page->dry_run ? "nothing was changed "
						       "(--dry-run)"
						     : "done");
	printf("%s\n", page->text.data);
}
