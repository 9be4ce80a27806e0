/* Cells that are counted often are found once, when a route is set up. */
#include "numbers_impl.h"

#include "clock.h"

#include <stdio.h>
#include <stdlib.h>

static const double second_bounds[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
					0.1,   0.25,   0.5,   1,    2.5,   5,
					10,    30,     60,    0 };
static const double handler_bounds[] = { 0.00001, 0.0001, 0.001, 0.01, 0.1,
					 1,       10,     60,    0 };
static const double age_bounds[] = { 0.01,  0.05,  0.1,    0.5, 1,   5,
				     10,    30,    60,     300, 900, 3600,
				     21600, 86400, 604800, 0 };
static const double message_bounds[] = { 1,   2,   5,   10,   20,   50,
					 100, 200, 500, 1000, 5000, 0 };

static const struct metric_family families[METRIC_FAMILY_COUNT] = {
#define X(id, name_, type_, bounds_, help_, ...) \
	[METRIC_##id] = { .name = (name_), \
			  .type = METRIC_##type_, \
			  .bounds = (bounds_), \
			  .help = (help_), \
			  .labels = { __VA_ARGS__ } },
	METRIC_FAMILY_TABLE(X)
#undef X
};

/* ---- setting up ---- */

static void find_staged(struct numbers *numbers, struct route_numbers *route)
{
	for (int i = 0; i < COUNT_STAGES; i++) {
		const char *stage = once_stage_word((enum once_stage)i);

		for (int kind = 0; kind < COUNT_KEYS; kind++)
			route->intercepts[i][kind] = numbers_lane_cell(
				numbers, METRIC_INTERCEPTS, route->name, stage,
				once_key_kind_word((enum once_key_kind)kind));
		if (i != ONCE_STAGE_BATCH)
			route->unproven[i] =
				numbers_lane_cell(numbers, METRIC_UNPROVEN,
						  route->name, stage, NULL);
	}
}

static void find_keyed(struct numbers *numbers, struct route_numbers *route)
{
	for (int kind = 0; kind < COUNT_KEYS; kind++) {
		const char *key = once_key_kind_word((enum once_key_kind)kind);

		route->backstop_hits[kind] = numbers_lane_cell(
			numbers, METRIC_BACKSTOP_HITS, route->name, key, NULL);
		route->conflicts[kind] = numbers_lane_cell(
			numbers, METRIC_CONFLICTS, route->name, key, NULL);
	}
}

static bool is_of_retries(enum once_cause cause)
{
	return cause == ONCE_CAUSE_ASKED || cause == ONCE_CAUSE_STATEMENT ||
	       cause == ONCE_CAUSE_TIMEOUT;
}

static bool is_of_pauses(enum once_cause cause)
{
	return cause == ONCE_CAUSE_ASKED || cause == ONCE_CAUSE_ENVIRONMENT ||
	       cause == ONCE_CAUSE_LOCKED;
}

static bool is_of_dead(enum once_cause cause)
{
	return cause != ONCE_CAUSE_NONE && cause != ONCE_CAUSE_CONFLICT &&
	       cause != ONCE_CAUSE_DEAD_ROW && !is_of_retries(cause) &&
	       !is_of_pauses(cause);
}

static void find_caused(struct numbers *numbers, struct route_numbers *route)
{
	for (int i = 0; i < COUNT_CAUSES; i++) {
		enum once_cause cause = (enum once_cause)i;
		const char *word = once_cause_word(cause);

		if (is_of_retries(cause))
			route->retries[i] =
				numbers_lane_cell(numbers, METRIC_RETRIES,
						  route->name, word, NULL);
		if (is_of_pauses(cause))
			route->paused[i] =
				numbers_lane_cell(numbers, METRIC_PAUSED,
						  route->name, word, NULL);
		if (is_of_dead(cause))
			route->dead[i] = numbers_lane_cell(
				numbers, METRIC_DEAD, route->name, word, NULL);
	}
}

