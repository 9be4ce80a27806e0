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
#define BUS_DISTANCE 10000 /* of the other port of a cluster's node */
#define ANSWER_SECONDS 1
#define WORDS_MAX 32

enum once_status redis_server_create_with(struct redis_server *server,
					  const char *const *settings,
					  struct once_error *err)
{
	memset(&server->process, 0, sizeof(server->process));
	server->settings = settings;
	if (temp_dir_init(&server->dir, err) != ONCE_OK ||
	    temp_dir_path(server->log, server->dir.path, "log", err) !=
		    ONCE_OK ||
	    temp_dir_path(server->socket, server->dir.path, "socket", err) !=
		    ONCE_OK)
		return err->status;
	if (system("command -v redis-server >/dev/null") != 0)
		return error_set(err, ONCE_CONFIG, "there is no redis-server");
	server->port = free_port_find_pair(BUS_DISTANCE);
	if (server->port == -1)
		return error_set(err, ONCE_TRANSIENT, "no port is free");
	snprintf(server->url, sizeof(server->url), "redis://127.0.0.1:%d/0",
		 server->port);
	return redis_server_start(server, err);
}

enum once_status redis_server_create(struct redis_server *server,
				     struct once_error *err)
{
	return redis_server_create_with(server, NULL, err);
}

static void read_answer(int fd, char *answer, size_t size)
{
	size_t used = 0;
	ssize_t more = 1;

	while (more > 0 && used + 1 < size) {
		more = recv(fd, answer + used, size - used - 1, 0);
		used += more > 0 ? (size_t)more : 0;
	}
	answer[used] = '\0';
}

bool redis_say(int port, const char *lines, char *answer, size_t size)
{
	const struct timeval limit = { ANSWER_SECONDS, 0 };
	struct sockaddr_in address = { 0 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool sent;

	answer[0] = '\0';
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	sent = connect(fd, (const struct sockaddr *)&address,
		       sizeof(address)) == 0 &&
	       send(fd, lines, strlen(lines), MSG_NOSIGNAL) != -1;
	if (sent)
		read_answer(fd, answer, size);
	close(fd);
	return sent;
}

bool redis_answers(int port)
{
	static const char pong[] = "+PONG";
	static const char no_auth[] = "-NOAUTH";
	char answer[128];

	return redis_say(port, "PING\r\nQUIT\r\n", answer, sizeof(answer)) &&
	       (strncmp(answer, pong, sizeof(pong) - 1) == 0 ||
		strncmp(answer, no_auth, sizeof(no_auth) - 1) == 0);
}

static bool answers_or_has_ended(void *arg)
{
	struct redis_server *server = arg;

	return !process_is_running(&server->process) ||
	       redis_answers(server->port);
}

/* Ours and the caller's, into `argv`. False: they are too many. */
static bool put_words(const char *argv[WORDS_MAX],
		      const struct redis_server *server, const char *port)
{
	/* clang-format off */
	const char *words[] = { "redis-server", "--port", port,
				"--bind", "127.0.0.1", "--save", "",
				"--appendonly", "no", "--daemonize", "no",
				"--dir", server->dir.path,
				"--unixsocket", server->socket };
	/* clang-format on */
	const char *const *settings = server->settings;
	size_t count = sizeof(words) / sizeof(words[0]);

	memcpy(argv, words, sizeof(words));
	for (; settings != NULL && *settings != NULL; settings++) {
		if (count == WORDS_MAX - 1)
			return false;
		argv[count++] = *settings;
	}
	argv[count] = NULL;
	return true;
}

enum once_status redis_server_start(struct redis_server *server,
				    struct once_error *err)
{
	char port[16];
	const char *argv[WORDS_MAX];
	struct process_options options = { .argv = argv,
					   .output = server->log,
					   .append = true };

	snprintf(port, sizeof(port), "%d", server->port);
	if (!put_words(argv, server, port))
		return error_set(err, ONCE_BUG, "too many settings");
	if (process_start(&server->process, &options, err) != ONCE_OK)
		return err->status;
	if (wait_until(answers_or_has_ended, server, START_MS) &&
	    process_is_running(&server->process))
		return ONCE_OK;
	return error_set(err, ONCE_TRANSIENT, "Redis didn't start; see \"%s\"",
			 server->log);
}

void redis_server_freeze(struct redis_server *server)
{
	process_signal(&server->process, SIGSTOP);
}

void redis_server_thaw(struct redis_server *server)
{
	process_signal(&server->process, SIGCONT);
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
