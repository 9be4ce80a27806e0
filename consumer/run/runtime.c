/*
 * The order in which things are built is the order in which they need each
 * other; they are torn down in the reverse one. Whatever hangs on the way down
 * is left behind by ending the process: what isn't committed isn't done, and is
 * read again.
 */
#include "runtime.h"

#include "admin.h"
#include "cleaner.h"
#include "clock.h"
#include "crash.h"
#include "describe.h"
#include "error.h"
#include "exit_codes.h"
#include "identity.h"
#include "lane.h"
#include "log.h"
#include "log_event.h"
#include "numbers.h"
#include "routes.h"
#include "service_manager.h"
#include "source.h"
#include "text.h"
#include "watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	LOOK_EVERY_MS = 100,
	STOP_LOOK_EVERY_MS = 5,
	LEAVE_GRACE_MS = 1000,
	STUCK_GRACE_MS = 60000,
	STATUS_EVERY_MS = 1000
};

struct runtime {
	const struct config *cfg;
	struct routes routes;
	struct numbers *numbers;
	struct once_prefilter *prefilter; /* NULL: none */
	struct source *source;
	struct lane **lanes;
	struct mailbox **orders; /* of each lane */
	int64_t *told_ms;        /* of each lane: see watch.h */
	struct watched_redis redis;
	unsigned lane_count; /* started */
	bool unchecked;      /* the database wasn't there at the start */
	int64_t started_ms;
	struct identity identity;
	struct admin *admin;
	struct cleaner *cleaner;
	struct service_manager manager;
	int64_t told_manager_ms;
};

/* ---- what the admin pages say ---- */

static int64_t longest_call_ms(const struct config *cfg)
{
	int64_t longest = 0;

	for (size_t i = 0; i < cfg->route_count; i++)
		if (cfg->routes[i].timeout_ms > longest)
			longest = cfg->routes[i].timeout_ms;
	return longest;
}

static bool health(void *arg, struct text *why)
{
	struct runtime *runtime = arg;
	int64_t limit_ms = longest_call_ms(runtime->cfg) + STUCK_GRACE_MS;
	bool healthy = source_is_alive(runtime->source, why);

	/* Told, but a restart wouldn't help. */
	(void)source_tell_away(runtime->source, why);
	for (unsigned i = 0; i < runtime->lane_count; i++) {
		struct lane_view view;

		lane_get_view(runtime->lanes[i], &view);
		if (watch_is_late(runtime->cfg, i, &view, why))
			healthy = false;
		if (view.still_ms < limit_ms)
			continue;
		text_addf(why,
			  "lane %u: no call began and the database answered "
			  "nothing for %lld s\n",
			  i, (long long)(view.still_ms / 1000));
		healthy = false;
	}
	return healthy;
}

static bool ready(void *arg, struct text *why)
{
	struct runtime *runtime = arg;
	bool all = source_is_ready(runtime->source, why);

	for (unsigned i = 0; i < runtime->lane_count; i++) {
		struct lane_view view;

		lane_get_view(runtime->lanes[i], &view);
		text_adds(why, view.waits);
		all = all && view.waits[0] == '\0';
		if (view.database_reached)
			continue;
		text_addf(why, "lane %u can't work: %s\n", i,
			  view.trouble[0] == '\0' ? "not connected yet"
						  : view.trouble);
		all = false;
	}
	return all;
}

static void render_metrics(void *arg, bool open_metrics, struct text *page)
{
	struct runtime *runtime = arg;
	struct once_prefilter_view view;

	if (runtime->prefilter != NULL) {
		once_prefilter_get_view(runtime->prefilter, &view);
		numbers_prefilter_set(runtime->numbers, &view);
	}
	numbers_process_set(runtime->numbers);
	numbers_render(runtime->numbers, open_metrics, page);
}

static void describe(void *arg, struct text *json)
{
	struct runtime *runtime = arg;
	struct described described = {
		.cfg = runtime->cfg,
		.numbers = runtime->numbers,
		.source = runtime->source,
		.lanes = runtime->lanes,
		.lane_count = runtime->lane_count,
		.prefilter = runtime->prefilter,
		.started_ms = runtime->started_ms,
	};
	scoped_text struct text why = { 0 };
	bool is_ready = ready(runtime, &why);

	describe_process(&described, is_ready, why.size == 0 ? "" : why.data,
			 json);
}