static void find_log(struct numbers *numbers, struct route_numbers *route)
{
	const char *name = route->name;

	route->log_rows =
		numbers_cell(numbers, METRIC_LOG_ROWS, name, NULL, NULL);
	route->log_oldest =
		numbers_cell(numbers, METRIC_LOG_OLDEST, name, NULL, NULL);
	route->log_in_doubt =
		numbers_cell(numbers, METRIC_LOG_IN_DOUBT, name, NULL, NULL);
	route->log_overdue =
		numbers_cell(numbers, METRIC_LOG_OVERDUE, name, NULL, NULL);
	route->log_deleted =
		numbers_cell(numbers, METRIC_LOG_DELETED, name, NULL, NULL);
}

static void find_route(struct numbers *numbers, struct route_numbers *route,
		       const char *name)
{
	route->name = name;
	route->handled =
		numbers_lane_cell(numbers, METRIC_HANDLED, name, NULL, NULL);
	route->postponed =
		numbers_lane_cell(numbers, METRIC_POSTPONED, name, NULL, NULL);
	route->resumed =
		numbers_cell(numbers, METRIC_RESUMED, name, NULL, NULL);
	route->handler_seconds = numbers_lane_cell(
		numbers, METRIC_HANDLER_SECONDS, name, NULL, NULL);
	route->message_age = numbers_lane_cell(numbers, METRIC_MESSAGE_AGE,
					       name, NULL, NULL);
	route->parked[0] =
		numbers_cell(numbers, METRIC_PARKED, name, "waiting", NULL);
	route->parked[1] =
		numbers_cell(numbers, METRIC_PARKED, name, "dead", NULL);
	route->takes_turns =
		numbers_cell(numbers, METRIC_TAKES_TURNS, name, NULL, NULL);
	find_staged(numbers, route);
	find_log(numbers, route);
	find_keyed(numbers, route);
	find_caused(numbers, route);
}

static void find_lane(struct numbers *numbers, unsigned lane)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", lane);
	numbers->lanes[lane] =
		numbers_cell(numbers, METRIC_LANE_BUSY, name, NULL, NULL);
}

static void find_stages(struct numbers *numbers)
{
	static const char *const words[TIMED_COUNT] = {
#define X(id, word) [TIMED_##id] = (word),
		TIMED_STAGE_TABLE(X)
#undef X
	};

	for (int i = 0; i < TIMED_COUNT; i++)
		numbers->stages[i] = numbers_cell(numbers, METRIC_STAGE_SECONDS,
						  words[i], NULL, NULL);
}

static void find_process(struct numbers *numbers, const char *librdkafka)
{
	int version = once_libpq_version();
	char libpq[24];

	snprintf(libpq, sizeof(libpq), "%d.%d", version / 10000,
		 version % 10000);
	numbers_kafka_connected_set(numbers, false);
	metric_set(numbers_cell(numbers, METRIC_BUILD_INFO, once_version(),
				librdkafka, libpq),
		   1);
	numbers->committed = numbers_cell(numbers, METRIC_TRANSACTIONS,
					  "committed", NULL, NULL);
	numbers->rolled_back = numbers_cell(numbers, METRIC_TRANSACTIONS,
					    "rolled_back", NULL, NULL);
	numbers->unknown = numbers_cell(numbers, METRIC_TRANSACTIONS, "unknown",
					NULL, NULL);
	numbers->repeated_tries =
		numbers_cell(numbers, METRIC_REPEATED, NULL, NULL, NULL);
	numbers->transaction_seconds = numbers_cell(
		numbers, METRIC_TRANSACTION_SECONDS, NULL, NULL, NULL);
	numbers->batch_messages =
		numbers_cell(numbers, METRIC_BATCH_MESSAGES, NULL, NULL, NULL);
}

struct numbers *numbers_create(const char *const *route_names, size_t count,
			       unsigned lanes, const char *librdkafka)
{
	struct numbers *numbers = calloc(1, sizeof(*numbers));

	if (numbers == NULL)
		return NULL;
	numbers->metrics = metrics_create(families, METRIC_FAMILY_COUNT);
	numbers->routes = calloc(count, sizeof(*numbers->routes));
	numbers->repeated = repeated_create(count, lanes);
	numbers->lanes = calloc(lanes, sizeof(struct metric_cell *));
	if (numbers->metrics == NULL || numbers->routes == NULL ||
	    numbers->repeated == NULL || numbers->lanes == NULL) {
		numbers_destroy(numbers);
		return NULL;
	}
	numbers->route_count = count;
	numbers->lane_count = lanes;
	for (size_t i = 0; i < count; i++)
		find_route(numbers, &numbers->routes[i], route_names[i]);
	for (unsigned lane = 0; lane < lanes; lane++)
		find_lane(numbers, lane);
	find_stages(numbers);
	find_process(numbers, librdkafka);
	return numbers;
}

