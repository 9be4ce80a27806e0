/* A turn is one transaction of the cleaner, and now and then a look at the log
 * and a count of what is parked. After each it rests for at least as long as
 * that took. */
#include "cleaner.h"

#include "backoff.h"
#include "clock.h"
#include "error.h"
#include "log.h"
#include "log_event.h"
#include "scope.h"

#include <once/upkeep.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
	LOOK_AT_LEAST_EVERY_MS = 60000,
	LOOK_AT_MOST_EVERY_MS = 250,
	COUNT_EVERY_MS = 10000,
	FIRST_DELAY_MS = 1000,
	MOST_DELAY_MS = 60000
};

struct cleaner {
	const struct config *cfg;
	struct numbers *numbers;
	const char **scopes;              /* of the routes */
	struct once_parked_place *places; /* of the routes */
	struct once_clock_seen *clocks;   /* of the scopes; the session's */
	bool *in_doubt;                   /* of the scopes; its own thread's */
	int64_t look_every_ms;

	pthread_t thread;
	pthread_mutex_t mutex; /* for the nap */
	pthread_cond_t told;
	bool stopping; /* under the mutex */
	atomic_bool ended;

	/* its own thread's */
	struct once_cleaner *once; /* NULL: not connected */
	int64_t next_look_ms;
	int64_t next_count_ms;
	int64_t next_round_ms;
	unsigned failures; /* in a row */
	struct log_party failing;
};

/* ---- a turn ---- */

static void take_reading(void *arg, const struct once_log_reading *reading)
{
	struct cleaner *cleaner = arg;

	if (reading->known)
		numbers_log_set(cleaner->numbers, reading->index,
				(double)reading->rows,
				reading->oldest_ms < 0
					? 0
					: (double)reading->oldest_ms / 1000,
				(double)reading->overdue_ms / 1000);
}

static enum once_status look(struct cleaner *cleaner, struct once_error *err)
{
	if (clock_ms() < cleaner->next_look_ms)
		return ONCE_OK;
	cleaner->next_look_ms = clock_ms() + cleaner->look_every_ms;
	return once_cleaner_read(cleaner->once, take_reading, cleaner, err);
}

static enum once_status count_parked(struct cleaner *cleaner,
				     struct once_error *err)
{
	size_t count = cleaner->cfg->route_count;
	scoped_free struct once_parked_count *counts = NULL;
	int64_t began_ms = clock_ms();
	enum once_status status;

	if (began_ms < cleaner->next_count_ms)
		return ONCE_OK;
	counts = calloc(count, sizeof(*counts));
	if (counts == NULL)
		return error_no_memory(err);
	status = once_cleaner_count_parked(cleaner->once, cleaner->places,
					   count, counts, err);
	cleaner->next_count_ms =
		clock_ms() + COUNT_EVERY_MS + clock_ms() - began_ms;
	for (size_t i = 0; status == ONCE_OK && i < count; i++)
		numbers_parked_set(cleaner->numbers, i, &counts[i]);
	return status;
}

static int64_t tell_source_time(void *arg)
{
	const struct cleaner *cleaner = arg;

	return numbers_source_time(cleaner->numbers);
}

static enum once_status open_session(struct cleaner *cleaner,
				     struct once_error *err)
{
	const struct once_cleaner_options options = {
		.conninfo = cleaner->cfg->database.conninfo,
		.application_name = "onced cleaner",
		.scopes = cleaner->scopes,
		.scope_count = cleaner->cfg->route_count,
		.retention_ms = cleaner->cfg->retention_ms,
		.clocks = cleaner->clocks,
		.source_time = tell_source_time,
		.source_arg = cleaner,
	};

	if (cleaner->once != NULL)
		return ONCE_OK;
	cleaner->next_look_ms = 0;
	cleaner->next_count_ms = 0;
	return once_cleaner_open(&options, &cleaner->once, err);
}

