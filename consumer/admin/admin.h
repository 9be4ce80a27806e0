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

/* `listen`: "127.0.0.1:9464", "[::1]:0"; "": off, and `ret_admin` is NULL. The
 * views are copied. CONFIG: the address is wrong or taken. */
enum once_status admin_start(const char *listen,
			     const struct admin_views *views,
			     struct admin **ret_admin, struct once_error *err);
/* 0: it is off. */
uint16_t admin_port(const struct admin *admin);
void admin_stop(struct admin *admin);

#endif
