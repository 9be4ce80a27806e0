/* plugin.h - handlers out of shared objects. A loaded one is never unloaded. */
#ifndef ONCED_PLUGIN_H
#define ONCED_PLUGIN_H

#include <once/once.h>

/* Threads: main. CONFIG: a sentence that says what is wrong with the file. The
 * descriptor lives as long as the process. */
enum once_status plugin_load(const char *path,
			     const struct once_handler **ret_handler,
			     struct once_error *err);

/* The same in a child process, with open() and close(): a plugin that crashes
 * or aborts is reported, and harms nobody. */
enum once_status plugin_try(const char *path,
			    const struct once_route_options *options,
			    struct once_error *err);

#endif
