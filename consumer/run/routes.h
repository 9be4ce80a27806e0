/* routes.h - the configuration's handlers as libonce's routes. */
#ifndef ONCED_ROUTES_H
#define ONCED_ROUTES_H

#include "config.h"

struct routes {
	struct once_route **routes; /* as cfg->routes */
	size_t count;
};

/* Load the plugins and compile the templates. Threads: main. All zero first;
 * fini also after a failure. */
enum once_status routes_init(struct routes *routes, const struct config *cfg,
			     struct once_error *err);
void routes_fini(struct routes *routes);

/* Try each in a child process; every fault is told, as a line about the file at
 * `path`. */
typedef void routes_fault_f(void *arg, const char *line);
void routes_check(const struct config *cfg, const char *path,
		  routes_fault_f *told, void *arg);

#endif
