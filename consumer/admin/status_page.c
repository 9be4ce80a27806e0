/* Rendered from the JSON itself: what the page shows is what scripts get. */
#include "status_page.h"

#include "clock.h"
#include "scope.h"
#include "status_html.h"

#include <jansson.h>
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

static const char *text_of(const json_t *object, const char *name)
{
	const char *string = json_string_value(json_object_get(object, name));

	return string == NULL ? "" : string;
}

static long long number_of(const json_t *object, const char *name)
{
	return (long long)json_integer_value(json_object_get(object, name));
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
	html_add_cell(html, "", text_of(at, "topic"));
	html_add_number(html, number_of(at, "partition"));
	html_add_number(html, number_of(at, "next_offset"));
	if (!json_is_integer(json_object_get(at, "lag")) ||
	    number_of(at, "lag") < 0)
		html_add_cell(html, " class=\"n\"", "–");
	else
		html_add_number(html, number_of(at, "lag"));
	text_adds(html, "<td>");
	html_add_escaped(html, text_of(at, "state"));
	if (text_of(at, "why")[0] != '\0')
		text_adds(html, ": ");
	html_add_escaped(html, text_of(at, "why"));
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
	html_begin_table(html, "Partitions", names);
	for (size_t i = 0; i < count; i++)
		add_partition(html, sorted[i]);
	html_end_table(html);
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
		html_add_escaped(html, name);
		text_adds(html, " ");
		html_add_digits(html, json_integer_value(count));
		separator = ", ";
	}
	text_adds(html, separator[0] == '\0' ? "0</td>" : "</td>");
}

static void add_route(struct text *html, const json_t *route)
{
	const json_t *parked = json_object_get(route, "parked");

	text_adds(html, "<tr>");
	html_add_cell(html, "", text_of(route, "route"));
	html_add_number(html, number_of(route, "handled"));
	add_stages(html, json_object_get(route, "duplicates"));
	html_add_number(html, number_of(route, "conflicts"));
	html_add_number(html, number_of(route, "dead"));
	html_add_number(html, number_of(route, "retries"));
	html_add_number(html, number_of(parked, "waiting"));
	html_add_number(html, number_of(parked, "dead"));
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

	html_begin_table(html, "Routes, since the process started", names);
	json_array_foreach(routes, i, at) add_route(html, at);
	html_end_table(html);
}

static void add_key(struct text *html, const json_t *route, const json_t *key)
{
	text_adds(html, "<tr>");
	html_add_cell(html, "", text_of(route, "route"));
	html_add_number(html, number_of(key, "count"));
	html_add_number(html, number_of(key, "error"));
	html_add_cell(html, "", text_of(key, "key_kind"));
	html_add_cell(html, " class=\"k\"", text_of(key, "key"));
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

	html_begin_table(html, "Most repeated keys, since the process started",
			 names);
	json_array_foreach(repeated, i, route)
	{
		json_array_foreach(json_object_get(route, "keys"), k, key)
			add_key(html, route, key);
	}
	html_end_table(html);
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
	html_add_escaped(html, why);
	text_adds(html, "</pre>\n");
}

static void add_heading(struct text *html, const json_t *status)
{
	const json_t *lanes = json_object_get(status, "lanes");
	const char *prefilter =
		text_of(json_object_get(status, "prefilter"), "summary");

	text_adds(html, "<h1>onced: ");
	html_add_escaped(html, text_of(status, "group"));
	text_adds(html, "</h1>\n");
	add_readiness(html, text_of(status, "not_ready_because"));
	text_adds(html, "<p>Version ");
	html_add_escaped(html, text_of(status, "version"));
	text_addf(html, ", pid %lld, up ", number_of(status, "pid"));
	html_add_duration(html, number_of(status, "uptime_seconds"));
	text_addf(html, ", %lld of %lld lanes busy.", number_of(lanes, "busy"),
		  number_of(lanes, "count"));
	add_time(html);
	if (prefilter[0] != '\0')
		text_adds(html, " Prefilter: ");
	html_add_escaped(html, prefilter);
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
