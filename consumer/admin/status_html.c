/* Text is escaped twice: what is invisible, then what is markup. */
#include "status_html.h"

#include "readable.h"

#include <stdio.h>

static void add_character(struct text *html, char character)
{
	switch (character) {
	case '<':
		text_adds(html, "&lt;");
		break;
	case '>':
		text_adds(html, "&gt;");
		break;
	case '&':
		text_adds(html, "&amp;");
		break;
	case '"':
		text_adds(html, "&quot;");
		break;
	case '\'':
		text_adds(html, "&#39;");
		break;
	default:
		text_add(html, &character, 1);
	}
}

void html_add_escaped(struct text *html, const char *string)
{
	scoped_text struct text shown = { 0 };

	readable_add_lines(&shown, string);
	for (size_t i = 0; i < shown.size; i++)
		add_character(html, shown.data[i]);
}

/* ---- numbers ---- */

void html_add_digits(struct text *html, long long number)
{
	char digits[24];
	size_t count = (size_t)snprintf(digits, sizeof(digits), "%lld", number);

	for (size_t i = 0; i < count; i++) {
		if (i > 0 && digits[i - 1] != '-' && (count - i) % 3 == 0)
			text_adds(html, ",");
		text_add(html, &digits[i], 1);
	}
}

void html_add_duration(struct text *html, long long seconds)
{
	long long minutes = seconds / 60;
	long long hours = minutes / 60;

	if (hours >= 24)
		text_addf(html, "%lld d %lld h", hours / 24, hours % 24);
	else if (hours > 0)
		text_addf(html, "%lld h %lld min", hours, minutes % 60);
	else if (minutes > 0)
		text_addf(html, "%lld min %lld s", minutes, seconds % 60);
	else
		text_addf(html, "%lld s", seconds);
}

/* ---- tables ---- */

void html_begin_table(struct text *html, const char *title,
		      const char *const *names)
{
	text_addf(html, "<h2>%s</h2><div><table><tr>", title);
	for (size_t i = 0; names[i] != NULL; i++)
		text_addf(html, "<th%s>%s</th>",
			  names[i][0] == '#' ? " class=\"n\"" : "",
			  names[i] + (names[i][0] == '#'));
	text_adds(html, "</tr>\n");
}

void html_add_cell(struct text *html, const char *attributes,
		   const char *string)
{
	text_addf(html, "<td%s>", attributes);
	html_add_escaped(html, string);
	text_adds(html, "</td>");
}

void html_add_number(struct text *html, long long number)
{
	text_adds(html, "<td class=\"n\">");
	html_add_digits(html, number);
	text_adds(html, "</td>");
}

void html_end_table(struct text *html)
{
	text_adds(html, "</table></div>\n");
}
