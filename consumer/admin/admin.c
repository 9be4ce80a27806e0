/* Pages are a table; each is made anew for each request, from what the views
 * say. The one place that knows libmicrohttpd. */
#include "admin.h"

#include "error.h"
#include "status_page.h"
#include "text.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MOST_CONNECTIONS = 32,
	IDLE_SECONDS = 10
};

struct admin {
	struct MHD_Daemon *daemon;
	struct admin_views views;
	uint16_t port;
};

struct answer {
	unsigned code;
	const char *type;
	struct text body;
};

/* ---- pages ---- */

typedef void page_f(const struct admin *admin, const char *accepted,
		    struct answer *answer);

static void show_check(admin_check_f *check, void *arg, struct answer *answer)
{
	answer->code = check(arg, &answer->body) ? 200 : 503;
	if (answer->code == 200)
		text_adds(&answer->body, "ok\n");
}

static void show_health(const struct admin *admin, const char *accepted,
			struct answer *answer)
{
	(void)accepted;
	show_check(admin->views.health, admin->views.arg, answer);
}

static void show_ready(const struct admin *admin, const char *accepted,
		       struct answer *answer)
{
	(void)accepted;
	show_check(admin->views.ready, admin->views.arg, answer);
}

static void show_metrics(const struct admin *admin, const char *accepted,
			 struct answer *answer)
{
	bool open_metrics =
		accepted != NULL &&
		strstr(accepted, "application/openmetrics-text") != NULL;

	answer->type = open_metrics ? "application/openmetrics-text; "
				      "version=1.0.0; charset=utf-8"
				    : "text/plain; version=0.0.4; "
				      "charset=utf-8";
	admin->views.metrics(admin->views.arg, open_metrics, &answer->body);
}

static void show_status_page(const struct admin *admin, struct answer *answer)
{
	scoped_text struct text json = { 0 };

	answer->type = "text/html; charset=utf-8";
	admin->views.status(admin->views.arg, &json);
	text_adds(&json, "");
	if (json.broken || !status_page_render(json.data, &answer->body))
		answer->body.broken = true;
}

static void show_status(const struct admin *admin, const char *accepted,
			struct answer *answer)
{
	if (status_page_is_wanted(accepted)) {
		show_status_page(admin, answer);
		return;
	}
	answer->type = "application/json";
	admin->views.status(admin->views.arg, &answer->body);
}

static const struct {
	const char *path;
	page_f *show;
} pages[] = {
	{ "/metrics", show_metrics },
	{ "/healthz", show_health },
	{ "/readyz", show_ready },
	{ "/status", show_status },
};

enum {
	COUNT_PAGES = sizeof(pages) / sizeof(pages[0])
};

static void show_links(struct answer *answer)
{
	answer->type = "text/html; charset=utf-8";
	text_adds(&answer->body, "<!DOCTYPE html>\n<title>onced</title>\n");
	for (size_t i = 0; i < COUNT_PAGES; i++)
		text_addf(&answer->body, "<p><a href=\"%s\">%s</a></p>\n",
			  pages[i].path, pages[i].path);
}

static void refuse_path(struct answer *answer)
{
	answer->code = 404;
	text_adds(&answer->body, "no such page; there are\n");
	for (size_t i = 0; i < COUNT_PAGES; i++)
		text_addf(&answer->body, "%s\n", pages[i].path);
}

static void make_page(const struct admin *admin, const char *path,
		      const char *accepted, struct answer *answer)
{
	for (size_t i = 0; i < COUNT_PAGES; i++)
		if (strcmp(path, pages[i].path) == 0) {
			pages[i].show(admin, accepted, answer);
			return;
		}
	if (strcmp(path, "/") == 0)
		show_links(answer);
	else
		refuse_path(answer);
}

/* ---- libmicrohttpd ---- */

/* A view may have nothing to say, or no memory to say it. */
static void complete(struct answer *answer)
{
	if (answer->body.broken) {
		answer->code = 500;
		text_reset(&answer->body);
	}
	text_adds(&answer->body, "");
}