/* Once, not each minute. */
static void tell_doubt(struct cleaner *cleaner,
		       const struct once_clean_step *step)
{
	const char *route = cleaner->cfg->routes[step->scope].name;
	bool before = cleaner->in_doubt[step->scope];

	cleaner->in_doubt[step->scope] = step->in_doubt != 0;
	numbers_log_set_in_doubt(cleaner->numbers, step->scope,
				 step->in_doubt != 0);
	if (step->in_doubt && !before)
		log_warning(LOG_FIELDS(LOG_TEXT("route", route)),
			    "the log isn't cleaned now: %s", step->doubt);
	else if (before && !step->in_doubt)
		log_info(LOG_FIELDS(LOG_TEXT("route", route)),
			 "the log is cleaned again");
}

static enum once_status step(struct cleaner *cleaner, bool *ret_done,
			     struct once_error *err)
{
	struct once_clean_step step = { 0 };
	enum once_status status = once_cleaner_step(cleaner->once, &step, err);

	*ret_done = step.round_done;
	if (status == ONCE_OK && step.scope_done && !step.busy)
		tell_doubt(cleaner, &step);
	if (status != ONCE_OK || step.removed == 0)
		return status;
	numbers_log_deleted(cleaner->numbers, step.scope, (double)step.removed);
	if (step.scope_done)
		cleaner->next_look_ms = 0; /* the backlog is gone */
	log_debug(LOG_FIELDS(LOG_TEXT("route",
				      cleaner->cfg->routes[step.scope].name),
			     LOG_NUMBER("rows", step.removed),
			     LOG_NUMBER("ms", step.took_ms)),
		  "removed from the log what is older than the retention");
	return ONCE_OK;
}

static int64_t fail(struct cleaner *cleaner, const struct once_error *err)
{
	const char *state = err->sqlstate[0] == '\0' ? NULL : err->sqlstate;
	int64_t wait_ms;

	once_cleaner_close(cleaner->once);
	cleaner->once = NULL;
	cleaner->failures++;
	wait_ms = backoff_ms(cleaner->failures, FIRST_DELAY_MS, MOST_DELAY_MS);
	log_event_meet(&cleaner->failing, "cleaner", LOG_LEVEL_WARNING,
		       LOG_FIELDS(LOG_TEXT("sqlstate", state),
				  LOG_NUMBER("attempt", cleaner->failures),
				  LOG_NUMBER("next_ms", wait_ms)),
		       "could not clean the consume log: %s", err->text);
	return wait_ms;
}

/* A part of a round, or the begin of the next. */
static enum once_status clean(struct cleaner *cleaner, struct once_error *err)
{
	bool done = false;
	enum once_status status = ONCE_OK;

	if (clock_ms() < cleaner->next_round_ms)
		return ONCE_OK;
	status = look(cleaner, err);
	if (status == ONCE_OK)
		status = step(cleaner, &done, err);
	if (status == ONCE_OK && done)
		status = look(cleaner, err);
	if (status == ONCE_OK && done)
		cleaner->next_round_ms = clock_ms() + cleaner->look_every_ms;
	return status;
}

/* How long to rest after it. */
static int64_t take_turn(struct cleaner *cleaner)
{
	int64_t began_ms = clock_ms();
	int64_t took_ms;
	int64_t next_ms;
	struct once_error err = { 0 };
	enum once_status status = open_session(cleaner, &err);

	if (status == ONCE_OK)
		status = count_parked(cleaner, &err);
	if (status == ONCE_OK)
		status = clean(cleaner, &err);
	if (status != ONCE_OK)
		return fail(cleaner, &err);
	log_event_leave(&cleaner->failing, NULL,
			"the consume log is cleaned again");
	cleaner->failures = 0;
	took_ms = clock_ms() - began_ms;
	next_ms = cleaner->next_round_ms < cleaner->next_count_ms
			  ? cleaner->next_round_ms
			  : cleaner->next_count_ms;
	return next_ms - clock_ms() > took_ms ? next_ms - clock_ms()
					      : took_ms + 1;
}

/* ---- the thread ---- */

