/* Pages are a table; each is made anew for each request, from what the views
 * say. Two tell anybody whether all is well; why it isn't, and all else, is for
 * requests that admin_access.h lets in. */
#include "admin.h"

#include "admin_access.h"
#include "admin_listen.h"
#include "admin_server.h"
#include "bytes.h"
#include "error.h"
#include "readable.h"
#include "status_page.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SHOWN_HOST = 100 /* characters */
};

struct admin {
	struct server *server;
	struct admin_views views;
	struct admin_access access;
	char host[LISTEN_HOST_SIZE]; /* of admin.listen */
	uint16_t port;
};

/* ---- pages ---- */

typedef void page_f(const struct admin *admin, const char *accepted,
		    struct answer *answer);

static void show_check(admin_check_f *check, void *arg, struct answer *answer)
{
	scoped_text struct text why = { 0 };

	answer->code = check(arg, &why) ? 200 : 503;
	if (why.data != NULL)
		readable_add_lines(&answer->body, why.data);
	answer->body.broken = answer->body.broken || why.broken;
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
	scoped_text struct text json = { 0 };

	if (status_page_is_wanted(accepted)) {
		show_status_page(admin, answer);
		return;
	}
	answer->type = "application/json";
	admin->views.status(admin->views.arg, &json);
	readable_add_json(&answer->body, bytes_of(json.data, json.size));
	answer->body.broken = answer->body.broken || json.broken;
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
	text_adds(&answer->body, "not found; available pages:\n");
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

/* ---- who may see them ---- */

static bool is_let_in(const struct admin *admin, const struct request *request)
{
	if (admin->access.token[0] != '\0')
		return access_has_token(&admin->access, request->authorization);
	return access_knows_host(&admin->access, request->host);
}

static void refuse_access(const struct admin *admin,
			  const struct request *request, struct answer *answer)
{
	struct text *body = &answer->body;

	if (admin->access.token[0] != '\0') {
		answer->code = 401;
		text_adds(body, "a token is required; send \"Authorization: "
				"Bearer TOKEN\" with the value of "
				"admin.token\n");
		return;
	}
	answer->code = 421;
	text_adds(body, "the name \"");
	readable_add(body, bytes_text(request->host), SHOWN_HOST);
	text_adds(body, "\" is not served; add it to admin.hosts, or ask by "
			"IP address\n");
}

/* What is well may have something to say, too. */
static void hide_reasons(struct answer *answer)
{
	text_reset(&answer->body);
	text_adds(&answer->body,
		  answer->code == 200
			  ? "ok\n"
			  : "failing; the reasons are shown to requests "
			    "that may read /status\n");
}

static void answer_request(void *arg, const struct request *request,
			   struct answer *answer)
{
	const struct admin *admin = arg;
	bool is_public = strcmp(request->path, "/healthz") == 0 ||
			 strcmp(request->path, "/readyz") == 0;
	bool let_in = is_let_in(admin, request);

	if (strcmp(request->method, "GET") != 0 &&
	    strcmp(request->method, "HEAD") != 0) {
		answer->code = 405;
		text_adds(&answer->body, "only GET and HEAD\n");
	} else if (let_in || is_public) {
		make_page(admin, request->path, request->accepted, answer);
		if (!let_in)
			hide_reasons(answer);
	} else {
		refuse_access(admin, request, answer);
	}
}

/* ---- start and stop ---- */

static void init(struct admin *admin, const struct admin_options *options,
		 const struct admin_views *views)
{
	admin->views = *views;
	admin->access = (struct admin_access){
		.token = options->token == NULL ? "" : options->token,
		.hosts = options->hosts,
		.host_count = options->host_count,
		.listen_host = admin->host,
	};
}

enum once_status admin_start(const struct admin_options *options,
			     const struct admin_views *views,
			     struct admin **ret_admin, struct once_error *err)
{
	struct admin *admin;
	enum once_status status;
	int fd = -1;

	*ret_admin = NULL;
	if (options->listen[0] == '\0')
		return ONCE_OK;
	admin = calloc(1, sizeof(*admin));
	if (admin == NULL)
		return error_no_memory(err);
	init(admin, options, views);
	status = listen_open(options->listen, &fd, admin->host, err);
	if (status == ONCE_OK) {
		admin->port = listen_port(fd);
		status = server_start(fd, answer_request, admin, &admin->server,
				      err);
	}
	if (status != ONCE_OK) {
		free(admin);
		return status;
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
	server_stop(admin->server);
	free(admin);
}