void numbers_destroy(struct numbers *numbers)
{
	if (numbers == NULL)
		return;
	metrics_destroy(numbers->metrics);
	repeated_destroy(numbers->repeated);
	free(numbers->routes);
	free(numbers->lanes);
	free(numbers);
}

/* ---- counting ---- */

void numbers_consumed(struct numbers *numbers, size_t route, const char *topic,
		      size_t count)
{
	metric_add(numbers_cell(numbers, METRIC_CONSUMED,
				numbers->routes[route].name, topic, NULL),
		   (double)count);
}

static void add_time(struct numbers *numbers, enum timed_stage stage,
		     int64_t ns)
{
	metric_add(numbers->stages[stage], (double)ns / 1e9);
}

void numbers_fetch_took(struct numbers *numbers, int64_t ns)
{
	add_time(numbers, TIMED_FETCH, ns);
}

void numbers_returned(struct numbers *numbers, size_t route, const char *topic,
		      size_t count)
{
	if (count > 0)
		metric_add(numbers_cell(numbers, METRIC_RETURNED,
					numbers->routes[route].name, topic,
					NULL),
			   (double)count);
}

static void count_duplicate(struct route_numbers *route, unsigned lane,
			    const struct once_item *item)
{
	if (item->stage == ONCE_STAGE_DATABASE)
		metric_add_by(route->backstop_hits[item->key_kind], lane, 1);
	else
		metric_add_by(route->intercepts[item->stage][item->key_kind],
			      lane, 1);
}

static void count_unproven(struct route_numbers *route, unsigned lane,
			   const struct once_item *item)
{
	for (int stage = 0; stage < COUNT_STAGES; stage++)
		if ((item->unproven & 1u << stage) != 0)
			metric_add_by(route->unproven[stage], lane, 1);
}

/* One that was parked has waited for a person or its next attempt, and one
 * without a time has no age. Kafka's clock may be ahead of ours. */
static void count_age(struct route_numbers *route, unsigned lane,
		      const struct once_item *item, int64_t now_ms)
{
	int64_t age_ms = now_ms - item->record.time_ms;

	if (item->parked || item->record.time_ms <= 0)
		return;
	metric_observe_by(route->message_age, lane,
			  age_ms > 0 ? (double)age_ms / 1e3 : 0);
}

static void count_item(struct numbers *numbers, unsigned lane,
		       struct repeated_lane *repeated,
		       const struct once_item *item, int64_t now_ms)
{
	struct route_numbers *counted = &numbers->routes[item->route];

	if (item->unproven != 0)
		count_unproven(counted, lane, item);
	switch (item->ending) {
	case ONCE_HANDLED_ENDING:
		metric_add_by(counted->handled, lane, 1);
		metric_observe_by(counted->handler_seconds, lane,
				  (double)item->handler_ns / 1e9);
		count_age(counted, lane, item, now_ms);
		break;
	case ONCE_DUPLICATE_ENDING:
		count_duplicate(counted, lane, item);
		repeated_count(repeated, item);
		break;
	case ONCE_CONFLICT_ENDING:
		metric_add_by(counted->conflicts[item->key_kind], lane, 1);
		repeated_count(repeated, item);
		break;
	case ONCE_DEAD_ENDING:
		metric_add_by(counted->dead[item->cause], lane, 1);
		break;
	case ONCE_WAITING_ENDING:
		metric_add_by(counted->postponed, lane, 1);
		metric_add_by(counted->retries[item->cause], lane, 1);
		break;
	case ONCE_RETRY_ENDING:
		metric_add_by(counted->retries[item->cause], lane, 1);
		break;
	case ONCE_PAUSED_ENDING:
		metric_add_by(counted->paused[item->cause], lane, 1);
		break;
	case ONCE_HELD_ENDING:
	case ONCE_HALTED_ENDING:
	case ONCE_PENDING_ENDING:
		break;
	}
}

