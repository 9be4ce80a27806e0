/* Names are looked up, and the first address that can be had is taken. */
#include "admin_listen.h"

#include "error.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PORT_SIZE = 8,
	/* A connection that finds no room here tries again after a second. */
	MOST_WAITING = 1024
};

/* getaddrinfo() would take 99999, and listen on 34463. */
static bool is_port(const char *text)
{
	size_t size = strspn(text, "0123456789");

	return size > 0 && size <= 5 && text[size] == '\0' &&
	       strtoul(text, NULL, 10) <= UINT16_MAX;
}

/* "host:port" or "[host]:port" in two. */
static enum once_status split_address(const char *listen,
				      char host[LISTEN_HOST_SIZE],
				      char port[PORT_SIZE],
				      struct once_error *err)
{
	const char *colon = strrchr(listen, ':');
	size_t size = colon == NULL ? 0 : (size_t)(colon - listen);

	if (colon == NULL || size >= LISTEN_HOST_SIZE || !is_port(colon + 1))
		return error_set(err, ONCE_CONFIG,
				 "admin.listen \"%s\" isn't host:port; write "
				 "127.0.0.1:9464",
				 listen);
	if (listen[0] == '[' && size >= 2 && listen[size - 1] == ']') {
		listen++;
		size -= 2;
	}
	memcpy(host, listen, size);
	host[size] = '\0';
	memcpy(port, colon + 1, strlen(colon + 1) + 1);
	return ONCE_OK;
}

static int listen_on(const struct addrinfo *address)
{
	int fd = socket(address->ai_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 &&
	    listen(fd, MOST_WAITING) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The first that works: where there is no IPv6, "localhost" may still be ::1.
 */
static int listen_on_any(const struct addrinfo *found)
{
	int fd = -1;

	for (; found != NULL && fd < 0; found = found->ai_next)
		fd = listen_on(found);
	return fd;
}

enum once_status listen_open(const char *listen, int *ret_fd,
			     char ret_host[LISTEN_HOST_SIZE],
			     struct once_error *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE };
	struct addrinfo *found = NULL;
	char port[PORT_SIZE];
	enum once_status status = split_address(listen, ret_host, port, err);
	int error;

	if (status != ONCE_OK)
		return status;
	error = getaddrinfo(ret_host[0] == '\0' ? NULL : ret_host, port, &hints,
			    &found);
	if (error != 0)
		return error_set(err, ONCE_CONFIG,
				 "admin.listen \"%s\" is no address: %s",
				 listen, gai_strerror(error));
	*ret_fd = listen_on_any(found);
	error = errno;
	freeaddrinfo(found);
	if (*ret_fd >= 0)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "could not listen on \"%s\": %s; set admin.listen to "
			 "another port, or to \"\" to turn it off",
			 listen, strerror(error));
}

uint16_t listen_port(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char port[PORT_SIZE] = "0";

	if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		(void)getnameinfo((struct sockaddr *)&address, size, NULL, 0,
				  port, sizeof(port), NI_NUMERICSERV);
	return (uint16_t)strtoul(port, NULL, 10);
}
