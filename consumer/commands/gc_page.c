/* Numbers in columns; what needs a sentence gets one below. */
#include "gc_page.h"

#include "bytes.h"
#include "readable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	AGE_SIZE = 32,
	SCOPE_WIDTH = 32, /* columns */
	SECOND_MS = 1000,
	MINUTE_MS = 60 * SECOND_MS,
	HOUR_MS = 60 * MINUTE_MS,
	DAY_MS = 24 * HOUR_MS
};

bool gc_page_init(struct gc_page *page, const struct config *cfg,
		  const struct arguments *arguments, size_t scopes)
{
	page->cfg = cfg;
	page->json = arguments->json;
	page->dry_run = arguments->dry_run;
	page->lines = calloc(scopes, sizeof(*page->lines));
	page->count = scopes;
	return page->lines != NULL;
}

void gc_page_fini(struct gc_page *page)
{
	text_fini(&page->rows);
	text_fini(&page->notes);
	free(page->lines);
}

void gc_page_add_step(struct gc_page *page, const struct once_clean_step *step)
{
	struct gc_line *line = &page->lines[step->scope];

	line->removed += step->removed;
	line->kept += step->kept;
	line->busy = line->busy || step->busy;
	if (!step->in_doubt)
		return;
	page->in_doubt = true;
	snprintf(line->doubt, sizeof(line->doubt), "%s", step->doubt);
}

/* ---- a line ---- */

static bool is_a_routes(const struct gc_page *page, const char *scope)
{
	for (size_t i = 0; i < page->cfg->route_count; i++)
		if (strcmp(page->cfg->routes[i].scope, scope) == 0)
			return true;
	return false;
}

/* The largest unit of which there are two. */
static const char *format_age(int64_t ms, char age[AGE_SIZE])
{
	static const struct {
		int64_t ms;
		const char *unit;
	} units[] = { { DAY_MS, "d" },
		      { HOUR_MS, "h" },
		      { MINUTE_MS, "m" },
		      { SECOND_MS, "s" } };
	size_t i = 0;

	if (ms < 0)
		return "-";
	while (i < 3 && ms < 2 * units[i].ms)
		i++;
	snprintf(age, AGE_SIZE, "%" PRId64 "%s", ms / units[i].ms,
		 units[i].unit);
	return age;
}

static void add_json(struct gc_page *page,
		     const struct once_log_reading *reading,
		     const struct gc_line *line)
{
	struct text *text = &page->rows;

	text_adds(text, text->size == 0 ? "[" : ",");
	text_adds(text, "{\"scope\":");
	text_add_json(text, bytes_text(reading->scope));
	text_addf(
		text,
		",\"has_route\":%s,\"busy\":%s,\"in_doubt\":%s,\"%s\":%" PRId64
		",\"kept\":%" PRId64 ",\"rows\":%" PRId64
		",\"rows_exact\":%s,\"oldest_age_seconds\":",
		is_a_routes(page, reading->scope) ? "true" : "false",
		line->busy ? "true" : "false",
		line->doubt[0] == '\0' ? "false" : "true",
		page->dry_run ? "would_remove" : "removed", line->removed,
		line->kept, reading->rows, reading->exact ? "true" : "false");
	if (reading->oldest_ms < 0)
		text_adds(text, "null");
	else
		text_addf(text, "%" PRId64, reading->oldest_ms / SECOND_MS);
	text_addf(text, ",\"overdue_seconds\":%" PRId64 "}",
		  reading->overdue_ms / SECOND_MS);
}

static void add_readable(struct text *text, const char *string)
{
	readable_add(text, bytes_text(string), READABLE_WHOLE);
}

/* Scopes are in the database, and so may be another's. */
static void add_padded(struct text *text, const char *scope)
{
	scoped_text struct text shown = { 0 };
	size_t width;

	text_adds(&shown, "");
	add_readable(&shown, scope);
	width = readable_width(bytes_of(shown.data, shown.size));
	text_addf(text, "%s%*s", shown.data == NULL ? "" : shown.data,
		  width < SCOPE_WIDTH ? (int)(SCOPE_WIDTH - width) : 0, "");
}

static void add_line(struct gc_page *page,
		     const struct once_log_reading *reading,
		     const struct gc_line *line)
{
	char oldest[AGE_SIZE];
	char overdue[AGE_SIZE];

	if (page->rows.size == 0)
		text_addf(&page->rows, "%-32s %12s %10s %14s %8s %8s\n",
			  "scope", page->dry_run ? "would remove" : "removed",
			  "kept", "rows", "oldest", "overdue");
	add_padded(&page->rows, reading->scope);
	text_addf(&page->rows,
		  " %12" PRId64 " %10" PRId64 " %s%13" PRId64 " %8s %8s\n",
		  line->removed, line->kept, reading->exact ? " " : "~",
		  reading->rows, format_age(reading->oldest_ms, oldest),
		  format_age(reading->overdue_ms, overdue));
}

/* ---- sentences ---- */

static void add_note(struct gc_page *page,
		     const struct once_log_reading *reading, const char *note)
{
	add_readable(&page->notes, reading->scope);
	text_adds(&page->notes, ": ");
	add_readable(&page->notes, note);
	text_adds(&page->notes, "\n");
}

/* As one word of a shell. */
static void add_quoted(struct text *text, const char *string)
{
	text_adds(text, "'");
	while (*string != '\0') {
		size_t size = strcspn(string, "'");

		readable_add(text, bytes_of(string, size), READABLE_WHOLE);
		string += size;
		if (*string == '\'') {
			text_adds(text, "'\\''");
			string++;
		}
	}
	text_adds(text, "'");
}

static void note_known(struct gc_page *page,
		       const struct once_log_reading *reading,
		       const struct gc_line *line)
{
	if (line->busy)
		add_note(page, reading,
			 "another cleaner is at it; it goes on with it");
	if (line->doubt[0] != '\0')
		add_note(page, reading, line->doubt);
	if (line->kept > 0)
		add_note(page, reading,
			 "kept are rows that a group may read again, for its "
			 "position stands before them; see onced status");
}

static void note_foreign(struct gc_page *page,
			 const struct once_log_reading *reading)
{
	add_readable(&page->notes, reading->scope);
	text_adds(&page->notes,
		  ": no route of this configuration has that scope. If none of "
		  "another has it either, remove what is older than its groups "
		  "have said with: onced gc --scope ");
	add_quoted(&page->notes, reading->scope);
	text_adds(&page->notes, "\n");
}

void gc_page_add_reading(void *arg, const struct once_log_reading *reading)
{
	static const struct gc_line nothing;
	struct gc_page *page = arg;
	const struct gc_line *line =
		reading->known ? &page->lines[reading->index] : &nothing;

	/* With --scope the configuration's own are no news. */
	if (!reading->known &&
	    (reading->rows == 0 || is_a_routes(page, reading->scope)))
		return;
	if (page->json)
		add_json(page, reading, line);
	else
		add_line(page, reading, line);
	if (reading->known)
		note_known(page, reading, line);
	else
		note_foreign(page, reading);
}

void gc_page_print(struct gc_page *page)
{
	if (page->json) {
		printf("%s]\n", page->rows.size == 0 ? "[" : page->rows.data);
		return;
	}
	printf("%s", page->rows.size == 0 ? "the log has no rows yet\n"
					  : page->rows.data);
	if (page->notes.size != 0)
		printf("\n%s", page->notes.data);
	if (page->dry_run)
		printf("\nnothing was changed (--dry-run)\n");
	if (page->interrupted)
		printf("\nstopped before the end; what is removed is removed\n");
}
