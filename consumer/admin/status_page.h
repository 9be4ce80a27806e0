/*
 * status_page.h - /status for a person with a browser: the same object as HTML.
 * No script; everything that came from a message is text.
 */
#ifndef ONCED_STATUS_PAGE_H
#define ONCED_STATUS_PAGE_H

#include <stdbool.h>

struct text;

/* Does an Accept header (may be NULL) ask for HTML rather than JSON? */
bool status_page_is_wanted(const char *accepted);
/* false: it isn't what /status says. */
bool status_page_render(const char *json, struct text *html);

#endif
