/*
 * client.h - asking a running onced for one of its pages, over HTTP, for
 * commands.
 *
 * Threads: main.
 */
#ifndef ONCED_CLIENT_H
#define ONCED_CLIENT_H

#include <once/types.h>
#include <stdbool.h>

struct text;

enum {
	CLIENT_TIMEOUT_MS = 2000
};

/* The address of a page: "http://127.0.0.1:9464/status". `listen` is
 * admin.listen; one that means all addresses becomes the loopback. false: there
 * is nothing to be asked (it is off, or its port is 0). */
bool client_url(const char *listen, const char *path, struct text *ret_url);

/* `token`: admin.token; "": none is sent. TRANSIENT: nobody answers, or not
 * with that page. CONFIG: there is nothing to be asked, or the token is wrong.
 * The body is added to `body`. */
enum once_status client_fetch(const char *listen, const char *token,
			      const char *path, int timeout_ms,
			      struct text *body,
			      struct once_error *err) ONCE_MUST_CHECK;

#endif
