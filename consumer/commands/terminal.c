/* Nothing here writes: commands print the text when it is whole. */
#include "terminal.h"

#include "bytes.h"
#include "readable.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	COLUMNS_LEAST = 80,
	COLUMNS_MOST = 160,
	LINES_USUAL = 24
};

static bool has_value(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && value[0] != '\0';
}

static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return term == NULL || strcmp(term, "dumb") == 0;
}

void terminal_look(struct terminal *terminal)
{
	struct winsize size = { 0 };

	*terminal = (struct terminal){ .columns = COLUMNS_LEAST,
				       .lines = LINES_USUAL };
	terminal->interactive = isatty(STDOUT_FILENO) != 0;
	if (!terminal->interactive)
		return;
	terminal->colour = !has_value("NO_COLOR") && !is_dumb();
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return;
	if (size.ws_col > COLUMNS_LEAST)
		terminal->columns =
			size.ws_col < COLUMNS_MOST ? size.ws_col : COLUMNS_MOST;
	if (size.ws_row > 0)
		terminal->lines = size.ws_row;
}

void terminal_add(const struct terminal *terminal, struct text *text,
		  enum style style, const char *string)
{
	static const char *const codes[] = { [STYLE_PLAIN] = "",
					     [STYLE_TITLE] = "\033[1m",
					     [STYLE_GOOD] = "\033[32m",
					     [STYLE_WARN] = "\033[33m",
					     [STYLE_BAD] = "\033[1;31m" };
	bool coloured = terminal->colour && style != STYLE_PLAIN;

	text_adds(text, coloured ? codes[style] : "");
	text_adds(text, string);
	text_adds(text, coloured ? "\033[0m" : "");
}

void terminal_add_number(const struct terminal *terminal, struct text *text,
			 int64_t number)
{
	char digits[24];
	size_t count;

	if (!terminal->interactive || number < 0) {
		text_addf(text, "%lld", (long long)number);
		return;
	}
	count = (size_t)snprintf(digits, sizeof(digits), "%lld",
				 (long long)number);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && (count - i) % 3 == 0)
			text_adds(text, ",");
		text_add(text, &digits[i], 1);
	}
}

void terminal_add_duration(struct text *text, int64_t seconds)
{
	long long minutes = seconds / 60;
	long long hours = minutes / 60;
	long long days = hours / 24;

	if (days > 0 && hours % 24 == 0)
		text_addf(text, "%lld d", days);
	else if (days > 0)
		text_addf(text, "%lld d %lld h", days, hours % 24);
	else if (hours > 0)
		text_addf(text, "%lld h %lld min", hours, minutes % 60);
	else if (minutes > 0)
		text_addf(text, "%lld min %lld s", minutes,
			  (long long)seconds % 60);
	else
		text_addf(text, "%lld s", (long long)seconds);
}

void terminal_add_bytes(struct text *text, int64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB",
					     "TiB" };
	double size = (double)bytes;
	size_t unit = 0;

	while (size >= 1024 && unit < sizeof(units) / sizeof(*units) - 1) {
		size /= 1024;
		unit++;
	}
	text_addf(text, "%.*f %s", unit == 0 || size >= 100 ? 0 : 1, size,
		  units[unit]);
}

/* ---- lines ---- */

/* The bytes of the next line, without the space that it is broken at. */
static size_t find_break(struct once_bytes rest, size_t columns)
{
	const char *at = rest.data;
	size_t fits = readable_fit(rest, columns);

	if (fits == rest.size)
		return fits;
	for (size_t i = fits; i > 0; i--)
		if (at[i] == ' ')
			return i;
	return fits == 0 ? 1 : fits;
}

void terminal_add_wrapped(struct text *text, const char *string, size_t indent,
			  size_t columns)
{
	scoped_text struct text shown = { 0 };
	size_t at = 0;

	readable_add(&shown, bytes_text(string), SIZE_MAX);
	while (at < shown.size && !text->broken) {
		size_t size =
			find_break(bytes_of(shown.data + at, shown.size - at),
				   columns - indent);

		if (at > 0)
			text_addf(text, "\n%*s", (int)indent, "");
		text_add(text, shown.data + at, size);
		at += size;
		while (at < shown.size && shown.data[at] == ' ')
			at++;
	}
}