/* Those that are still to come will be counted when they have ended. */
static bool is_to_come(const struct once_item *item)
{
	return item->ending == ONCE_HELD_ENDING ||
	       item->ending == ONCE_PENDING_ENDING;
}

/* What Kafka's clocks say. Not the newest of all: one message of a producer
 * whose clock is wrong is forgotten with its batch. */
static void note_source_time(struct numbers *numbers,
			     const struct once_item *items, size_t count)
{
	int64_t newest_ms = 0;

	for (size_t i = 0; i < count; i++)
		if (!items[i].parked && items[i].record.time_ms > newest_ms)
			newest_ms = items[i].record.time_ms;
	if (newest_ms > 0)
		atomic_store_explicit(&numbers->source_ms, newest_ms,
				      memory_order_relaxed);
}

void numbers_count_items(struct numbers *numbers, unsigned lane,
			 const struct once_item *items, size_t count)
{
	struct repeated_lane *repeated = repeated_hold(numbers->repeated, lane);
	int64_t now_ms = clock_unix_ms();

	for (size_t i = 0; i < count; i++)
		if (!is_to_come(&items[i]))
			count_item(numbers, lane, repeated, &items[i], now_ms);
	repeated_release(repeated);
	note_source_time(numbers, items, count);
}

int64_t numbers_source_time(const struct numbers *numbers)
{
	return atomic_load_explicit(&numbers->source_ms, memory_order_relaxed);
}

void numbers_resumed(struct numbers *numbers, size_t route)
{
	metric_add(numbers->routes[route].resumed, 1);
}

void numbers_count_run(struct numbers *numbers, unsigned lane,
		       const struct once_run_stats *stats, bool unknown,
		       double seconds, size_t messages)
{
	metric_add(numbers->committed, stats->committed);
	metric_add(numbers->rolled_back, stats->rolled_back);
	metric_add(numbers->unknown, unknown);
	metric_add(numbers->repeated_tries, stats->repeated);
	metric_add(numbers->lanes[lane], seconds);
	metric_observe(numbers->transaction_seconds, seconds);
	metric_observe(numbers->batch_messages, (double)messages);
	add_time(numbers, TIMED_KEYS, stats->keys_ns);
	add_time(numbers, TIMED_PREFILTER, stats->prefilter_ns);
	add_time(numbers, TIMED_CLAIM, stats->claim_ns);
	add_time(numbers, TIMED_HANDLER, stats->handler_ns);
	add_time(numbers, TIMED_COMMIT, stats->commit_ns);
}

bool numbers_turns_set(struct numbers *numbers, size_t route, bool takes)
{
	struct metric_cell *cell = numbers->routes[route].takes_turns;
	bool took = metric_get(cell) != 0;

	if (took != takes)
		metric_set(cell, takes);
	return took != takes;
}

void numbers_parked_set(struct numbers *numbers, size_t route,
			const struct once_parked_count *count)
{
	metric_set(numbers->routes[route].parked[0], (double)count->waiting);
	metric_set(numbers->routes[route].parked[1], (double)count->dead);
}

void numbers_log_set(struct numbers *numbers, size_t route, double rows,
		     double oldest_seconds, double overdue_seconds)
{
	const struct route_numbers *set = &numbers->routes[route];

	metric_set(set->log_rows, rows);
	metric_set(set->log_oldest, oldest_seconds);
	metric_set(set->log_overdue, overdue_seconds);
}

void numbers_log_set_in_doubt(struct numbers *numbers, size_t route,
			      bool in_doubt)
{
	metric_set(numbers->routes[route].log_in_doubt, in_doubt);
}

void numbers_log_deleted(struct numbers *numbers, size_t route, double count)
{
	metric_add(numbers->routes[route].log_deleted, count);
}

void numbers_prefilter_set(struct numbers *numbers,
			   const struct once_prefilter_view *view)
{
	struct metric_cell *errors;

	if (view == NULL)
		return;
	errors = numbers_cell(numbers, METRIC_PREFILTER_ERRORS, "redis", NULL,
			      NULL);
	metric_add(errors, (double)view->redis_errors - metric_get(errors));
	metric_set(
		numbers_cell(numbers, METRIC_CIRCUIT_OPEN, "redis", NULL, NULL),
		view->redis_open);
}