/* false: it is to stop. */
static bool nap(struct cleaner *cleaner, int64_t ms)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&cleaner->mutex);
	int64_t end_ns = clock_ns() + ms * 1000000;
	struct timespec end = { end_ns / 1000000000, end_ns % 1000000000 };
	int waited = 0;

	(void)held;
	while (!cleaner->stopping && waited == 0)
		waited = pthread_cond_timedwait(&cleaner->told, &cleaner->mutex,
						&end);
	return !cleaner->stopping;
}

static void *run_cleaner(void *arg)
{
	struct cleaner *cleaner = arg;

	while (nap(cleaner, take_turn(cleaner)))
		continue;
	once_cleaner_close(cleaner->once);
	atomic_store(&cleaner->ended, true);
	return NULL;
}

/* ---- start and stop ---- */

static int64_t look_every_ms(const struct config *cfg)
{
	int64_t every_ms = cfg->retention_ms / 4;

	if (cfg->retention_ms < 0 || every_ms > LOOK_AT_LEAST_EVERY_MS)
		return LOOK_AT_LEAST_EVERY_MS;
	return every_ms < LOOK_AT_MOST_EVERY_MS ? LOOK_AT_MOST_EVERY_MS
						: every_ms;
}

static void destroy(struct cleaner *cleaner)
{
	pthread_cond_destroy(&cleaner->told);
	pthread_mutex_destroy(&cleaner->mutex);
	free(cleaner->in_doubt);
	free(cleaner->clocks);
	free(cleaner->places);
	free(cleaner->scopes);
	free(cleaner);
}

static void init(struct cleaner *cleaner, const struct config *cfg,
		 struct numbers *numbers)
{
	pthread_condattr_t monotonic;

	cleaner->cfg = cfg;
	cleaner->numbers = numbers;
	cleaner->look_every_ms = look_every_ms(cfg);
	for (size_t i = 0; i < cfg->route_count; i++) {
		const struct route_config *route = &cfg->routes[i];

		cleaner->scopes[i] = route->scope;
		cleaner->places[i] = (struct once_parked_place){
			route->scope, cfg->kafka.group, route->name
		};
	}
	pthread_mutex_init(&cleaner->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&cleaner->told, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

enum once_status cleaner_start(const struct config *cfg,
			       struct numbers *numbers,
			       struct cleaner **ret_cleaner,
			       struct once_error *err)
{
	struct cleaner *cleaner = calloc(1, sizeof(*cleaner));

	if (cleaner == NULL)
		return error_no_memory(err);
	cleaner->scopes = calloc(cfg->route_count, sizeof(const char *));
	cleaner->places = calloc(cfg->route_count, sizeof(*cleaner->places));
	cleaner->clocks = calloc(cfg->route_count, sizeof(*cleaner->clocks));
	cleaner->in_doubt = calloc(cfg->route_count, sizeof(bool));
	if (cleaner->scopes == NULL || cleaner->places == NULL ||
	    cleaner->clocks == NULL || cleaner->in_doubt == NULL) {
		free(cleaner->places);
		free(cleaner->in_doubt);
		free(cleaner->clocks);
		free(cleaner->scopes);
		free(cleaner);
		return error_no_memory(err);
	}
	init(cleaner, cfg, numbers);
	if (pthread_create(&cleaner->thread, NULL, run_cleaner, cleaner) != 0) {
		destroy(cleaner);
		return error_set(err, ONCE_TRANSIENT,
				 "could not start a thread");
	}
	*ret_cleaner = cleaner;
	return ONCE_OK;
}

void cleaner_ask_to_stop(struct cleaner *cleaner)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&cleaner->mutex);

	(void)held;
	cleaner->stopping = true;
	pthread_cond_signal(&cleaner->told);
}

bool cleaner_has_ended(const struct cleaner *cleaner)
{
	return atomic_load(&cleaner->ended);
}

void cleaner_destroy(struct cleaner *cleaner)
{
	if (cleaner == NULL)
		return;
	cleaner_ask_to_stop(cleaner);
	pthread_join(cleaner->thread, NULL);
	destroy(cleaner);
}
