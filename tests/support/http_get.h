/* http_get.h - one page of a server on 127.0.0.1, by a plain socket. */
#ifndef TEST_HTTP_GET_H
#define TEST_HTTP_GET_H

#include <once/types.h>

/* The status code; 0: nobody answers. `ret_body` (may be NULL): the page, the
 * caller's; NULL if there is none. */
int http_get(int port, const char *path, char **ret_body);
/* With an Accept header. */
int http_get_as(int port, const char *path, const char *accepted,
		char **ret_body);

#endif
