/* Rendered from the JSON itself: what the page shows is what scripts get. */
#include "status_page.h"

#include "bytes.h"
#include "clock.h"
#include "readable.h"
#include "scope.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta name=\"viewport\" content=\"width=device-width\">"
	"<meta http-equiv=\"refresh\" content=\"5\">"
	"<title>onced</title><style>\n"
	"body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;"
	"max-width:62em;padding:0 1em;color:#222;background:#fff}\n"
	"table{border-collapse:collapse;width:100%;margin:0 0 1.5em}\n"
	"th,td{padding:.2em .7em;text-align:left;"
	"border-bottom:1px solid #ddd}\n"
	"th{font-weight:600;color:#666}\n"
	"div{overflow-x:auto}\n"
	".n{text-align:right;font-variant-numeric:tabular-nums}\n"
	".good,.bad{padding:.4em .8em;color:#fff;background:#2e7d32}\n"
	".bad{background:#b71c1c;font-weight:600}\n"
	".k{font-family:ui-monospace,monospace;overflow-wrap:anywhere;"
	"min-width:12em}\n"
	"pre{background:#fff4e5;padding:.6em .8em;white-space:pre-wrap}\n"
	"h2{font-size:1.1em;margin:1.5em 0 .4em}\n"
	"@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}"
	"th,td{border-color:#383838}th{color:#999}pre{background:#3a2c12}}\n"
	"</style></head><body>\n";

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

/* Lines stay lines; what is invisible is shown as on a terminal. */
static void add_escaped(struct text *html, const char *string)
{
	scoped_text struct text shown = { 0 };

	for (;;) {
		size_t size = strcspn(string, "\n");

		readable_add(&shown, bytes_of(string, size), READABLE_WHOLE);
		if (string[size] == '\0')
			break;
		text_adds(&shown, "\n");
		string += size + 1;
	}
	for (size_t i = 0; i < shown.size; i++)
		add_character(html, shown.data[i]);
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *string = json_string_value(json_object_get(object, name));

	return string == NULL ? "" : string;
}

static long long number_of(const json_t *object, const char *name)
{
	return (long long)json_integer_value(json_object_get(object, name));
}

/* ---- tables ---- */

static void begin_table(struct text *html, const char *title,
			const char *const *names)
{
	text_addf(html, "<h2>%s</h2><div><table><tr>", title);
	for (size_t i = 0; names[i] != NULL; i++)
		text_addf(html, "<th%s>%s</th>",
			  names[i][0] == '#' ? " class=\"n\"" : "",
			  names[i] + (names[i][0] == '#'));
	text_adds(html, "</tr>\n");
}

static void add_text(struct text *html, const char *class, const char *string)
{
	text_addf(html, "<td%s>", class);
	add_escaped(html, string);
	text_adds(html, "</td>");
}

/* 1,234,567 */
static void add_digits(struct text *html, long long number)
{
	char digits[24];
	size_t count = (size_t)snprintf(digits, sizeof(digits), "%lld", number);

	for (size_t i = 0; i < count; i++) {
		if (i > 0 && digits[i - 1] != '-' && (count - i) % 3 == 0)
			text_adds(html, ",");
		text_add(html, &digits[i], 1);
	}
}

static void add_number(struct text *html, long long number)
{
	text_adds(html, "<td class=\"n\">");
	add_digits(html, number);
	text_adds(html, "</td>");
}

static void end_table(struct text *html)
{
	text_adds(html, "</table></div>\n");
}

/* ---- what is on it ---- */

static int compare_partitions(const void *left, const void *right)
{
	const json_t *a = *(json_t *const *)left;
	const json_t *b = *(json_t *const *)right;
	int order = strcmp(text_of(a, "topic"), text_of(b, "topic"));

	if (order != 0)
		return order;
	return (number_of(a, "partition") > number_of(b, "partition")) -
	       (number_of(a, "partition") < number_of(b, "partition"));
}

static void add_partition(struct text *html, const json_t *at)
{
	text_adds(html, "<tr>");
	add_text(html, "", text_of(at, "topic"));
	add_number(html, number_of(at, "partition"));
	add_number(html, number_of(at, "next_offset"));
	if (number_of(at, "lag") < 0)
		add_text(html, " class=\"n\"", "–");
	else
		add_number(html, number_of(at, "lag"));
	text_adds(html, "<td>");
	add_escaped(html, text_of(at, "state"));
	if (text_of(at, "why")[0] != '\0')
		text_adds(html, ": ");
	add_escaped(html, text_of(at, "why"));
	text_adds(html, "</td></tr>\n");
}

static void add_partitions(struct text *html, const json_t *partitions)
{
	static const char *const names[] = { "topic", "#partition", "#position",
					     "#lag",  "state",      NULL };
	size_t count = json_array_size(partitions);
	json_t **sorted scoped_free = calloc(count + 1, sizeof(*sorted));

	for (size_t i = 0; sorted != NULL && i < count; i++)
		sorted[i] = json_array_get(partitions, i);
	html->broken = html->broken || sorted == NULL;
	if (html->broken)
		return;
	qsort(sorted, count, sizeof(*sorted), compare_partitions);
	begin_table(html, "Partitions", names);
	for (size_t i = 0; i < count; i++)
		add_partition(html, sorted[i]);
	end_table(html);
}

