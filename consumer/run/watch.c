/* A thread can't be stopped from outside, so nothing is done to a handler that
 * doesn't return: its statements are cut by the database, its session too when
 * it is silent for long, and people are told. */
#include "watch.h"

#include "clock.h"
#include "log.h"
#include "log_event.h"
#include "text.h"

static int64_t late_by_ms(const struct config *cfg,
			  const struct once_current_call *call)
{
	if (call->began_ms == 0 || call->route >= cfg->route_count)
		return 0;
	return clock_ms() - call->began_ms -
	       cfg->routes[call->route].timeout_ms;
}

bool watch_is_late(const struct config *cfg, unsigned index,
		   const struct lane_view *view, struct text *why)
{
	const struct once_current_call *call = &view->call;

	if (late_by_ms(cfg, call) <= 0)
		return false;
	text_addf(why,
		  "lane %u: the handler of \"%s\" hasn't returned for %lld s "
		  "(message %lld of %s[%d])\n",
		  index, cfg->routes[call->route].name,
		  (long long)((clock_ms() - call->began_ms) / 1000),
		  (long long)call->offset, call->topic, (int)call->partition);
	return true;
}

void watch_tell(const struct config *cfg, unsigned index,
		const struct lane_view *view, int64_t *told_ms)
{
	const struct once_current_call *call = &view->call;

	if (late_by_ms(cfg, call) <= 0 || call->began_ms == *told_ms)
		return;
	*told_ms = call->began_ms;
	log_error(LOG_FIELDS(LOG_NUMBER("lane", index),
			     LOG_TEXT("route", cfg->routes[call->route].name),
			     LOG_TEXT("topic", call->topic),
			     LOG_NUMBER("partition", call->partition),
			     LOG_NUMBER("offset", call->offset)),
		  "the handler hasn't returned within its timeout of %lld ms; "
		  "the database will roll back what it does",
		  (long long)cfg->routes[call->route].timeout_ms);
}

void watch_tell_redis(const struct config *cfg,
		      const struct once_prefilter *prefilter,
		      struct watched_redis *redis)
{
	bool waits = cfg->prefilter.redis_on_unavailable == UNAVAILABLE_PAUSE;
	struct once_prefilter_view view;

	once_prefilter_get_view(prefilter, &view);
	if (view.redis_open && view.redis_errors != redis->errors)
		log_event_meet(&redis->party, "redis", LOG_LEVEL_WARNING,
			       LOG_FIELDS(LOG_NUMBER(
				       "errors", (int64_t)view.redis_errors)),
			       "Redis is unavailable, %s: %s",
			       waits ? "and messages wait for it"
				     : "and is passed over",
			       view.redis_trouble);
	else if (!view.redis_open)
		log_event_leave(&redis->party, NULL, "Redis answers again");
	redis->errors = view.redis_errors;
}