/* ---- up ---- */

static struct numbers *create_numbers(const struct config *cfg)
{
	const char **names = calloc(cfg->route_count, sizeof(*names));
	struct numbers *numbers = NULL;

	for (size_t i = 0; names != NULL && i < cfg->route_count; i++)
		names[i] = cfg->routes[i].name;
	if (names != NULL)
		numbers = numbers_create(names, cfg->route_count, cfg->lanes,
					 source_library_version());
	free(names);
	return numbers;
}

static enum once_status create_prefilter(struct runtime *runtime,
					 struct once_error *err)
{
	struct once_prefilter_options options =
		config_prefilter_options(runtime->cfg);

	if (!config_has_prefilter(runtime->cfg))
		return ONCE_OK;
	return once_prefilter_create(&options, &runtime->prefilter, err);
}

static enum once_status start_lanes(struct runtime *runtime,
				    struct once_error *err)
{
	struct lane_options options = {
		.cfg = runtime->cfg,
		.routes = (const struct once_route *const *)
				  runtime->routes.routes,
		.numbers = runtime->numbers,
		.instance = &runtime->identity.instance,
		.prefilter = runtime->prefilter,
		.reports = source_reports(runtime->source),
		.unchecked = runtime->unchecked,
	};

	runtime->lanes = calloc(runtime->cfg->lanes, sizeof(struct lane *));
	runtime->orders = calloc(runtime->cfg->lanes, sizeof(struct mailbox *));
	runtime->told_ms = calloc(runtime->cfg->lanes, sizeof(int64_t));
	if (runtime->lanes == NULL || runtime->orders == NULL ||
	    runtime->told_ms == NULL)
		return error_no_memory(err);
	while (runtime->lane_count < runtime->cfg->lanes) {
		unsigned i = runtime->lane_count;
		enum once_status status;

		options.index = i;
		status = lane_start(&options, &runtime->lanes[i], err);
		if (status != ONCE_OK)
			return status;
		runtime->orders[i] = lane_orders(runtime->lanes[i]);
		runtime->lane_count++;
	}
	return ONCE_OK;
}

/* What it has died of, this process may die of. A database that can't say is
 * taken for one that says so. */
static bool has_crashed(const struct runtime *runtime)
{
	struct once_error err;
	int crashed = 1;

	if (once_group_has_crashed(runtime->cfg->database.conninfo,
				   &runtime->identity.instance, &crashed,
				   &err) != ONCE_OK)
		log_debug(NULL, "%s", err.text);
	return crashed != 0;
}

/* The database may come later, and is checked then, by each lane; a schema that
 * isn't ours may not. */
static enum once_status check_database(struct runtime *runtime,
				       bool *ret_careful,
				       struct once_error *err)
{
	const struct config *cfg = runtime->cfg;
	enum once_status status =
		once_database_check(cfg->database.conninfo, err);

	*ret_careful = status != ONCE_OK || has_crashed(runtime);
	if (status != ONCE_TRANSIENT)
		return status;
	log_warning(NULL, "%s; waiting for it", err->text);
	runtime->unchecked = true;
	return ONCE_OK;
}

static enum once_status start_admin(struct runtime *runtime,
				    struct once_error *err)
{
	struct admin_views views = {
		.arg = runtime,
		.health = health,
		.ready = ready,
		.metrics = render_metrics,
		.status = describe,
	};
	struct admin_options options = {
		.listen = runtime->cfg->admin.listen,
		.token = runtime->cfg->admin.token,
		.hosts = (const char *const *)runtime->cfg->admin.hosts,
		.host_count = runtime->cfg->admin.host_count,
	};

	return admin_start(&options, &views, &runtime->admin, err);
}

static enum once_status start(struct runtime *runtime, struct once_error *err)
{
	const struct config *cfg = runtime->cfg;
	struct source_options options = { .cfg = cfg };
	enum once_status status = routes_init(&runtime->routes, cfg, err);
	const char *warning = source_get_warning(cfg);