static void add_stages(struct text *html, json_t *stages)
{
	const char *separator = "";
	const char *name;
	json_t *count;

	text_adds(html, "<td class=\"n\">");
	json_object_foreach(stages, name, count)
	{
		if (json_integer_value(count) == 0)
			continue;
		text_adds(html, separator);
		add_escaped(html, name);
		text_adds(html, " ");
		add_digits(html, json_integer_value(count));
		separator = ", ";
	}
	text_adds(html, separator[0] == '\0' ? "0</td>" : "</td>");
}

static void add_route(struct text *html, const json_t *route)
{
	const json_t *parked = json_object_get(route, "parked");

	text_adds(html, "<tr>");
	add_text(html, "", text_of(route, "route"));
	add_number(html, number_of(route, "handled"));
	add_stages(html, json_object_get(route, "duplicates"));
	add_number(html, number_of(route, "conflicts"));
	add_number(html, number_of(route, "dead"));
	add_number(html, number_of(route, "retries"));
	add_number(html, number_of(parked, "waiting"));
	add_number(html, number_of(parked, "dead"));
	text_adds(html, "</tr>\n");
}

static void add_routes(struct text *html, const json_t *routes)
{
	static const char *const names[] = {
		"route",      "#handled", "#duplicates, by who stopped them",
		"#conflicts", "#dead",    "#retries",
		"#waiting",   "#parked",  NULL
	};
	const json_t *at;
	size_t i;

	begin_table(html, "Routes, since the process started", names);
	json_array_foreach(routes, i, at) add_route(html, at);
	end_table(html);
}

static void add_key(struct text *html, const json_t *route, const json_t *key)
{
	text_adds(html, "<tr>");
	add_text(html, "", text_of(route, "route"));
	add_number(html, number_of(key, "count"));
	add_number(html, number_of(key, "error"));
	add_text(html, "", text_of(key, "key_kind"));
	add_text(html, " class=\"k\"", text_of(key, "key"));
	text_adds(html, "</tr>\n");
}

static void add_repeated(struct text *html, const json_t *repeated)
{
	static const char *const names[] = {
		"route", "#repeated", "#at most too high by", "by", "key", NULL
	};
	const json_t *route;
	const json_t *key;
	size_t i;
	size_t k;

	begin_table(html, "Most repeated keys, since the process started",
		    names);
	json_array_foreach(repeated, i, route)
	{
		json_array_foreach(json_object_get(route, "keys"), k, key)
			add_key(html, route, key);
	}
	end_table(html);
}

static void add_duration(struct text *html, long long seconds)
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

static void add_time(struct text *html)
{
	time_t now = (time_t)(clock_unix_ms() / 1000);
	struct tm parts = { 0 };
	char date[32] = "";

	if (gmtime_r(&now, &parts) != NULL)
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &parts);
	text_addf(html, " As of %s, anew every 5 s.", date);
}

static void add_readiness(struct text *html, const char *why)
{
	if (why[0] == '\0') {
		text_adds(html, "<p class=\"good\">Ready</p>\n");
		return;
	}
	text_adds(html, "<p class=\"bad\">Not ready</p>\n<pre>");
	add_escaped(html, why);
	text_adds(html, "</pre>\n");
}

static void add_heading(struct text *html, const json_t *status)
{
	const json_t *lanes = json_object_get(status, "lanes");
	const char *prefilter =
		text_of(json_object_get(status, "prefilter"), "summary");

	text_adds(html, "<h1>onced: ");
	add_escaped(html, text_of(status, "group"));
	text_adds(html, "</h1>\n");
	add_readiness(html, text_of(status, "not_ready_because"));
	text_adds(html, "<p>Version ");
	add_escaped(html, text_of(status, "version"));
	text_addf(html, ", pid %lld, up ", number_of(status, "pid"));
	add_duration(html, number_of(status, "uptime_seconds"));
	text_addf(html, ", %lld of %lld lanes busy.", number_of(lanes, "busy"),
		  number_of(lanes, "count"));
	add_time(html);
	if (prefilter[0] != '\0')
		text_adds(html, " Prefilter: ");
	add_escaped(html, prefilter);
	text_adds(html, "</p>\n");
}

bool status_page_is_wanted(const char *accepted)
{
	const char *html;
	const char *json;

	if (accepted == NULL)
		return false;
	html = strstr(accepted, "text/html");
	json = strstr(accepted, "application/json");
	return html != NULL && (json == NULL || html < json);
}

bool status_page_render(const char *json, struct text *html)
{
	json_t *status = json_loads(json, 0, NULL);

	if (status == NULL)
		return false;
	text_adds(html, head);
	add_heading(html, status);
	add_partitions(html, json_object_get(status, "partitions"));
	add_routes(html, json_object_get(status, "routes"));
	add_repeated(html, json_object_get(status, "repeated"));
	text_adds(html,
		  "<p><a href=\"/readyz\">/readyz</a> "
		  "<a href=\"/healthz\">/healthz</a> "
		  "<a href=\"/metrics\">/metrics</a> The same for scripts: "
		  "<code>curl …/status</code></p>\n</body></html>\n");
	json_decref(status);
	return true;
}
