/* The tables of `onced status`. Rows come from the database; what the process
 * knows of them stands beside. */
#include "status_tables.h"

#include "columns.h"

#include <stdio.h>
#include <string.h>

enum {
	NAME_LEAST = 8 /* columns */
};

/* What was counted elsewhere may be anything: it stays at the most. */
static int64_t add_up(int64_t sum, int64_t more)
{
	if (more > 0 && sum > INT64_MAX - more)
		return INT64_MAX;
	if (more < 0 && sum < INT64_MIN - more)
		return INT64_MIN;
	return sum + more;
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

static void add_age(struct columns *columns, int64_t seconds)
{
	scoped_text struct text age = { 0 };

	terminal_add_duration(&age, seconds < 0 ? 0 : seconds);
	columns_text(columns, STYLE_PLAIN, age.data == NULL ? "" : age.data);
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
		text_addf(&state, ", attempt %lld",
			  (long long)add_up(attempts, 1));
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
	add_age(columns, fact_number(fact, "age_seconds"));
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
	columns_text(columns, STYLE_PLAIN, "-");
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
	columns_add(&columns, "moved", false, COLUMNS_SPARE);
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

/* That route takes it up: it was parked for it, or for any of its scope. */
static bool is_for(const struct fact *fact, const char *group,
		   const struct route_config *route)
{
	const char *name = fact_text(fact, "route");

	if (strcmp(fact_text(fact, "scope"), route->scope) != 0)
		return false;
	return name[0] == '\0' ||
	       (strcmp(name, route->name) == 0 &&
		strcmp(fact_text(fact, "group"), group) == 0);
}

static int64_t count_parked(const struct status_page *page,
			    const struct route_config *route, const char *state)
{
	int64_t sum = 0;

	if (page->facts == NULL)
		return COLUMNS_UNKNOWN;
	for (size_t i = 0; i < page->facts->count; i++) {
		const struct fact *fact = &page->facts->rows[i];

		if (fact_is_of(fact, "parked") &&
		    is_for(fact, page->cfg->kafka.group, route) &&
		    strcmp(fact_text(fact, "state"), state) == 0)
			sum = add_up(sum, fact_number(fact, "count"));
	}
	return sum;
}

/* Without a prefilter its stages stop nothing, and would only fill the line. */
static bool is_told(const struct process_status *process,
		    const struct process_stage *stage)
{
	return process->prefilter[0] != '\0' ||
	       strcmp(stage->name, "batch") == 0 ||
	       strcmp(stage->name, "database") == 0;
}

/* As the process tells them, the same for each route. */
static void add_stage_titles(const struct process_status *process,
			     struct columns *columns)
{
	const struct process_route *route = &process->routes[0];

	for (size_t i = 0; i < route->stage_count; i++)
		if (is_told(process, &route->stages[i]))
			columns_add(columns, route->stages[i].name, true,
				    COLUMNS_UNCUT);
}

static void add_share(struct columns *columns, int64_t part, int64_t whole)
{
	char share[16] = "-";

	if (whole > 0)
		snprintf(share, sizeof(share), "%.1f%%",
			 100.0 * (double)part / (double)whole);
	columns_text(columns, STYLE_PLAIN, share);
}

static void add_duplicates(struct columns *columns,
			   const struct process_status *process,
			   const struct process_route *route)
{
	int64_t sum = 0;

	for (size_t i = 0; i < route->stage_count; i++)
		sum = add_up(sum, route->stages[i].duplicates);
	columns_text(columns, STYLE_PLAIN, route->name);
	columns_number(columns, STYLE_PLAIN, route->handled);
	columns_number(columns, STYLE_PLAIN, sum);
	add_share(columns, sum, add_up(sum, route->handled));
	for (size_t i = 0; i < route->stage_count; i++)
		if (is_told(process, &route->stages[i]))
			columns_number(columns, STYLE_PLAIN,
				       route->stages[i].duplicates);
}

static void print_duplicates(const struct process_status *process,
			     const struct terminal *terminal, struct text *text)
{
	struct columns columns = { 0 };

	if (process == NULL || process->route_count == 0)
		return;
	columns_add(&columns, "route", false, NAME_LEAST);
	columns_add(&columns, "handled", true, COLUMNS_UNCUT);
	columns_add(&columns, "duplicates", true, COLUMNS_UNCUT);
	columns_add(&columns, "share", true, COLUMNS_UNCUT);
	add_stage_titles(process, &columns);
	for (size_t i = 0; i < process->route_count; i++)
		if (process->routes[i].stage_count ==
		    process->routes[0].stage_count)
			add_duplicates(&columns, process, &process->routes[i]);
	text_adds(text, "\nsince the process started, and what stopped the "
			"duplicates\n");
	columns_render(&columns, terminal, text);
	columns_fini(&columns);
}

static void add_trouble(const struct status_page *page, struct columns *columns,
			const struct route_config *route)
{
	const struct process_route *counted =
		find_route(page->process, route->name);
	int64_t parked = count_parked(page, route, "dead");

	columns_text(columns, STYLE_PLAIN, route->name);
	columns_number(columns, STYLE_PLAIN,
		       counted == NULL ? COLUMNS_UNKNOWN : counted->conflicts);
	columns_number(columns, STYLE_PLAIN,
		       counted == NULL ? COLUMNS_UNKNOWN : counted->dead);
	columns_number(columns, STYLE_PLAIN,
		       counted == NULL ? COLUMNS_UNKNOWN : counted->retries);
	columns_number(columns, STYLE_PLAIN,
		       count_parked(page, route, "waiting"));
	columns_number(columns, parked > 0 ? STYLE_WARN : STYLE_PLAIN, parked);
}

static void print_trouble(const struct status_page *page,
			  const struct terminal *terminal, struct text *text)
{
	struct columns columns = { 0 };

	columns_add(&columns, "route", false, NAME_LEAST);
	columns_add(&columns, "conflicts", true, COLUMNS_UNCUT);
	columns_add(&columns, "dead", true, COLUMNS_UNCUT);
	columns_add(&columns, "retries", true, COLUMNS_UNCUT);
	columns_add(&columns, "waiting now", true, COLUMNS_UNCUT);
	columns_add(&columns, "parked now", true, COLUMNS_UNCUT);
	for (size_t i = 0; i < page->cfg->route_count; i++)
		add_trouble(page, &columns, &page->cfg->routes[i]);
	text_adds(text, "\n");
	columns_render(&columns, terminal, text);
	columns_fini(&columns);
}

/* ---- parked ones ---- */

/* "": one of this configuration takes it up. */
static const char *foreign_owner(const struct config *cfg,
				 const struct fact *fact)
{
	const char *route = fact_text(fact, "route");
	bool is_our_group =
		strcmp(fact_text(fact, "group"), cfg->kafka.group) == 0;

	if (route[0] == '\0')
		return "";
	for (size_t i = 0; is_our_group && i < cfg->route_count; i++)
		if (strcmp(cfg->routes[i].name, route) == 0)
			return "";
	return is_our_group ? route : fact_text(fact, "group");
}

static bool has_foreign_owner(const struct status_page *page)
{
	for (size_t i = 0; i < page->facts->count; i++)
		if (fact_is_of(&page->facts->rows[i], "parked") &&
		    foreign_owner(page->cfg, &page->facts->rows[i])[0] != '\0')
			return true;
	return false;
}

static void print_parked(const struct status_page *page,
			 const struct terminal *terminal, struct text *text)
{
	struct columns columns = { 0 };
	bool has_owners = has_foreign_owner(page);

	columns_add(&columns, "scope", false, NAME_LEAST);
	columns_add(&columns, "parked as", false, COLUMNS_UNCUT);
	columns_add(&columns, "reason", false, COLUMNS_UNCUT);
	columns_add(&columns, "messages", true, COLUMNS_UNCUT);
	if (has_owners)
		columns_add(&columns, "not ours, but", false, NAME_LEAST);
	for (size_t i = 0; i < page->facts->count; i++) {
		const struct fact *fact = &page->facts->rows[i];

		if (!fact_is_of(fact, "parked"))
			continue;
		columns_text(&columns, STYLE_PLAIN, fact_text(fact, "scope"));
		columns_text(&columns, STYLE_PLAIN, fact_text(fact, "state"));
		columns_text(&columns, STYLE_PLAIN, fact_text(fact, "cause"));
		columns_number(&columns, STYLE_PLAIN,
			       fact_number(fact, "count"));
		if (has_owners)
			columns_text(&columns, STYLE_WARN,
				     foreign_owner(page->cfg, fact));
	}
	if (columns.cell_count > 0) {
		text_adds(text, "\n");
		columns_render(&columns, terminal, text);
	}
	columns_fini(&columns);
}

void status_tables_print(const struct status_page *page,
			 const struct terminal *terminal, struct text *text)
{
	print_partitions(page, terminal, text);
	print_duplicates(page->process, terminal, text);
	print_trouble(page, terminal, text);
	if (page->facts != NULL)
		print_parked(page, terminal, text);
}
