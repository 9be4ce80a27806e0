/*
 * service_manager.h - what systemd is told of this process, if it has started
 * it with Type=notify: that it has started, that it stops, a line for
 * "systemctl status", and the pings of WatchdogSec. Without systemd nothing is
 * told.
 *
 * Source: sd_notify(3), which describes the protocol and calls it stable.
 * Threads: main.
 */
#ifndef ONCED_SERVICE_MANAGER_H
#define ONCED_SERVICE_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

struct service_manager {
	int fd;                /* -1: nobody is told */
	int64_t ping_every_ms; /* 0: no pings are asked for */
	int64_t pinged_at_ms;
	char status[256]; /* told last */
};

/* Takes what concerns us out of the environment, so that no child of ours and
 * no handler speaks for us. Before other threads start. */
void service_manager_open(struct service_manager *manager);
void service_manager_close(struct service_manager *manager);

void service_manager_tell_started(struct service_manager *manager);
void service_manager_tell_stopping(struct service_manager *manager);

/* Is the next ping due? It is sent by service_manager_ping(), which belongs to
 * a process that moves; without it systemd ends the process. */
bool service_manager_wants_ping(const struct service_manager *manager);
void service_manager_ping(struct service_manager *manager);

/* The first line of it, readable, if that isn't what was told last. */
void service_manager_tell_status(struct service_manager *manager,
				 const char *text);

#endif