/* Takes the body. */
static enum MHD_Result send_answer(struct MHD_Connection *connection,
				   struct answer *answer)
{
	struct MHD_Response *response;
	enum MHD_Result result;

	complete(answer);
	response = MHD_create_response_from_buffer(
		answer->body.size, answer->body.data, MHD_RESPMEM_MUST_FREE);
	if (response == NULL) {
		text_fini(&answer->body);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", answer->type);
	if (answer->code == 405)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
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
	const struct admin *admin = arg;
	struct answer answer = { 200, "text/plain; charset=utf-8", { 0 } };
	const char *accepted = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, "Accept");

	(void)version;
	(void)upload;
	(void)state;
	*upload_size = 0;
	if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) {
		make_page(admin, path, accepted, &answer);
	} else {
		answer.code = 405;
		text_adds(&answer.body, "only GET and HEAD\n");
	}
	return send_answer(connection, &answer);
}

/* ---- listening ---- */

/* getaddrinfo() would take 99999, and listen on 34463. */
static bool is_port(const char *text)
{
	size_t size = strspn(text, "0123456789");

	return size > 0 && size <= 5 && text[size] == '\0' &&
	       strtoul(text, NULL, 10) <= UINT16_MAX;
}

/* "host:port" or "[host]:port" in two. */
static enum once_status split_address(const char *listen, char host[256],
				      char port[8], struct once_error *err)
{
	const char *colon = strrchr(listen, ':');
	size_t size = colon == NULL ? 0 : (size_t)(colon - listen);

	if (colon == NULL || size >= 256 || !is_port(colon + 1))
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
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 &&
	    listen(fd, MOST_CONNECTIONS) == 0)
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

static enum once_status open_socket(const char *where, int *ret_fd,
				    struct once_error *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE };
	struct addrinfo *found = NULL;
	char host[256];
	char port[8];
	enum once_status status = split_address(where, host, port, err);
	int error;

	if (status != ONCE_OK)
		return status;
	error = getaddrinfo(host[0] == '\0' ? NULL : host, port, &hints,
			    &found);
	if (error != 0)
		return error_set(err, ONCE_CONFIG,
				 "admin.listen \"%s\" is no address: %s", where,
				 gai_strerror(error));
	*ret_fd = listen_on_any(found);
	error = errno;
	freeaddrinfo(found);
	if (*ret_fd >= 0)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "could not listen on \"%s\": %s; set admin.listen to "
			 "another port, or to \"\" to turn it off",
			 where, strerror(error));
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char port[8] = "0";

	if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		(void)getnameinfo((struct sockaddr *)&address, size, NULL, 0,
				  port, sizeof(port), NI_NUMERICSERV);
	return (uint16_t)strtoul(port, NULL, 10);
}

enum once_status admin_start(const char *listen,
			     const struct admin_views *views,
			     struct admin **ret_admin, struct once_error *err)
{
	struct admin *admin;
	int fd = -1;
	enum once_status status;

	*ret_admin = NULL;
	if (listen[0] == '\0')
		return ONCE_OK;
	status = open_socket(listen, &fd, err);
	if (status != ONCE_OK)
		return status;
	admin = calloc(1, sizeof(*admin));
	if (admin == NULL) {
		close(fd);
		return error_no_memory(err);
	}
	admin->views = *views;
	admin->port = port_of(fd);
	/* AUTO: not select(), which knows no file beyond the 1024th. */
	admin->daemon = MHD_start_daemon(
		MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, take_request,
		admin, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
		MHD_OPTION_END);
	if (admin->daemon == NULL) {
		close(fd);
		free(admin);
		return error_set(err, ONCE_TRANSIENT,
				 "could not start the admin pages");
	}
	*ret_admin = admin;
	return ONCE_OK;
}

uint16_t admin_port(const struct admin *admin)
{
	return admin == NULL ? 0 : admin->port;
}

void admin_stop(struct admin *admin)
{
	if (admin == NULL)
		return;
	MHD_stop_daemon(admin->daemon);
	free(admin);
}
