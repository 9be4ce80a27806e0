/*
 * admin.h - onced seen from outside, over HTTP: /metrics, /healthz, /readyz,
 * /status.
 *
 * Threads: main starts and stops it; the views are called on *admin*.
 */
#ifndef ONCED_ADMIN_H
#define ONCED_ADMIN_H

#include <once/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admin;
struct text;

/* true: all is well. Else a line for each thing that isn't, in `why`. */
typedef bool admin_check_f(void *arg, struct text *why);
typedef void admin_metrics_f(void *arg, bool open_metrics, struct text *page);
typedef void admin_status_f(void *arg, struct text *json);

struct admin_views {
	void *arg;
	admin_check_f *health;
	admin_check_f *ready;
	admin_metrics_f *metrics;
	admin_status_f *status;
};

/* Borrowed until it is stopped. */
struct admin_options {
	const char *listen;       /* "127.0.0.1:9464", "[::1]:0"; "": off */
	const char *token;        /* NULL or "": none is asked for */
	const char *const *hosts; /* names in the Host header to be served,
				   * besides localhost and that of `listen` */
	size_t host_count;
};

/* It is off: `ret_admin` is NULL. The views are copied. CONFIG: the address is
 * wrong or taken. */
enum once_status admin_start(const struct admin_options *options,
			     const struct admin_views *views,
			     struct admin **ret_admin, struct once_error *err);
/* 0: it is off. */
uint16_t admin_port(const struct admin *admin);
void admin_stop(struct admin *admin);

#endif
