/*
 * admin_access.h - which requests may see more than "ok".
 *
 * With a token, those that send it. Without one, those whose Host header is a
 * name of ours: a page of a stranger can make a browser ask us under the
 * stranger's name (DNS rebinding), but not under an address or another name.
 */
#ifndef ONCED_ADMIN_ACCESS_H
#define ONCED_ADMIN_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

struct admin_access {
	const char *token;        /* "": none */
	const char *const *hosts; /* names besides the usual ones */
	size_t host_count;
	const char *listen_host;
};

/* `host` NULL: the header isn't there, as no browser asks. */
bool access_knows_host(const struct admin_access *access, const char *host);
/* "Bearer …"; NULL: the header isn't there. Takes as long whatever is wrong. */
bool access_has_token(const struct admin_access *access,
		      const char *authorization);

#endif