	if (warning != NULL)
		log_warning(NULL, "%s", warning);
	if (status == ONCE_OK)
		status = check_database(runtime, &options.careful, err);
	runtime->numbers = create_numbers(cfg);
	if (status == ONCE_OK && runtime->numbers == NULL)
		status = error_no_memory(err);
	options.numbers = runtime->numbers;
	if (status == ONCE_OK)
		status = source_create(&options, &runtime->source, err);
	if (status == ONCE_OK)
		status = create_prefilter(runtime, err);
	if (status == ONCE_OK)
		status = start_lanes(runtime, err);
	if (status == ONCE_OK)
		status = start_admin(runtime, err);
	if (status == ONCE_OK)
		status = cleaner_start(cfg, runtime->numbers, &runtime->cleaner,
				       err);
	/* Last: once it has begun, only a stop ends it. */
	if (status == ONCE_OK)
		status = source_start(runtime->source, runtime->orders, err);
	return status;
}

/* ---- down ---- */

static void tear_down(struct runtime *runtime)
{
	service_manager_close(&runtime->manager);
	cleaner_destroy(runtime->cleaner);
	admin_stop(runtime->admin);
	for (unsigned i = 0; i < runtime->lane_count; i++)
		lane_destroy(runtime->lanes[i]);
	free(runtime->told_ms);
	free(runtime->orders);
	free(runtime->lanes);
	once_prefilter_destroy(runtime->prefilter);
	source_destroy(runtime->source);
	numbers_destroy(runtime->numbers);
	routes_fini(&runtime->routes);
}

static int code_of_end(bool drained, enum source_ending ending)
{
	if (!drained)
		return EXIT_CODE_SLOW_STOP;
	switch (ending) {
	case SOURCE_RUNNING:
		break;
	case SOURCE_STOPPED:
		return EXIT_CODE_OK;
	case SOURCE_FENCED:
		return EXIT_CODE_FENCED;
	case SOURCE_EXPELLED:
		return EXIT_CODE_NO_SERVER;
	case SOURCE_FAILED:
		break;
	}
	return EXIT_CODE_BUG;
}

/* A signal that was blocked and is waiting; 0: none within the time. */
static int take_signal(int64_t wait_ms)
{
	struct timespec wait = { wait_ms / 1000, wait_ms % 1000 * 1000000 };
	sigset_t set;
	int taken;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	taken = sigtimedwait(&set, NULL, &wait);
	return taken < 0 ? 0 : taken;
}

static void watch(struct runtime *runtime)
{
	if (runtime->prefilter != NULL)
		watch_tell_redis(runtime->cfg, runtime->prefilter,
				 &runtime->redis);
	for (unsigned i = 0; i < runtime->lane_count; i++) {
		struct lane_view view;

		lane_get_view(runtime->lanes[i], &view);
		watch_tell(runtime->cfg, i, &view, &runtime->told_ms[i]);
	}
	log_events_on_timer(clock_ms());
}

/* The database was migrated to what takes another version of us. */
static bool is_outdated(const struct runtime *runtime)
{
	for (unsigned i = 0; i < runtime->lane_count; i++) {
		struct lane_view view;

		lane_get_view(runtime->lanes[i], &view);
		if (!view.outdated)
			continue;
		log_error(NULL, "%s", view.trouble);
		return true;
	}
	return false;
}

/* A process that doesn't move isn't told to be alive; one that moves and can't
 * work, as without its database, is. */
static void tell_manager(struct runtime *runtime)
{
	scoped_text struct text health_why = { 0 };
	scoped_text struct text why = { 0 };
	bool is_ready;

	if (service_manager_wants_ping(&runtime->manager) &&
	    health(runtime, &health_why))
		service_manager_ping(&runtime->manager);
	if (clock_ms() - runtime->told_manager_ms < STATUS_EVERY_MS)
		return;
	runtime->told_manager_ms = clock_ms();
	is_ready = ready(runtime, &why);
	service_manager_tell_status(&runtime->manager, is_ready || why.size == 0
							       ? "ready"
							       : why.data);
}

