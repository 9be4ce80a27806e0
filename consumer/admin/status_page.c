/* Rendered from the JSON itself: what the page shows is what scripts get. */
#include "status_page.h"

#include "text.h"

#include <jansson.h>
#include <string.h>

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta http-equiv=\"refresh\" content=\"5\">"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
	"'none'; style-src 'unsafe-inline'\"><title>onced</title><style>\n"
	"body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;"
	"max-width:62em;padding:0 1em;color:#222;background:#fff}\n"
	"table{border-collapse:collapse;width:100%;margin:0 0 1.5em}\n"
	"th,td{padding:.2em .7em;text-align:left;"
	"border-bottom:1px solid #ddd}\n"
	"th{font-weight:600;color:#666}\n"
	".n{text-align:right;font-variant-numeric:tabular-nums}\n"
	".k{font-family:ui-monospace,monospace;overflow-wrap:anywhere}\n"
	"pre{background:#fff4e5;padding:.6em .8em;white-space:pre-wrap}\n"
	"h2{font-size:1.1em;margin:1.5em 0 .4em}\n"
	"@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}"
	"th,td{border-color:#383838}th{color:#999}pre{background:#3a2c12}}\n"
	"</style></head><body>\n";

static void add_escaped(struct text *html, const char *string)
{
	for (; *string != '\0'; string++) {
		switch (*string) {
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
		default:
			text_add(html, string, 1);
		}
	}
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
	text_addf(html, "<h2>%s</h2><table><tr>", title);
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

static void add_number(struct text *html, long long number)
{
	text_addf(html, "<td class=\"n\">%lld</td>", number);
}

static void end_table(struct text *html)
{
	text_adds(html, "</table>\n");
}

/* ---- what is on it ---- */

static void add_partitions(struct text *html, const json_t *partitions)
{
	static const char *const names[] = { "topic", "#partition", "#position",
					     "#lag",  "state",      NULL };
	const json_t *at;
	size_t i;

	begin_table(html, "Partitions", names);
	json_array_foreach(partitions, i, at)
	{
		text_adds(html, "<tr>");
		add_text(html, "", text_of(at, "topic"));
		add_number(html, number_of(at, "partition"));
		add_number(html, number_of(at, "next_offset"));
		if (!json_is_integer(json_object_get(at, "lag")) ||
		    number_of(at, "lag") < 0)
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
		text_addf(html, "%s%s %lld", separator, name,
			  (long long)json_integer_value(count));
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

static void add_heading(struct text *html, const json_t *status)
{
	const json_t *lanes = json_object_get(status, "lanes");
	const char *why = text_of(status, "not_ready_because");
	const char *prefilter =
		text_of(json_object_get(status, "prefilter"), "summary");

	text_adds(html, "<h1>onced: ");
	add_escaped(html, text_of(status, "group"));
	text_addf(html,
		  "</h1>\n<p>Version %s, pid %lld, up %lld s, %lld of %lld "
		  "lanes busy. %s.",
		  text_of(status, "version"), number_of(status, "pid"),
		  number_of(status, "uptime_seconds"), number_of(lanes, "busy"),
		  number_of(lanes, "count"),
		  why[0] == '\0' ? "Ready" : "<b>Not ready</b>");
	if (prefilter[0] != '\0')
		text_adds(html, " Prefilter: ");
	add_escaped(html, prefilter);
	text_adds(html, "</p>\n");
	if (why[0] == '\0')
		return;
	text_adds(html, "<pre>");
	add_escaped(html, why);
	text_adds(html, "</pre>\n");
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
	text_adds(html, "<p>The same for scripts: "
			"<code>curl …/status</code></p>\n</body></html>\n");
	json_decref(status);
	return true;
}
