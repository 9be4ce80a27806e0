/*
 * cutter.c - a TCP proxy that cuts at a COMMIT.
 *
 * The idea: libpq sends "COMMIT" as the text of a Parse message, with the NUL
 * behind it; nothing else that libonce sends has these seven bytes.
 */
#include "cutter.h"

#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MOST_KEPT = 64
};

static const char commit_text[] = "COMMIT"; /* its NUL included */

static struct sockaddr_in local_address(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)port);
	return address;
}

/* Otherwise each small piece waits for the last one's ACK: 40 ms. */
static void keep_quick(int fd)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int connect_by_tcp(const char *port)
{
	struct sockaddr_in address = local_address((int)strtol(port, NULL, 10));
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	keep_quick(fd);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0
		       ? fd
		       : -1;
}

static int connect_by_file(const char *directory, const char *port)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/.s.PGSQL.%s",
		 directory, port);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0
		       ? fd
		       : -1;
}

static int connect_to_server(PGconn *conn)
{
	const char *host = PQhost(conn);

	if (host != NULL && host[0] == '/')
		return connect_by_file(host, PQport(conn));
	return connect_by_tcp(PQport(conn));
}

static bool holds(const char *data, size_t size, const char *text,
		  size_t text_size)
{
	for (size_t i = 0; i + text_size <= size; i++)
		if (memcmp(data + i, text, text_size) == 0)
			return true;
	return false;
}

/* What a client sends, with the end of what it sent before: a text may come in
 * two pieces. */
struct client {
	char data[65536];
	size_t kept;
	bool meant; /* this transaction was sent the text of `only` */
};

static bool commits(const struct cutter *cutter, struct client *client,
		    size_t size)
{
	size_t all = client->kept + size;
	bool commit =
		holds(client->data, all, commit_text, sizeof(commit_text));
	bool meant =
		client->meant || cutter->only == NULL ||
		holds(client->data, all, cutter->only, strlen(cutter->only));

	client->meant = meant && !commit;
	client->kept = commit ? 0 : all < MOST_KEPT ? all : MOST_KEPT;
	memmove(client->data, client->data + all - client->kept, client->kept);
	return commit && meant;
}

static bool write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t written = send(fd, data, size, MSG_NOSIGNAL);

		if (written <= 0)
			return false;
		data += written;
		size -= (size_t)written;
	}
	return true;
}

/* false: this connection is to be cut. */
static bool pass_back(const struct cutter *cutter, int server, int client)
{
	char data[65536];
	ssize_t size = read(server, data, sizeof(data));

	return size > 0 && *cutter->cut != CUT_EVERYTHING &&
	       write_all(client, data, (size_t)size);
}

static bool is_to_be_cut(const struct cutter *cutter, int cut)
{
	if (cut != CUT_BEFORE_COMMIT && cut != CUT_AFTER_COMMIT)
		return false;
	if (*cutter->skip > 0) {
		--*cutter->skip;
		return false;
	}
	return atomic_compare_exchange_strong(cutter->cut, &cut,
					      (int)cutter->then);
}

static bool pass_on(const struct cutter *cutter, struct client *state,
		    int client, int server)
{
	char data[65536 - MOST_KEPT];
	ssize_t size = read(client, data, sizeof(data));
	int cut = *cutter->cut;

	if (size <= 0 || cut == CUT_EVERYTHING)
		return false;
	memcpy(state->data + state->kept, data, (size_t)size);
	if (!commits(cutter, state, (size_t)size) || !is_to_be_cut(cutter, cut))
		return write_all(server, data, (size_t)size);
	if (cut == CUT_AFTER_COMMIT) {
		write_all(server, data, (size_t)size);
		(void)!read(server, data, sizeof(data)); /* the answer */
	}
	return false;
}

static void serve(const struct cutter *cutter, int client, int server)
{
	struct pollfd fds[] = { { client, POLLIN, 0 }, { server, POLLIN, 0 } };
	struct client state = { .kept = 0 };

	while (poll(fds, 2, -1) > 0) {
		if (fds[0].revents != 0 &&
		    !pass_on(cutter, &state, client, server))
			return;
		if (fds[1].revents != 0 && !pass_back(cutter, server, client))
			return;
	}
}

static void serve_one(const struct cutter *cutter, PGconn *conn, int client)
{
	int server = connect_to_server(conn);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (server >= 0)
		serve(cutter, client, server);
	_exit(0);
}

static void serve_all(const struct cutter *cutter, PGconn *conn)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int client = accept(cutter->listener, NULL, NULL);

		keep_quick(client);
		if (client >= 0 && fork() == 0)
			serve_one(cutter, conn, client);
		close(client);
	}
}

static int listen_somewhere(int *ret_port)
{
	struct sockaddr_in address = local_address(0);
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size),
			 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

void cutter_start(struct cutter *cutter, struct pg_fixture *pg)
{
	int port = 0;

	cutter->cut =
		mmap(NULL, 2 * sizeof(*cutter->cut), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(cutter->cut != MAP_FAILED);
	cutter->skip = cutter->cut + 1;
	cutter->listener = listen_somewhere(&port);
	snprintf(cutter->conninfo, sizeof(cutter->conninfo),
		 "%s host=127.0.0.1 port=%d sslmode=disable "
		 "gssencmode=disable",
		 pg->conninfo, port);
	cutter->pid = fork();
	ck_assert_int_ge(cutter->pid, 0);
	if (cutter->pid == 0) {
		serve_all(cutter, pg->conn);
		_exit(1);
	}
}

void cutter_stop(struct cutter *cutter)
{
	kill(cutter->pid, SIGKILL);
	waitpid(cutter->pid, NULL, 0);
	close(cutter->listener);
}
