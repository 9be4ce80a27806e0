/*
 * readable.h - bytes that came from outside, shown to a person: nothing in them
 * can move the cursor, hide, or turn the line around.
 */
#ifndef ONCE_READABLE_H
#define ONCE_READABLE_H

#include "text.h"

#include <stdbool.h>

#define READABLE_WHOLE SIZE_MAX

/* At most so many characters; what is longer ends with "…". Control characters
 * and bytes that aren't UTF-8 become \x1b, invisible ones and those that change
 * the direction of writing \u202e or \U000e0041. */
void readable_add(struct text *text, struct once_bytes bytes, size_t most);

/* The whole; lines stay lines. */
void readable_add_lines(struct text *text, const char *string);
/* JSON that is valid as it is: what readable_add() would show as a number is
 * written as \uXXXX in its strings. */
void readable_add_json(struct text *text, struct once_bytes json);

/* Nothing in it would be shown as a number, but for newlines and tabs. */
bool readable_is_plain(struct once_bytes bytes);
/* The line that begins there is cut to so many columns, and ended. */
void readable_end_line(struct text *text, size_t begin, size_t columns);

/* How many columns of a terminal UTF-8 text takes: East Asian wide characters
 * two, combining ones none. */
size_t readable_width(struct once_bytes utf8);
/* The bytes of its beginning that take at most so many columns. */
size_t readable_fit(struct once_bytes utf8, size_t columns);

#endif
