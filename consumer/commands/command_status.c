/* onced status: what the database says, the same for people and for scripts. */
#include "bytes.h"
#include "command.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

struct page {
	bool json;
	const char *section; /* the last row's */
	struct text text;
};

static void add_json_row(struct page *page, const char *section,
			 const char *const *names, const char *const *values,
			 size_t count)
{
	text_adds(&page->text, page->section == NULL ? "[" : ",");
	text_adds(&page->text, "{\"section\":");
	text_add_json(&page->text, bytes_text(section));
	for (size_t i = 0; i < count; i++) {
		text_addf(&page->text, ",\"%s\":", names[i]);
		text_add_json(&page->text, bytes_text(values[i]));
	}
	text_adds(&page->text, "}");
}

static void add_row(struct page *page, const char *section,
		    const char *const *names, const char *const *values,
		    size_t count)
{
	if (page->section == NULL || strcmp(page->section, section) != 0) {
		text_addf(&page->text, "%s%s\n",
			  page->section == NULL ? "" : "\n", section);
		for (size_t i = 0; i < count; i++)
			text_addf(&page->text, "  %-20s", names[i]);
		text_adds(&page->text, "\n");
	}
	for (size_t i = 0; i < count; i++)
		text_addf(&page->text, "  %-20s", values[i]);
	text_adds(&page->text, "\n");
}

static void take_row(void *arg, const char *section, const char *const *names,
		     const char *const *values, size_t count)
{
	struct page *page = arg;

	if (page->json)
		add_json_row(page, section, names, values, count);
	else
		add_row(page, section, names, values, count);
	page->section = section;
}

static int status(const struct arguments *arguments)
{
	struct config *cfg = command_load_config(arguments);
	struct page page = { .json = arguments->json };
	enum once_status got;
	struct once_error err;

	if (cfg == NULL)
		return EXIT_CODE_CONFIG;
	got = once_overview(cfg->database.conninfo, cfg->kafka.group, take_row,
			    &page, &err);
	if (got != ONCE_OK)
		fprintf(stderr, "onced: %s\n", err.text);
	else
		printf("%s%s", page.text.size == 0 ? "" : page.text.data,
		       page.json ? "]\n" : "");
	text_fini(&page.text);
	config_destroy(cfg);
	return exit_code_of(got);
}

const struct command command_status = {
	.name = "status",
	.summary = "positions, parked messages and the log's size",
	.help = "From the database. What the process itself says is at "
		"admin.listen: /status, /readyz.",
	.options = TAKES_CONFIG | TAKES_JSON,
	.run = status,
};
