/* For people. Control characters and what isn't UTF-8 are shown as \xNN: a
 * message must not be able to talk to the terminal. */
#include "parked_print.h"

#include "bytes.h"
#include "readable.h"

#include <stdio.h>

enum {
	DUMP_BYTES = 16, /* in a line */
	WIDTH = 80
};

/* ---- bytes on a terminal ---- */

static void add_dump_line(struct text *text, const unsigned char *at,
			  size_t offset, size_t size)
{
	text_addf(text, "%08zx ", offset);
	for (size_t i = 0; i < DUMP_BYTES; i++)
		if (i < size)
			text_addf(text, " %02x", at[offset + i]);
		else
			text_adds(text, "   ");
	text_adds(text, "  |");
	for (size_t i = 0; i < size; i++)
		text_addf(text, "%c",
			  at[offset + i] >= 0x20 && at[offset + i] < 0x7F
				  ? at[offset + i]
				  : '.');
	text_adds(text, "|\n");
}

static void add_dump(struct text *text, struct once_bytes bytes)
{
	for (size_t i = 0; i < bytes.size; i += DUMP_BYTES)
		add_dump_line(text, bytes.data, i,
			      bytes.size - i < DUMP_BYTES ? bytes.size - i
							  : DUMP_BYTES);
}

/* ---- whose it is ---- */

static bool is_ours(const struct config *cfg,
		    const struct once_parked_message *msg)
{
	if (msg->group[0] == '\0')
		return true;
	if (strcmp(msg->group, cfg->kafka.group) != 0)
		return false;
	for (size_t i = 0; i < cfg->route_count; i++)
		if (strcmp(cfg->routes[i].name, msg->route) == 0)
			return true;
	return false;
}

static void add_owner(struct text *text, const struct once_parked_message *msg)
{
	text_adds(text, "handler ");
	readable_add(text, bytes_text(msg->route), READABLE_WHOLE);
	text_adds(text, " of group ");
	readable_add(text, bytes_text(msg->group), READABLE_WHOLE);
}

/* Not silently: perhaps nobody takes it up any more. */
static void add_foreign_owner(struct text *text, const struct config *cfg,
			      const struct once_parked_message *msg)
{
	if (is_ours(cfg, msg))
		return;
	text_adds(text, ", for ");
	add_owner(text, msg);
	text_adds(text, ", not of this configuration");
}

/* ---- the table ---- */

static bool is_new_place(struct parked_page *page,
			 const struct once_parked_message *msg)
{
	scoped_text struct text place = { 0 };
	struct once_bytes before = bytes_of(page->place.data, page->place.size);

	readable_add(&place, bytes_text(msg->scope), READABLE_WHOLE);
	text_adds(&place, ": ");
	readable_add(&place, bytes_text(msg->topic), READABLE_WHOLE);
	add_foreign_owner(&place, page->cfg, msg);
	if (bytes_equal(before, bytes_of(place.data, place.size)))
		return false;
	text_reset(&page->place);
	text_add(&page->place, place.data, place.size);
	return true;
}

static void add_heading(struct parked_page *page)
{
	text_addf(&page->text, "%s%s\n", page->count == 0 ? "" : "\n",
		  page->place.data == NULL ? "" : page->place.data);
	text_addf(&page->text, "%7s %13s  %-7s  %-12s %8s %7s  %s\n", "part",
		  "offset", "state", "reason", "attempts", "crashes",
		  "parked (UTC)");
}

static void add_row(struct parked_page *page,
		    const struct once_parked_message *msg)
{
	scoped_text struct text row = { 0 };
	struct text *text = &page->text;
	size_t begin = text->size;

	text_addf(&row, "%7d %13lld  %-7s  %-12s %8lld %7lld  %.10s %.5s",
		  (int)msg->partition, (long long)msg->offset,
		  msg->state == ONCE_PARKED_DEAD ? "dead" : "waiting",
		  msg->cause, (long long)msg->attempts, (long long)msg->crashes,
		  msg->parked_at,
		  strlen(msg->parked_at) > 11 ? msg->parked_at + 11 : "");
	readable_add(text, bytes_of(row.data, row.size), READABLE_WHOLE);
	readable_end_line(text, begin, WIDTH);
	begin = text->size;
	text_adds(text, "        ");
	if (msg->msg_id.data == NULL)
		text_adds(text, "(no msg_id)");
	readable_add(text, msg->msg_id, READABLE_WHOLE);
	if (msg->reason[0] != '\0')
		text_adds(text, ": ");
	readable_add(text, bytes_text(msg->reason), READABLE_WHOLE);
	readable_end_line(text, begin, WIDTH);
}

