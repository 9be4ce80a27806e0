/*
 * libmicrohttpd parses and writes, and knows of time only how long a connection
 * was silent. So we accept ourselves, on its one thread, and hand each socket
 * over; when a connection has to go, its socket is shut down, and libmicrohttpd
 * sees that in its next turn and closes it. Between its turns our list of
 * connections is the same as its own.
 */
#include "admin_server.h"

#include "admin_connections.h"
#include "clock.h"
#include "error.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	CONNECTION_MEMORY = 16 * 1024, /* a request's headers, and more */
	ACCEPTED_AT_ONCE = 16,
	PAUSE_MS = 100
};

struct server {
	struct MHD_Daemon *daemon;
	server_answer_f *answer;
	void *arg;
	int listen_fd;
	int stop_fd;
	pthread_t thread;

	/* its own thread's */
	struct connections connections;
	int64_t accept_from_ms; /* there was no file for one more */
};

/* ---- a request ---- */

static const char *header_of(struct MHD_Connection *connection,
			     const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* A view may have nothing to say, or no memory to say it. */
static void complete(struct answer *answer)
{
	if (answer->body.broken) {
		answer->code = 500;
		text_reset(&answer->body);
	}
	text_adds(&answer->body, "");
}

static void add_headers(struct MHD_Response *response,
			const struct answer *answer)
{
	static const char *const headers[][2] = {
		{ "Cache-Control", "no-store" },
		{ "Connection", "close" },
		{ "Content-Security-Policy",
		  "default-src 'none'; style-src 'unsafe-inline'; base-uri "
		  "'none'; form-action 'none'; frame-ancestors 'none'" },
		{ "Referrer-Policy", "no-referrer" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
	};

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	MHD_add_response_header(response, "Content-Type", answer->type);
	if (answer->code == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	if (answer->code == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate",
					"Bearer realm=\"onced\"");
}

/* Takes the body. */
static enum MHD_Result send_answer(struct MHD_Connection *connection,
				   struct answer *answer)
{
	struct MHD_Response *response;
	enum MHD_Result result;

	response = MHD_create_response_from_buffer(
		answer->body.size, answer->body.data, MHD_RESPMEM_MUST_FREE);
	if (response == NULL) {
		text_fini(&answer->body);
		return MHD_NO;
	}
	add_headers(response, answer);
	result = MHD_queue_response(connection, answer->code, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result take_request(void *arg,
				    struct MHD_Connection *connection,
				    const char *path, const char *method,
				    const char *version, const char *upload,
				    size_t *upload_size, void **state)
{
	struct server *server = arg;
	struct answer answer = { 200, "text/plain; charset=utf-8", { 0 } };
	struct request request = {
		.method = method,
		.path = path,
		.host = header_of(connection, "Host"),
		.authorization = header_of(connection, "Authorization"),
		.accepted = header_of(connection, "Accept"),
	};

	(void)version;
	(void)upload;
	(void)state;
	*upload_size = 0;
	server->answer(server->arg, &request, &answer);
	complete(&answer);
	connections_answer(
		&server->connections,
		MHD_get_connection_info(connection,
					MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			->socket_context,
		answer.body.size, clock_ms());
	return send_answer(connection, &answer);
}

/* ---- connections ---- */

static void begin_connection(struct server *server,
			     struct MHD_Connection *connection, void **context)
{
	int fd = MHD_get_connection_info(connection,
					 MHD_CONNECTION_INFO_CONNECTION_FD)
			 ->connect_fd;
	const struct sockaddr *peer =
		MHD_get_connection_info(connection,
					MHD_CONNECTION_INFO_CLIENT_ADDRESS)
			->client_addr;

	*context = connections_add(&server->connections, fd, peer, clock_ms());
}

static void notice_connection(void *arg, struct MHD_Connection *connection,
			      void **context,
			      enum MHD_ConnectionNotificationCode code)
{
	struct server *server = arg;

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		begin_connection(server, connection, context);
	else
		connections_remove(&server->connections, *context);
}

/* Without a file for the connection, it waits where it is; one that has one
 * goes. */
static void pause_accepting(struct server *server)
{
	connections_drop_one(&server->connections);
	server->accept_from_ms = clock_ms() + PAUSE_MS;
}

/* false: nobody waits any more. */
static bool accept_one(struct server *server)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t size = sizeof(peer);
	int fd = accept(server->listen_fd, (struct sockaddr *)&peer, &size);

	if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
		return true;
	if (fd < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
		pause_accepting(server);
	if (fd < 0)
		return false;
	connections_make_room(&server->connections);
	MHD_run(server->daemon);
	/* It makes the socket one that doesn't block and isn't inherited. */
	(void)MHD_add_connection(server->daemon, fd, (struct sockaddr *)&peer,
				 size);
	MHD_run(server->daemon); /* what it has sent is answered now */
	return true;
}

/* ---- the thread ---- */

static int wait_ms(const struct server *server)
{
	int64_t next_ms = connections_next_end(&server->connections);
	int64_t now_ms = clock_ms();
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	if (MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES &&
	    timeout_ms == 0)
		return 0;
	if (server->accept_from_ms > now_ms && server->accept_from_ms < next_ms)
		next_ms = server->accept_from_ms;
	if (next_ms == INT64_MAX)
		return -1;
	return next_ms <= now_ms ? 0 : (int)(next_ms - now_ms);
}

/* false: it was told to stop. */
static bool wait_for_something(struct server *server)
{
	bool paused = server->accept_from_ms > clock_ms();
	struct pollfd fds[] = {
		{ .fd = server->stop_fd, .events = POLLIN },
		{ .fd = MHD_get_daemon_info(server->daemon,
					    MHD_DAEMON_INFO_EPOLL_FD)
				->epoll_fd,
		  .events = POLLIN },
		{ .fd = paused ? -1 : server->listen_fd, .events = POLLIN },
	};

	poll(fds, sizeof(fds) / sizeof(fds[0]), wait_ms(server));
	return fds[0].revents == 0;
}

static void *serve(void *arg)
{
	struct server *server = arg;

	while (wait_for_something(server)) {
		int left = ACCEPTED_AT_ONCE;

		connections_cut_late(&server->connections, clock_ms());
		MHD_run(server->daemon);
		while (server->accept_from_ms <= clock_ms() && left-- > 0)
			if (!accept_one(server))
				break;
	}
	return NULL;
}

/* ---- start and stop ---- */

static void destroy(struct server *server)
{
	if (server->daemon != NULL)
		MHD_stop_daemon(server->daemon);
	if (server->stop_fd >= 0)
		close(server->stop_fd);
	if (server->listen_fd >= 0)
		close(server->listen_fd);
	free(server);
}

static bool start(struct server *server)
{
	server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
		take_request, server, MHD_OPTION_NOTIFY_CONNECTION,
		notice_connection, server, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_END);
	return server->stop_fd >= 0 && server->daemon != NULL &&
	       pthread_create(&server->thread, NULL, serve, server) == 0;
}

enum once_status server_start(int listen_fd, server_answer_f *answer, void *arg,
			      struct server **ret_server,
			      struct once_error *err)
{
	struct server *server = calloc(1, sizeof(*server));

	*ret_server = NULL;
	if (server == NULL) {
		close(listen_fd);
		return error_no_memory(err);
	}
	server->answer = answer;
	server->arg = arg;
	server->listen_fd = listen_fd;
	if (!start(server)) {
		destroy(server);
		return error_set(err, ONCE_TRANSIENT,
				 "could not start the admin pages");
	}
	*ret_server = server;
	return ONCE_OK;
}

void server_stop(struct server *server)
{
	if (server == NULL)
		return;
	eventfd_write(server->stop_fd, 1);
	pthread_join(server->thread, NULL);
	destroy(server);
}
