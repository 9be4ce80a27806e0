/* A heading of labelled lines, then tables: partitions, routes, parked ones. */
#include "status_print.h"

#include "bytes.h"
#include "columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LABEL = 11, /* columns */
	NAME_LEAST = 8
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
		terminal_add(terminal, text, STYLE_BAD, "no answer");
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

static void add_log(const struct status_page *page,
		    const struct terminal *terminal, struct text *text)
{
	for (size_t i = 0; i < page->facts->count; i++) {
		const struct fact *fact = &page->facts->rows[i];

		if (!fact_is_of(fact, "log"))
			continue;
		add_label(terminal, text, "log");
		text_adds(text, "about ");
		terminal_add_number(terminal, text,
				    fact_number(fact, "rows_about"));
		text_adds(text, " messages, ");
		terminal_add_bytes(text, fact_number(fact, "bytes"));
		text_adds(text, ", of all groups\n");
	}
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
}

/* ---- partitions ---- */

static const struct process_partition *find_partition(
	const struct process_status *process, const char *topic, int64_t number)
{
	for (size_t i = 0; process != NULL && i < process->partition_count; i++)
		if (process->partitions[i].partition == number &&
		    strcmp(process->partitions[i].topic, topic) == 0)
			return &process->partitions[i];
	return NULL;
}

static bool is_known(const struct facts *facts,
		     const struct process_partition *partition)
{
	for (size_t i = 0; facts != NULL && i < facts->count; i++) {
		const struct fact *fact = &facts->rows[i];

		if (fact_is_of(fact, "position") &&
		    fact_number(fact, "partition") == partition->partition &&
		    strcmp(fact_text(fact, "topic"), partition->topic) == 0)
			return true;
	}
	return false;
}

static enum style style_of(const char *state)
{
	if (strcmp(state, "running") == 0)
		return STYLE_GOOD;
	return strcmp(state, "halted") == 0 || strcmp(state, "stalled") == 0
		       ? STYLE_BAD
		       : STYLE_WARN;
}

/* Of one that the process doesn't have, its holder is all that is known. */
static void add_state(struct columns *columns,
		      const struct process_partition *partition,
		      const char *holder, int64_t attempts)
{
	scoped_text struct text state = { 0 };

	if (partition == NULL) {
		columns_text(columns, STYLE_PLAIN,
			     holder[0] == '\0' ? "not read" : "read");
		return;
	}
	text_adds(&state, partition->state);
	if (attempts > 0 && strcmp(partition->state, "running") == 0)
		text_addf(&state, ", attempt %lld", (long long)attempts + 1);
	columns_text(columns, style_of(partition->state),
		     state.data == NULL ? "" : state.data);
}

static void add_position(struct columns *columns, const struct fact *fact,
			 const struct process_status *process)
{
	const char *holder = fact_text(fact, "holder");
	const struct process_partition *partition =
		find_partition(process, fact_text(fact, "topic"),
			       fact_number(fact, "partition"));

	columns_text(columns, STYLE_PLAIN, fact_text(fact, "topic"));
	columns_number(columns, STYLE_PLAIN, fact_number(fact, "partition"));
	columns_number(columns, STYLE_PLAIN, fact_number(fact, "next_offset"));
	columns_number(columns, STYLE_PLAIN,
		       partition == NULL || partition->lag < 0
			       ? COLUMNS_UNKNOWN
			       : partition->lag);
	add_state(columns, partition, holder, fact_number(fact, "attempts"));
	columns_text(columns, STYLE_PLAIN, holder[0] == '\0' ? "-" : holder);
}

/* One that has no row yet, or whose row can't be read now. */
static void add_partition(struct columns *columns,
			  const struct process_partition *partition)
{
	columns_text(columns, STYLE_PLAIN, partition->topic);
	columns_number(columns, STYLE_PLAIN, partition->partition);
	columns_number(columns, STYLE_PLAIN,
		       partition->next_offset < 0 ? COLUMNS_UNKNOWN
						  : partition->next_offset);
	columns_number(columns, STYLE_PLAIN,
		       partition->lag < 0 ? COLUMNS_UNKNOWN : partition->lag);
	add_state(columns, partition, "", 0);
	columns_text(columns, STYLE_PLAIN, "this process");
}

static void add_rows(const struct status_page *page, struct columns *columns)
{
	for (size_t i = 0; page->facts != NULL && i < page->facts->count; i++)
		if (fact_is_of(&page->facts->rows[i], "position"))
			add_position(columns, &page->facts->rows[i],
				     page->process);
	if (page->process == NULL)
		return;
	for (size_t i = 0; i < page->process->partition_count; i++)
		if (!is_known(page->facts, &page->process->partitions[i]))
			add_partition(columns, &page->process->partitions[i]);
}

static void print_partitions(const struct status_page *page,
			     const struct terminal *terminal, struct text *text)
{
	struct columns columns = { 0 };

	columns_add(&columns, "topic", false, NAME_LEAST);
	columns_add(&columns, "part", true, COLUMNS_UNCUT);
	columns_add(&columns, "position", true, COLUMNS_UNCUT);
	columns_add(&columns, "lag", true, COLUMNS_UNCUT);
	columns_add(&columns, "state", false, NAME_LEAST);
	columns_add(&columns, "read by", false, NAME_LEAST);
	add_rows(page, &columns);
	text_adds(text, "\n");
	columns_render(&columns, terminal, text);
	columns_fini(&columns);
}

