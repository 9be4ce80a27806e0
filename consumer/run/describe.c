/* Each member of the object is written by the one function of its name. */
#include "describe.h"

#include "bytes.h"
#include "clock.h"
#include "lane.h"
#include "numbers.h"
#include "source.h"
#include "text.h"

#include <unistd.h>

static void describe_self(const struct described *described, struct text *json)
{
	int64_t up_ms = clock_ms() - described->started_ms;

	text_addf(json, "\"version\":\"%s\",\"pid\":%d,\"uptime_seconds\":%lld",
		  once_version(), (int)getpid(), (long long)(up_ms / 1000));
	text_adds(json, ",\"group\":");
	text_add_json(json, bytes_text(described->cfg->kafka.group));
}

static void describe_lanes(const struct described *described, struct text *json)
{
	unsigned busy = 0;

	for (unsigned i = 0; i < described->lane_count; i++) {
		struct lane_view view;

		lane_get_view(described->lanes[i], &view);
		busy += view.busy_ms > 0;
	}
	text_addf(json, ",\"lanes\":{\"count\":%u,\"busy\":%u}",
		  described->lane_count, busy);
}

/* ---- what stands before the database ---- */

/* A line for people. The URL isn't in it: it may have a password. */
static void add_summary(const struct prefilter_config *cfg,
			const struct once_prefilter_view *view,
			struct text *summary)
{
	if (cfg->local_max_bytes > 0)
		text_addf(summary, "local, up to %.1f MiB",
			  (double)cfg->local_max_bytes / (1024 * 1024));
	if (cfg->redis_url[0] == '\0')
		return;
	text_addf(summary, "%sredis, %s", summary->size == 0 ? "" : "; ",
		  view->redis_open ? "not asked now" : "asked");
	if (view->redis_errors > 0)
		text_addf(summary, ", %llu errors, the last: %s",
			  (unsigned long long)view->redis_errors,
			  view->redis_trouble);
}

/* null, or what people and scripts may want to know. */
static void describe_prefilter(const struct described *described,
			       struct text *json)
{
	const struct prefilter_config *cfg = &described->cfg->prefilter;
	scoped_text struct text summary = { 0 };
	struct once_prefilter_view view;

	text_adds(json, ",\"prefilter\":");
	if (described->prefilter == NULL) {
		text_adds(json, "null");
		return;
	}
	once_prefilter_get_view(described->prefilter, &view);
	add_summary(cfg, &view, &summary);
	text_adds(json, "{\"summary\":");
	text_add_json(json, bytes_of(summary.data, summary.size));
	text_addf(json,
		  ",\"local_max_bytes\":%zu,\"redis\":%s,\"redis_open\":%s,"
		  "\"redis_errors\":%llu,\"redis_trouble\":",
		  cfg->local_max_bytes,
		  cfg->redis_url[0] == '\0' ? "false" : "true",
		  view.redis_open ? "true" : "false",
		  (unsigned long long)view.redis_errors);
	text_add_json(json, bytes_text(view.redis_trouble));
	text_adds(json, "}");
}

/* ---- routes ---- */

static void describe_duplicates(const struct numbers_view *view,
				struct text *json)
{
	text_adds(json, ",\"duplicates\":{");
	for (int i = 0; i <= ONCE_STAGE_DATABASE; i++)
		text_addf(json, "%s\"%s\":%.0f", i == 0 ? "" : ",",
			  once_stage_word((enum once_stage)i),
			  view->duplicates[i]);
	text_adds(json, "}");
}

static void describe_route(const struct numbers_view *view, const char *name,
			   struct text *json)
{
	text_adds(json, "{\"route\":");
	text_add_json(json, bytes_text(name));
	text_addf(json, ",\"consumed\":%.0f,\"returned\":%.0f,\"handled\":%.0f",
		  view->consumed, view->returned, view->handled);
	describe_duplicates(view, json);
	text_addf(json,
		  ",\"conflicts\":%.0f,\"dead\":%.0f,\"retries\":%.0f,"
		  "\"postponed\":%.0f,\"resumed\":%.0f,"
		  "\"parked\":{\"waiting\":%.0f,\"dead\":%.0f}}",
		  view->conflicts, view->dead, view->retries, view->postponed,
		  view->resumed, view->parked_waiting, view->parked_dead);
}

static void describe_routes(const struct described *described,
			    struct text *json)
{
	text_adds(json, ",\"routes\":[");
	for (size_t i = 0; i < described->cfg->route_count; i++) {
		const struct route_config *route = &described->cfg->routes[i];
		struct numbers_view view;

		numbers_get(described->numbers, i,
			    (const char *const *)route->topics,
			    route->topic_count, &view);
		text_adds(json, i == 0 ? "" : ",");
		describe_route(&view, route->name, json);
	}
	text_adds(json, "]");
}

/* ---- the whole ---- */

void describe_process(const struct described *described, bool ready,
		      const char *why, struct text *json)
{
	text_adds(json, "{");
	describe_self(described, json);
	text_addf(json,
		  ",\"kafka_connected\":%s,\"ready\":%s,"
		  "\"not_ready_because\":",
		  source_is_connected(described->source) ? "true" : "false",
		  ready ? "true" : "false");
	text_add_json(json, bytes_text(why));
	describe_lanes(described, json);
	describe_prefilter(described, json);
	text_adds(json, ",\"partitions\":");
	source_describe(described->source, json);
	describe_routes(described, json);
	text_adds(json, ",\"repeated\":");
	numbers_describe_repeated(described->numbers, json);
	text_adds(json, "}\n");
}
