/* status_html.h - what the status page is made of: cells, numbers, and text
 * from outside that is neither markup nor turns the line around. */
#ifndef ONCED_STATUS_HTML_H
#define ONCED_STATUS_HTML_H

#include "text.h"

/* Newlines stay. */
void html_add_escaped(struct text *html, const char *string);
/* 1,234,567 */
void html_add_digits(struct text *html, long long number);
/* In two units at most: "12 min 4 s". */
void html_add_duration(struct text *html, long long seconds);

/* `names` ends with NULL; those of numbers begin with "#". */
void html_begin_table(struct text *html, const char *title,
		      const char *const *names);
/* `attributes`: "", or " class=…". */
void html_add_cell(struct text *html, const char *attributes,
		   const char *string);
void html_add_number(struct text *html, long long number);
void html_end_table(struct text *html);

#endif
