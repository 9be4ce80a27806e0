/*
 * redis_server.c - a Redis of one's own.
 *
 * The idea: it has no state that outlives it, so that a killed one and a
 * stopped one are the same.
 */
#include "redis_server.h"

#include "free_port.h"

#include <arpa/inet.h>
#include <error.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define START_MS 20000
#define ANSWER_SECONDS 1

enum once_status redis_server_create(struct redis_server *server,
				     struct once_error *err)
{
	memset(&server->process, 0, sizeof(server->process));
	if (temp_dir_init(&server->dir, err) != ONCE_OK ||
	    temp_dir_path(server->log, server->dir.path, "log", err) != ONCE_OK)
		return err->status;
	if (system("command -v redis-server >/dev/null") != 0)
		return error_set(err, ONCE_CONFIG, "there is no redis-server");
	server->port = free_port_find(1);
	if (server->port == -1)
		return error_set(err, ONCE_TRANSIENT, "no port is free");
	snprintf(server->url, sizeof(server->url), "redis://127.0.0.1:%d/0",
		 server->port);
	return redis_server_start(server, err);
}

static bool says_pong(int fd)
{
	static const char ping[] = "PING\r\n";
	static const char pong[] = "+PONG\r\n";
	char answer[sizeof(pong)] = "";

	return send(fd, ping, sizeof(ping) - 1, MSG_NOSIGNAL) != -1 &&
	       recv(fd, answer, sizeof(pong) - 1, MSG_WAITALL) != -1 &&
	       strcmp(answer, pong) == 0;
}

bool redis_answers(int port)
{
	const struct timeval limit = { ANSWER_SECONDS, 0 };
	struct sockaddr_in address = { 0 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool answered;

	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	answered = connect(fd, (const struct sockaddr *)&address,
			   sizeof(address)) == 0 &&
		   says_pong(fd);
	close(fd);
	return answered;
}

static bool answers_or_has_ended(void *arg)
{
	struct redis_server *server = arg;

	return !process_is_running(&server->process) ||
	       redis_answers(server->port);
}

enum once_status redis_server_start(struct redis_server *server,
				    struct once_error *err)
{
	char port[16];
	/* clang-format off */
	const char *argv[] = { "redis-server", "--port", port,
			       "--bind", "127.0.0.1", "--save", "",
			       "--appendonly", "no", "--daemonize", "no",
			       "--dir", server->dir.path, NULL };
	/* clang-format on */
	struct process_options options = { .argv = argv,
					   .output = server->log,
					   .append = true };

	snprintf(port, sizeof(port), "%d", server->port);
	if (process_start(&server->process, &options, err) != ONCE_OK)
		return err->status;
	if (wait_until(answers_or_has_ended, server, START_MS) &&
	    process_is_running(&server->process))
		return ONCE_OK;
	return error_set(err, ONCE_TRANSIENT, "Redis didn't start; see \"%s\"",
			 server->log);
}

void redis_server_kill(struct redis_server *server)
{
	process_kill(&server->process);
}

void redis_server_destroy(struct redis_server *server)
{
	redis_server_kill(server);
	temp_dir_fini(&server->dir);
}
