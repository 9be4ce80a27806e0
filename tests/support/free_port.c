/*
 * free_port.c - ports for servers.
 *
 * The idea: nobody can reserve a port for another process, so two test runs may
 * choose the same one. A start at a place of the process's own makes that rare,
 * and a server that can't bind says so.
 */
#include "free_port.h"

#include <arpa/inet.h>
#include <clock.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_PORT 10240
#define PORT_COUNT 20480
#define TRIES 1000

static bool is_free(int port)
{
	struct sockaddr_in address = { 0 };
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int bound;

	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	close(fd);
	return bound == 0;
}

/* `count` ports in such steps. */
static bool are_free(int port, int count, int step)
{
	int last = port + (count - 1) * step;

	if (last >= FIRST_PORT + PORT_COUNT)
		return false;
	for (; port <= last; port += step) {
		if (!is_free(port))
			return false;
	}
	return true;
}

static int find(int count, int step)
{
	uint64_t state = (uint64_t)clock_ns() ^ (uint64_t)getpid() << 32;

	for (int try = 0; try < TRIES; try++) {
		int port;

		state = state * 6364136223846793005u + 1442695040888963407u;
		port = FIRST_PORT + (int)((state >> 33) % PORT_COUNT);
		if (are_free(port, count, step))
			return port;
	}
	return -1;
}

int free_port_find(int count)
{
	return find(count, 1);
}

int free_port_find_pair(int distance)
{
	return find(2, distance);
}
