/* From the file's words to libonce's options. */
#include "routes.h"

#include "error.h"
#include "plugin.h"
#include "text.h"

#include <stdlib.h>

static struct once_route_options options_of(const struct route_config *cfg)
{
	struct once_route_options options = {
		.name = cfg->name,
		.scope = cfg->scope,
		.msg_id = cfg->msg_id,
		.biz_id = cfg->biz_id,
		.fingerprint = cfg->fingerprint,
		.on_bad_key = cfg->on_bad_key,
		.on_conflict = cfg->on_conflict,
		.order = cfg->order,
		.max_attempts = cfg->retry.max_attempts,
		.first_delay_ms = cfg->retry.first_delay_ms,
		.max_delay_ms = cfg->retry.max_delay_ms,
		.max_crashes = cfg->retry.max_crashes,
		.halt_after_dead = cfg->halt_after_dead,
		.never = (const char *const *)cfg->retry.never,
		.never_count = cfg->retry.never_count,
		.timeout_ms = cfg->timeout_ms,
		.settings = (const char *const *)cfg->settings,
		.setting_count = cfg->setting_count,
	};

	return options;
}

static enum once_status make_route(const struct route_config *cfg,
				   struct once_route **ret_route,
				   struct once_error *err)
{
	struct once_route_options options = options_of(cfg);
	enum once_status status =
		plugin_load(cfg->plugin, &options.handler, err);

	if (status == ONCE_OK)
		status = once_route_create(&options, ret_route, err);
	if (status != ONCE_OK)
		error_prefix(err, "handler \"%s\"", cfg->name);
	return status;
}

enum once_status routes_init(struct routes *routes, const struct config *cfg,
			     struct once_error *err)
{
	enum once_status status = ONCE_OK;

	routes->routes = calloc(cfg->route_count, sizeof(struct once_route *));
	if (routes->routes == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < cfg->route_count && status == ONCE_OK; i++) {
		status = make_route(&cfg->routes[i], &routes->routes[i], err);
		routes->count = i + 1;
	}
	return status;
}

void routes_fini(struct routes *routes)
{
	for (size_t i = 0; i < routes->count; i++)
		once_route_destroy(routes->routes[i]);
	free(routes->routes);
}

void routes_check(const struct config *cfg, const char *path,
		  routes_fault_f *told, void *arg)
{
	for (size_t i = 0; i < cfg->route_count; i++) {
		const struct route_config *route = &cfg->routes[i];
		struct once_route_options options = options_of(route);
		scoped_text struct text line = { 0 };
		struct once_error err;

		if (plugin_try(route->plugin, &options, &err) == ONCE_OK)
			continue;
		text_addf(&line, "%s:%d: handler \"%s\": %s", path, route->line,
			  route->name, err.text);
		told(arg, line.data == NULL ? err.text : line.data);
	}
}