/* ---- routes ---- */

static const struct process_route *find_route(
	const struct process_status *process, const char *name)
{
	for (size_t i = 0; process != NULL && i < process->route_count; i++)
		if (strcmp(process->routes[i].name, name) == 0)
			return &process->routes[i];
	return NULL;
}

static int64_t count_parked(const struct facts *facts, const char *scope,
			    const char *state)
{
	int64_t sum = 0;

	if (facts == NULL)
		return COLUMNS_UNKNOWN;
	for (size_t i = 0; i < facts->count; i++) {
		const struct fact *fact = &facts->rows[i];

		if (fact_is_of(fact, "parked") &&
		    strcmp(fact_text(fact, "scope"), scope) == 0 &&
		    strcmp(fact_text(fact, "state"), state) == 0)
			sum += fact_number(fact, "count");
	}
	return sum;
}

/* "batch", "database": by what a process of this version tells. */
static void add_stage_titles(const struct process_status *process,
			     struct columns *columns)
{
	if (process == NULL || process->route_count == 0)
		return;
	for (size_t i = 0; i < process->routes[0].stage_count; i++)
		columns_add(columns, process->routes[0].stages[i].name, true,
			    COLUMNS_UNCUT);
}

static void add_titles(const struct status_page *page, struct columns *columns)
{
	columns_add(columns, "route", false, NAME_LEAST);
	columns_add(columns, "handled", true, COLUMNS_UNCUT);
	add_stage_titles(page->process, columns);
	columns_add(columns, "conflicts", true, COLUMNS_UNCUT);
	columns_add(columns, "dead", true, COLUMNS_UNCUT);
	columns_add(columns, "retries", true, COLUMNS_UNCUT);
	columns_add(columns, "waiting", true, COLUMNS_UNCUT);
	columns_add(columns, "parked", true, COLUMNS_UNCUT);
}

static void add_counts(struct columns *columns,
		       const struct process_status *process,
		       const struct process_route *route)
{
	size_t stages = process == NULL || process->route_count == 0
				? 0
				: process->routes[0].stage_count;

	columns_number(columns, STYLE_PLAIN,
		       route == NULL ? COLUMNS_UNKNOWN : route->handled);
	for (size_t i = 0; i < stages; i++)
		columns_number(columns, STYLE_PLAIN,
			       route == NULL || i >= route->stage_count
				       ? COLUMNS_UNKNOWN
				       : route->stages[i].duplicates);
	columns_number(columns, STYLE_PLAIN,
		       route == NULL ? COLUMNS_UNKNOWN : route->conflicts);
	columns_number(columns, STYLE_PLAIN,
		       route == NULL ? COLUMNS_UNKNOWN : route->dead);
	columns_number(columns, STYLE_PLAIN,
		       route == NULL ? COLUMNS_UNKNOWN : route->retries);
}

static void print_routes(const struct status_page *page,
			 const struct terminal *terminal, struct text *text)
{
	struct columns columns = { 0 };

	add_titles(page, &columns);
	for (size_t i = 0; i < page->cfg->route_count; i++) {
		const struct route_config *route = &page->cfg->routes[i];
		int64_t parked =
			count_parked(page->facts, route->scope, "dead");

		columns_text(&columns, STYLE_PLAIN, route->name);
		add_counts(&columns, page->process,
			   find_route(page->process, route->name));
		columns_number(
			&columns, STYLE_PLAIN,
			count_parked(page->facts, route->scope, "waiting"));
		columns_number(&columns, parked > 0 ? STYLE_WARN : STYLE_PLAIN,
			       parked);
	}
	text_adds(text, "\n");
	columns_render(&columns, terminal, text);
	columns_fini(&columns);
}

/* ---- parked ones ---- */

static void print_parked(const struct status_page *page,
			 const struct terminal *terminal, struct text *text)
{
	struct columns columns = { 0 };

	columns_add(&columns, "scope", false, NAME_LEAST);
	columns_add(&columns, "parked as", false, COLUMNS_UNCUT);
	columns_add(&columns, "reason", false, COLUMNS_UNCUT);
	columns_add(&columns, "messages", true, COLUMNS_UNCUT);
	for (size_t i = 0; i < page->facts->count; i++) {
		const struct fact *fact = &page->facts->rows[i];

		if (!fact_is_of(fact, "parked"))
			continue;
		columns_text(&columns, STYLE_PLAIN, fact_text(fact, "scope"));
		columns_text(&columns, STYLE_PLAIN, fact_text(fact, "state"));
		columns_text(&columns, STYLE_PLAIN, fact_text(fact, "cause"));
		columns_number(&columns, STYLE_PLAIN,
			       fact_number(fact, "count"));
	}
	if (columns.cell_count > 0) {
		text_adds(text, "\n");
		columns_render(&columns, terminal, text);
	}
	columns_fini(&columns);
}

void status_print(const struct status_page *page,
		  const struct terminal *terminal, struct text *text)
{
	add_heading(page, terminal, text);
	print_partitions(page, terminal, text);
	print_routes(page, terminal, text);
	if (page->process != NULL)
		text_adds(text, "handled to retries: since the process "
				"started; waiting, parked: now\n");
	if (page->facts != NULL)
		print_parked(page, terminal, text);
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
