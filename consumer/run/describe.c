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

/* What stands before the database: null, or an object with a "summary", one
 * line for people, and what else scripts may want. */
static void describe_prefilter(const struct described *described,
			       struct text *json)
{
	(void)described;
	text_adds(json, ",\"prefilter\":null");
}

static void describe_duplicates(const struct numbers_view *view,
				struct text *json)
{
	text_adds(json, ",\"duplicates\":{");
	for (size_t i = 0; i < view->stage_count; i++)
		text_addf(json, "%s\"%s\":%.0f", i == 0 ? "" : ",",
			  view->stages[i].name, view->stages[i].duplicates);
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

void describe_process(const struct described *described, bool ready,
		      const char *why, struct text *json)
{
	text_adds(json, "{");
	describe_self(described, json);
	text_addf(json, ",\"ready\":%s,\"not_ready_because\":",
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
