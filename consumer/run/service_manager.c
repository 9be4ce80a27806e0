/* One datagram for each thing that is told; what the manager doesn't take at
 * once is lost, for nothing here may wait. */
#include "service_manager.h"

#include "bytes.h"
#include "clock.h"
#include "readable.h"
#include "text.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	STATUS_CHARACTERS = 150,
	PINGS_IN_A_SPAN = 3
};

/* ---- to whom ---- */

/* A path, or a name without one, which begins with "@". */
static int connect_to(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t size = strlen(name);
	socklen_t length =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
	int fd;

	if ((name[0] != '/' && name[0] != '@') ||
	    size >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, name, size);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd != -1 &&
	    connect(fd, (const struct sockaddr *)&address, length) == 0)
		return fd;
	if (fd != -1)
		close(fd);
	return -1;
}

/* 0: none are asked for, or of another process. */
static int64_t get_ping_span_ms(void)
{
	const char *span_us = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");

	if (span_us == NULL ||
	    (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoll(span_us, NULL, 10) / 1000;
}

void service_manager_open(struct service_manager *manager)
{
	const char *name = getenv("NOTIFY_SOCKET");

	*manager = (struct service_manager){ .fd = -1 };
	if (name != NULL)
		manager->fd = connect_to(name);
	if (manager->fd != -1)
		manager->ping_every_ms = get_ping_span_ms() / PINGS_IN_A_SPAN;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void service_manager_close(struct service_manager *manager)
{
	if (manager->fd != -1)
		close(manager->fd);
	manager->fd = -1;
}

/* ---- what ---- */

static void tell(const struct service_manager *manager, const char *what)
{
	if (manager->fd != -1 && send(manager->fd, what, strlen(what),
				      MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return; /* it isn't ours to mend */
}

void service_manager_tell_started(struct service_manager *manager)
{
	tell(manager, "READY=1");
}

void service_manager_tell_stopping(struct service_manager *manager)
{
	tell(manager, "STOPPING=1");
	service_manager_tell_status(manager, "stopping");
}

bool service_manager_wants_ping(const struct service_manager *manager)
{
	return manager->ping_every_ms > 0 &&
	       clock_ms() - manager->pinged_at_ms >= manager->ping_every_ms;
}

void service_manager_ping(struct service_manager *manager)
{
	tell(manager, "WATCHDOG=1");
	manager->pinged_at_ms = clock_ms();
}

void service_manager_tell_status(struct service_manager *manager,
				 const char *text)
{
	scoped_text struct text line = { 0 };

	if (manager->fd == -1)
		return;
	text_adds(&line, "STATUS=");
	readable_add(&line, bytes_of(text, strcspn(text, "\n")),
		     STATUS_CHARACTERS);
	if (line.broken || strcmp(line.data, manager->status) == 0)
		return;
	snprintf(manager->status, sizeof(manager->status), "%s", line.data);
	tell(manager, line.data);
}
