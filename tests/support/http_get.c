/*
 * http_get.c - just enough HTTP to ask for a page. The connection is closed by
 * the server after it, so that the page ends where the bytes end.
 */
#include "http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <text.h>
#include <unistd.h>

static int open_connection(int port)
{
	const struct timeval limit = { 5, 0 };
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_port = htons((uint16_t)port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) ==
	    0)
		return fd;
	close(fd);
	return -1;
}

static bool ask(int fd, const char *path, const char *accepted)
{
	char request[256];
	int size = snprintf(request, sizeof(request),
			    "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
			    "Accept: %s\r\nConnection: close\r\n\r\n",
			    path, accepted);

	return send(fd, request, (size_t)size, MSG_NOSIGNAL) == size;
}

static void hear(int fd, struct text *answer)
{
	char part[4096];
	ssize_t size;

	while ((size = recv(fd, part, sizeof(part), 0)) > 0)
		text_add(answer, part, (size_t)size);
}

int http_get(int port, const char *path, char **ret_body)
{
	return http_get_as(port, path, "*/*", ret_body);
}

int http_get_as(int port, const char *path, const char *accepted,
		char **ret_body)
{
	scoped_text struct text answer = { 0 };
	int fd = open_connection(port);
	const char *body;
	int code = 0;

	if (ret_body != NULL)
		*ret_body = NULL;
	if (fd == -1)
		return 0;
	if (ask(fd, path, accepted))
		hear(fd, &answer);
	close(fd);
	if (answer.data == NULL || strncmp(answer.data, "HTTP/1.1 ", 9) != 0)
		return 0;
	code = (int)strtol(answer.data + 9, NULL, 10);
	body = strstr(answer.data, "\r\n\r\n");
	if (ret_body != NULL && body != NULL)
		*ret_body = strdup(body + 4);
	return code;
}
