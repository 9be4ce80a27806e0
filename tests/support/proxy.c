/*
 * proxy.c - the process of proxy.h.
 *
 * The idea: a connection is two pipes, and a pipe is one buffer: what is in it
 * must go on before more is read, so a delay or a freeze is simply not to write
 * yet, and the kernel holds back the other side.
 */
#include "proxy.h"

#include <check.h>
#include <clock.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CONNECTIONS = 128,
	BUFFER = 65536,
	TICK_MS = 5 /* how long an order may go unseen */
};

struct proxy_pipe {
	int from;
	int to;
	size_t start; /* of what hasn't gone on */
	size_t end;
	int64_t due_ms;
	char data[BUFFER];
};

struct connection {
	bool is_used;
	bool is_deaf; /* something of it was lost */
	struct proxy_pipe ask;
	struct proxy_pipe answer;
};

struct house {
	struct proxy_orders *orders;
	int listener;
	int server_port;
	int cuts; /* done */
	struct connection connections[CONNECTIONS];
};

static struct sockaddr_in local_address(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)port);
	return address;
}

/* ---- connections ---- */

/* With a reset, as a network does it. */
static void reset(int fd)
{
	const struct linger at_once = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

static void cut(struct connection *connection)
{
	if (!connection->is_used)
		return;
	reset(connection->ask.from);
	reset(connection->ask.to);
	connection->is_used = false;
}

static void open_pipe(struct proxy_pipe *pipe, int from, int to)
{
	pipe->from = from;
	pipe->to = to;
	pipe->start = 0;
	pipe->end = 0;
}

static int connect_to(int port)
{
	struct sockaddr_in address = local_address(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

static struct connection *find_place(struct house *house)
{
	for (int i = 0; i < CONNECTIONS; i++)
		if (!house->connections[i].is_used)
			return &house->connections[i];
	return NULL;
}

static void keep_quick(int fd)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void let_in(struct house *house)
{
	struct connection *place = find_place(house);
	int client = accept(house->listener, NULL, NULL);
	int server = -1;

	if (client == -1)
		return;
	if (place != NULL && house->orders->mode != PROXY_REFUSE)
		server = connect_to(house->server_port);
	if (server == -1) {
		reset(client);
		return;
	}
	house->orders->seen++;
	keep_quick(client);
	keep_quick(server);
	place->is_used = true;
	place->is_deaf = false;
	open_pipe(&place->ask, client, server);
	open_pipe(&place->answer, server, client);
}

/* ---- pipes ---- */

/* False: it is at its end. */
static bool fill(const struct house *house, struct proxy_pipe *pipe)
{
	ssize_t size = recv(pipe->from, pipe->data, BUFFER, MSG_DONTWAIT);
	const struct proxy_orders *orders = house->orders;

	if (size == -1)
		return errno == EAGAIN || errno == EINTR;
	pipe->start = 0;
	pipe->end = (size_t)size;
	pipe->due_ms = clock_ms() +
		       (orders->mode == PROXY_DELAY ? orders->delay_ms : 0);
	return size > 0;
}

static bool drain(struct proxy_pipe *pipe)
{
	ssize_t size =
		send(pipe->to, pipe->data + pipe->start,
		     pipe->end - pipe->start, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (size == -1)
		return errno == EAGAIN || errno == EINTR;
	pipe->start += (size_t)size;
	return true;
}

static bool is_full(const struct proxy_pipe *pipe)
{
	return pipe->start < pipe->end;
}

static bool serve_pipe(struct house *house, struct connection *connection,
		       struct proxy_pipe *pipe)
{
	int mode = house->orders->mode;

	if (mode == PROXY_FREEZE)
		return true;
	if (!is_full(pipe) && !fill(house, pipe))
		return false;
	if (!is_full(pipe))
		return true;
	if (mode == PROXY_DEAF && pipe == &connection->answer) {
		connection->is_deaf = true;
		pipe->start = pipe->end;
	}
	return !is_full(pipe) || pipe->due_ms > clock_ms() || drain(pipe);
}

static void serve(struct house *house, struct connection *connection)
{
	bool goes_on = serve_pipe(house, connection, &connection->ask) &&
		       serve_pipe(house, connection, &connection->answer);

	if (!goes_on ||
	    (connection->is_deaf && house->orders->mode != PROXY_DEAF))
		cut(connection);
}

static void serve_all(struct house *house)
{
	struct proxy_orders *orders = house->orders;
	bool cuts = orders->mode == PROXY_REFUSE || house->cuts != orders->cuts;

	house->cuts = orders->cuts;
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *connection = &house->connections[i];

		if (cuts)
			cut(connection);
		else if (connection->is_used)
			serve(house, connection);
	}
}

/* ---- waiting ---- */

/* A full pipe waits for its time, or for room: the tick looks after both. */
static int watch_pipe(const struct house *house, const struct proxy_pipe *pipe,
		      struct pollfd *fd)
{
	if (is_full(pipe) || house->orders->mode == PROXY_FREEZE)
		return 0;
	*fd = (struct pollfd){ pipe->from, POLLIN, 0 };
	return 1;
}

static bool wait_for_work(const struct house *house)
{
	struct pollfd fds[CONNECTIONS * 2 + 1];
	nfds_t count = 1;

	fds[0] = (struct pollfd){ house->listener, POLLIN, 0 };
	for (int i = 0; i < CONNECTIONS; i++) {
		const struct connection *connection = &house->connections[i];

		if (!connection->is_used)
			continue;
		count += (nfds_t)watch_pipe(house, &connection->ask,
					    &fds[count]);
		count += (nfds_t)watch_pipe(house, &connection->answer,
					    &fds[count]);
	}
	return poll(fds, count, TICK_MS) > 0 && fds[0].revents != 0;
}

static void live(struct proxy *proxy, int server_port)
{
	static struct house house;

	house.orders = proxy->orders;
	house.listener = proxy->listener;
	house.server_port = server_port;
	for (;;) {
		if (wait_for_work(&house))
			let_in(&house);
		serve_all(&house);
	}
}

/* ---- from outside ---- */

void proxy_open(struct proxy *proxy)
{
	struct sockaddr_in address = local_address(0);
	socklen_t size = sizeof(address);

	memset(proxy, 0, sizeof(*proxy));
	proxy->orders =
		mmap(NULL, sizeof(*proxy->orders), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(proxy->orders != MAP_FAILED);
	proxy->listener =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(
		bind(proxy->listener, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(listen(proxy->listener, CONNECTIONS), 0);
	ck_assert_int_eq(getsockname(proxy->listener,
				     (struct sockaddr *)&address, &size),
			 0);
	proxy->port = ntohs(address.sin_port);
}

void proxy_start(struct proxy *proxy, int server_port)
{
	pid_t parent = getpid();

	proxy->pid = fork();
	ck_assert_int_ge(proxy->pid, 0);
	if (proxy->pid != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		live(proxy, server_port);
	_exit(1);
}

void proxy_set(struct proxy *proxy, enum proxy_mode mode, int delay_ms)
{
	proxy->orders->delay_ms = delay_ms;
	proxy->orders->mode = (int)mode;
}

void proxy_cut(struct proxy *proxy)
{
	proxy->orders->cuts++;
}

void proxy_close(struct proxy *proxy)
{
	if (proxy->pid > 0) {
		kill(proxy->pid, SIGKILL);
		waitpid(proxy->pid, NULL, 0);
	}
	close(proxy->listener);
	munmap(proxy->orders, sizeof(*proxy->orders));
}
