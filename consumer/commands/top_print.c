/* The key stands last: it takes what the line has left. Where nobody looks at a
 * terminal, it is as long as the process tells it. */
#include "top_print.h"

#include "columns.h"

#include <stdio.h>

enum {
	KEY_LEAST = 16,
	WHERE_NOBODY_LOOKS = 1000 /* columns */
};

static void add_heading(const struct process_status *process,
			const struct terminal *terminal, struct text *text)
{
	scoped_text struct text line = { 0 };

	text_addf(&line, "onced top: group %s, pid %lld, up ", process->group,
		  (long long)process->pid);
	terminal_add_duration(&line, process->uptime_seconds);
	text_addf(&line, ", %lld of %lld lanes busy%s",
		  (long long)process->lanes_busy, (long long)process->lanes,
		  process->ready ? "" : ", not ready");
	if (line.data != NULL)
		terminal_add_wrapped(text, line.data, 2, terminal->columns);
	text_adds(text, "\n");
}

static void add_share(struct columns *columns, int64_t count, int64_t total)
{
	char share[16] = "-";

	if (total > 0)
		snprintf(share, sizeof(share), "%.1f%%",
			 100.0 * (double)count / (double)total);
	columns_text(columns, STYLE_PLAIN, share);
}

static void add_keys(const struct process_route *route, struct columns *columns)
{
	for (size_t i = 0; i < route->key_count; i++) {
		const struct process_key *key = &route->keys[i];

		columns_number(columns, STYLE_PLAIN, (int64_t)i + 1);
		columns_number(columns, STYLE_PLAIN, key->count);
		columns_number(columns, STYLE_PLAIN, key->error);
		add_share(columns, key->count, route->repeated);
		columns_text(columns, STYLE_PLAIN, key->kind);
		columns_text(columns, STYLE_PLAIN, key->key);
	}
}

static void add_table(const struct process_route *route,
		      const struct terminal *terminal, struct text *text)
{
	struct columns columns = { 0 };

	columns_add(&columns, "#", true, COLUMNS_UNCUT);
	columns_add(&columns, "times", true, COLUMNS_UNCUT);
	columns_add(&columns, "error", true, COLUMNS_UNCUT);
	columns_add(&columns, "share", true, COLUMNS_UNCUT);
	columns_add(&columns, "by", false, COLUMNS_UNCUT);
	columns_add(&columns, "key", false, KEY_LEAST);
	add_keys(route, &columns);
	columns_render(&columns, terminal, text);
	columns_fini(&columns);
}

static void add_route(const struct process_route *route,
		      const struct terminal *terminal, struct text *text)
{
	scoped_text struct text line = { 0 };

	text_addf(&line, "%s: ", route->name);
	terminal_add_number(terminal, &line, route->handled);
	text_adds(&line, " handled, ");
	terminal_add_number(terminal, &line, route->repeated);
	text_adds(&line, route->key_count == 0 ? " repetitions"
					       : " repetitions; most often of");
	text_adds(text, "\n");
	if (line.data != NULL)
		terminal_add_wrapped(text, line.data, 2, terminal->columns);
	text_adds(text, "\n");
	if (route->key_count > 0)
		add_table(route, terminal, text);
}

void top_print(const struct process_status *process,
	       const struct terminal *terminal, struct text *text)
{
	struct terminal wide = *terminal;

	if (!terminal->interactive)
		wide.columns = WHERE_NOBODY_LOOKS;
	add_heading(process, &wide, text);
	for (size_t i = 0; i < process->route_count; i++)
		add_route(&process->routes[i], &wide, text);
}
