/* A heading of labelled lines; the tables are in status_tables.c. */
#include "status_print.h"

#include "bytes.h"
#include "status_tables.h"

#include <stdlib.h>
#include <string.h>

enum {
	LABEL = 11 /* columns */
};

/* ---- the heading ---- */

static void add_label(const struct terminal *terminal, struct text *text,
		      const char *label)
{
	terminal_add(terminal, text, STYLE_TITLE, label);
	text_addf(text, "%*s", (int)(LABEL - strlen(label)), "");
}

static void add_line(const struct terminal *terminal, struct text *text,
		     const char *label, const char *string)
{
	add_label(terminal, text, label);
	terminal_add_wrapped(text, string, LABEL, terminal->columns);
	text_adds(text, "\n");
}

static void add_database(const struct status_page *page,
			 const struct terminal *terminal, struct text *text)
{
	add_label(terminal, text, "database");
	if (page->facts != NULL) {
		terminal_add(terminal, text, STYLE_GOOD, "answers");
	} else {
		terminal_add(terminal, text, STYLE_BAD, "can't be read");
		text_addf(text, "\n%*s", LABEL, "");
		terminal_add_wrapped(text, page->database_why, LABEL,
				     terminal->columns);
	}
	text_adds(text, "\n");
}

/* The reasons of /readyz, a line each. */
static void add_reasons(const struct terminal *terminal, struct text *text,
			const char *reasons)
{
	while (*reasons != '\0') {
		size_t size = strcspn(reasons, "\n");
		char *line = strndup(reasons, size);

		text_addf(text, "%*s", LABEL, "");
		if (line != NULL)
			terminal_add_wrapped(text, line, LABEL + 2,
					     terminal->columns - 2);
		text_adds(text, "\n");
		free(line);
		reasons += size + (reasons[size] == '\n');
	}
}

static void add_process(const struct status_page *page,
			const struct terminal *terminal, struct text *text)
{
	const struct process_status *process = page->process;

	add_label(terminal, text, "process");
	if (process == NULL) {
		terminal_add(terminal, text, STYLE_WARN, "no answer");
		text_addf(text, "\n%*s", LABEL, "");
		terminal_add_wrapped(text, page->process_why, LABEL,
				     terminal->columns);
		text_adds(text, "\n");
		return;
	}
	terminal_add(terminal, text, process->ready ? STYLE_GOOD : STYLE_BAD,
		     process->ready ? "ready" : "not ready");
	text_addf(text, ", pid %lld, up ", (long long)process->pid);
	terminal_add_duration(text, process->uptime_seconds);
	text_addf(text, ", %lld of %lld lanes busy\n",
		  (long long)process->lanes_busy, (long long)process->lanes);
	add_reasons(terminal, text, process->why_not_ready);
}

/* A small log is counted. Of a larger one there is PostgreSQL's estimate, once
 * it has analyzed the table. */
static void add_log_fact(const struct fact *fact,
			 const struct terminal *terminal, struct text *text)
{
	bool is_exact = fact_text(fact, "rows")[0] != '\0';
	int64_t bytes = fact_number(fact, "bytes");

	add_label(terminal, text, "log");
	if (!is_exact && fact_text(fact, "rows_about")[0] == '\0') {
		text_adds(text, "more than ten thousand messages (not "
				"analyzed yet), ");
	} else {
		text_adds(text, is_exact ? "" : "about ");
		terminal_add_number(
			terminal, text,
			fact_number(fact, is_exact ? "rows" : "rows_about"));
		text_adds(text, " messages, ");
	}
	terminal_add_bytes(text, bytes);
	text_adds(text, ", of all groups\n");
}

static void add_log(const struct status_page *page,
		    const struct terminal *terminal, struct text *text)
{
	for (size_t i = 0; i < page->facts->count; i++)
		if (fact_is_of(&page->facts->rows[i], "log"))
			add_log_fact(&page->facts->rows[i], terminal, text);
}

static void add_retention(const struct status_page *page,
			  const struct terminal *terminal, struct text *text)
{
	int64_t retention_ms = page->cfg->retention_ms;

	add_label(terminal, text, "retention");
	if (retention_ms < 0)
		text_adds(text, "forever");
	else
		terminal_add_duration(text, retention_ms / 1000);
	text_adds(text, "\n");
}

static void add_heading(const struct status_page *page,
			const struct terminal *terminal, struct text *text)
{
	const struct process_status *process = page->process;

	add_line(terminal, text, "onced",
		 process == NULL ? once_version() : process->version);
	add_line(terminal, text, "group", page->cfg->kafka.group);
	add_line(terminal, text, "brokers", page->cfg->kafka.brokers);
	add_database(page, terminal, text);
	add_process(page, terminal, text);
	if (process != NULL)
		add_line(terminal, text, "prefilter",
			 process->prefilter[0] == '\0' ? "none"
						       : process->prefilter);
	if (page->facts != NULL)
		add_log(page, terminal, text);
	add_retention(page, terminal, text);
}

void status_print(const struct status_page *page,
		  const struct terminal *terminal, struct text *text)
{
	add_heading(page, terminal, text);
	status_tables_print(page, terminal, text);
}

/* ---- for scripts ---- */

static void add_why(struct text *json, const char *why)
{
	text_adds(json, "\"why\":");
	text_add_json(json, bytes_text(why));
}

void status_print_json(const struct status_page *page, struct text *json)
{
	char *process = page->process == NULL
				? NULL
				: process_status_dump(page->process, NULL);

	text_adds(json, "{\"group\":");
	text_add_json(json, bytes_text(page->cfg->kafka.group));
	text_adds(json, ",\"brokers\":");
	text_add_json(json, bytes_text(page->cfg->kafka.brokers));
	if (page->cfg->retention_ms < 0)
		text_adds(json, ",\"retention_seconds\":null");
	else
		text_addf(json, ",\"retention_seconds\":%lld",
			  (long long)(page->cfg->retention_ms / 1000));
	text_addf(json, ",\"database\":{\"reached\":%s",
		  page->facts == NULL ? "false," : "true");
	if (page->facts == NULL)
		add_why(json, page->database_why);
	else
		facts_add_json(page->facts, json);
	text_addf(json, "},\"process\":{\"reached\":%s,",
		  process == NULL ? "false" : "true");
	if (process == NULL) {
		add_why(json, page->process_why);
	} else {
		text_adds(json, "\"status\":");
		text_adds(json, process);
	}
	text_adds(json, "}}\n");
	free(process);
}