/* The exit code, if what follows goes well. */
static int run_until_told(struct runtime *runtime)
{
	while (source_ending(runtime->source) == SOURCE_RUNNING) {
		int taken = take_signal(LOOK_EVERY_MS);

		watch(runtime);
		tell_manager(runtime);
		if (is_outdated(runtime))
			return EXIT_CODE_CONFIG;
		if (taken == SIGHUP)
			log_warning(NULL, "reading the configuration again is "
					  "not available yet; restart instead");
		else if (taken != 0)
			break;
	}
	return EXIT_CODE_OK;
}

/* One step further down; false: the source, or a lane, isn't there yet. The
 * first lane is the last one: it signs off. */
static bool have_ended(struct runtime *runtime)
{
	if (source_ending(runtime->source) == SOURCE_RUNNING)
		return false;
	if (source_ending(runtime->source) != SOURCE_STOPPED)
		return true; /* at once, and so it isn't a clean end */
	for (unsigned i = runtime->lane_count; i-- > 0;) {
		lane_ask_to_stop(runtime->lanes[i], i == 0);
		if (!lane_has_ended(runtime->lanes[i]))
			return false;
	}
	return true;
}

/* false: a second signal, or it took too long. */
static bool drain(struct runtime *runtime)
{
	int64_t end_ms = clock_ms() + runtime->cfg->shutdown_timeout_ms;

	log_info(NULL, "stopping");
	service_manager_tell_stopping(&runtime->manager);
	cleaner_ask_to_stop(runtime->cleaner);
	source_stop(runtime->source);
	while (!have_ended(runtime)) {
		int taken = take_signal(STOP_LOOK_EVERY_MS);

		if ((taken == SIGTERM || taken == SIGINT) ||
		    clock_ms() > end_ms)
			return false;
	}
	return true;
}

/* NULL: nothing. Neither holds anything that somebody waits for. */
static const char *what_is_left(const struct runtime *runtime)
{
	if (!cleaner_has_ended(runtime->cleaner))
		return "the cleaner's session";
	if (!source_has_ended(runtime->source))
		return "librdkafka";
	return NULL;
}

/* All is committed and the group was left: what doesn't end by itself now, the
 * process ends without. */
static void leave_what_hangs(const struct runtime *runtime, int code)
{
	int64_t end_ms = clock_ms() + LEAVE_GRACE_MS;
	const char *what;

	while ((what = what_is_left(runtime)) != NULL) {
		if (clock_ms() > end_ms) {
			log_info(NULL,
				 "%s did not end within %d ms; the process "
				 "ends without it",
				 what, LEAVE_GRACE_MS);
			_exit(code);
		}
		take_signal(STOP_LOOK_EVERY_MS);
	}
}

int runtime_run(const struct config *cfg)
{
	struct runtime runtime = { .cfg = cfg, .started_ms = clock_ms() };
	struct once_error err = { 0 };
	enum once_status status;
	bool drained;
	int code;

	crash_init(cfg);
	identity_init(&runtime.identity, cfg->kafka.group);
	service_manager_open(&runtime.manager);
	status = start(&runtime, &err);
	if (status != ONCE_OK) {
		log_error(NULL, "%s", err.text);
		tear_down(&runtime);
		return exit_code_of(status);
	}
	log_info(LOG_FIELDS(LOG_TEXT("group", cfg->kafka.group),
			    LOG_NUMBER("lanes", cfg->lanes),
			    LOG_NUMBER("admin_port", admin_port(runtime.admin)),
			    LOG_TEXT("librdkafka", source_library_version())),
		 "onced %s runs", once_version());
	service_manager_tell_started(&runtime.manager);
	code = run_until_told(&runtime);
	drained = drain(&runtime);
	if (!drained || source_ending(runtime.source) != SOURCE_STOPPED) {
		log_events_end();
		log_error(NULL, "ending at once; what isn't committed will be "
				"read again");
		_exit(code_of_end(drained, source_ending(runtime.source)));
	}
	log_events_end();
	numbers_log_sums(runtime.numbers, "stopped");
	leave_what_hangs(&runtime, code);
	tear_down(&runtime);
	return code;
}
