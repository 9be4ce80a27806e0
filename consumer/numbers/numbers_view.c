/* What was counted, read again. */
#include "numbers_impl.h"

#include "log.h"

static int64_t sum_of(struct numbers *numbers, enum metric family)
{
	return (int64_t)metrics_sum(numbers->metrics, family);
}

void numbers_log_sums(struct numbers *numbers, const char *text)
{
	log_info(LOG_FIELDS(
			 LOG_NUMBER("consumed",
				    sum_of(numbers, METRIC_CONSUMED)),
			 LOG_NUMBER("resumed", sum_of(numbers, METRIC_RESUMED)),
			 LOG_NUMBER("handled", sum_of(numbers, METRIC_HANDLED)),
			 LOG_NUMBER("intercepts",
				    sum_of(numbers, METRIC_INTERCEPTS)),
			 LOG_NUMBER("backstop_hits",
				    sum_of(numbers, METRIC_BACKSTOP_HITS)),
			 LOG_NUMBER("conflicts",
				    sum_of(numbers, METRIC_CONFLICTS)),
			 LOG_NUMBER("dead", sum_of(numbers, METRIC_DEAD)),
			 LOG_NUMBER("postponed",
				    sum_of(numbers, METRIC_POSTPONED)),
			 LOG_NUMBER("returned",
				    sum_of(numbers, METRIC_RETURNED))),
		 "%s", text);
}

void numbers_render(struct numbers *numbers, bool open_metrics,
		    struct text *page)
{
	metrics_render(numbers->metrics, open_metrics, page);
}

/* ---- what /status says of the routes ---- */

static double add_up(struct metric_cell *const *cells, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += metric_get(cells[i]);
	return sum;
}

void numbers_get(struct numbers *numbers, size_t route,
		 const char *const *topics, size_t topic_count,
		 struct numbers_view *ret_view)
{
	const struct route_numbers *counted = &numbers->routes[route];

	*ret_view = (struct numbers_view){
		.handled = metric_get(counted->handled),
		.conflicts = add_up(counted->conflicts, COUNT_KEYS),
		.dead = add_up(counted->dead, COUNT_CAUSES),
		.retries = add_up(counted->retries, COUNT_CAUSES),
		.postponed = metric_get(counted->postponed),
		.resumed = metric_get(counted->resumed),
		.parked_waiting = metric_get(counted->parked[0]),
		.parked_dead = metric_get(counted->parked[1]),
	};
	for (int i = 0; i < COUNT_STAGES; i++)
		ret_view->duplicates[i] =
			add_up(counted->intercepts[i], COUNT_KEYS);
	ret_view->duplicates[ONCE_STAGE_DATABASE] =
		add_up(counted->backstop_hits, COUNT_KEYS);
	for (size_t i = 0; i < topic_count; i++) {
		ret_view->consumed += metric_get(
			numbers_cell(numbers, METRIC_CONSUMED, counted->name,
				     topics[i], NULL));
		ret_view->returned += metric_get(
			numbers_cell(numbers, METRIC_RETURNED, counted->name,
				     topics[i], NULL));
	}
}

void numbers_describe_repeated(struct numbers *numbers, struct text *json)
{
	text_adds(json, "[");
	for (size_t i = 0; i < numbers->route_count; i++) {
		text_adds(json, i == 0 ? "" : ",");
		repeated_describe(numbers->repeated, i, numbers->routes[i].name,
				  json);
	}
	text_adds(json, "]");
}