/* ---- one message, whole ---- */

static void add_label(struct text *text, const char *name)
{
	text_addf(text, "  %-12s ", name);
}

static void add_line(struct text *text, const char *name,
		     struct once_bytes value)
{
	add_label(text, name);
	if (value.data == NULL)
		text_adds(text, "(none)");
	readable_add(text, value, READABLE_WHOLE);
	text_adds(text, "\n");
}

static void add_hex_line(struct text *text, const char *name,
			 struct once_bytes bytes)
{
	const unsigned char *at = bytes.data;

	if (bytes.data == NULL)
		return;
	add_label(text, name);
	for (size_t i = 0; i < bytes.size; i++)
		text_addf(text, "%02x", at[i]);
	text_adds(text, "\n");
}

static void add_state(struct text *text, const struct once_parked_message *msg)
{
	scoped_text struct text state = { 0 };

	if (msg->state == ONCE_PARKED_DEAD)
		text_addf(&state, "dead, parked %s", msg->parked_at);
	else
		text_addf(&state, "waiting until %s, parked %s", msg->retry_at,
			  msg->parked_at);
	add_line(text, "state", bytes_of(state.data, state.size));
	add_line(text, "reason", bytes_text(msg->cause));
	if (msg->reason[0] != '\0')
		add_line(text, "", bytes_text(msg->reason));
	if (msg->sqlstate[0] != '\0')
		add_line(text, "sqlstate", bytes_text(msg->sqlstate));
	if (msg->group[0] != '\0') {
		add_label(text, "for");
		add_owner(text, msg);
		text_adds(text, "\n");
	}
	add_label(text, "attempts");
	text_addf(text, "%lld\n", (long long)msg->attempts);
	add_label(text, "crashes");
	text_addf(text, "%lld\n", (long long)msg->crashes);
	add_label(text, "time");
	text_addf(text, "%lld ms since 1970\n", (long long)msg->time_ms);
}

static void add_headers(struct text *text,
			const struct once_parked_message *msg)
{
	add_label(text, "headers");
	text_addf(text, "%zu\n", msg->header_count);
	for (size_t i = 0; i < msg->header_count; i++) {
		text_adds(text, "    ");
		readable_add(text, bytes_text(msg->headers[i].name),
			     READABLE_WHOLE);
		text_adds(text, ": ");
		if (msg->headers[i].value.data == NULL)
			text_adds(text, "(null)");
		readable_add(text, msg->headers[i].value, READABLE_WHOLE);
		text_adds(text, "\n");
	}
}

static void add_contents(struct text *text, const char *name,
			 struct once_bytes bytes)
{
	add_label(text, name);
	if (bytes.data == NULL) {
		text_adds(text, "null\n");
	} else if (bytes.size == 0) {
		text_adds(text, "empty, 0 bytes\n");
	} else if (readable_is_plain(bytes)) {
		text_addf(text, "text, %zu bytes\n", bytes.size);
		text_add(text, bytes.data, bytes.size);
		text_adds(text, "\n");
	} else {
		text_addf(text, "binary, %zu bytes, in hex\n", bytes.size);
		add_dump(text, bytes);
	}
}

static void add_message(struct parked_page *page,
			const struct once_parked_message *msg)
{
	struct text *text = &page->text;

	if (page->count > 0)
		text_adds(text, "\n");
	readable_add(text, bytes_text(msg->scope), READABLE_WHOLE);
	text_adds(text, ": ");
	readable_add(text, bytes_text(msg->topic), READABLE_WHOLE);
	text_addf(text, " %d %lld\n", (int)msg->partition,
		  (long long)msg->offset);
	add_state(text, msg);
	add_line(text, "msg_id", msg->msg_id);
	add_line(text, "biz_id", msg->biz_id);
	add_hex_line(text, "fingerprint", msg->fingerprint);
	add_hex_line(text, "first one's", msg->original_fingerprint);
	add_headers(text, msg);
	add_contents(text, "key", msg->key);
	add_contents(text, "value", msg->value);
}

void parked_print_text(struct parked_page *page,
		       const struct once_parked_message *msg)
{
	if (page->whole) {
		add_message(page, msg);
	} else {
		if (is_new_place(page, msg))
			add_heading(page);
		add_row(page, msg);
	}
	page->count++;
}

void parked_page_fini(struct parked_page *page)
{
	text_fini(&page->text);
	text_fini(&page->place);
}
