/* safe_text.h - what stands in messages, on a terminal: it must not be able to
 * talk to it, nor to break a table. */
#ifndef ONCED_SAFE_TEXT_H
#define ONCED_SAFE_TEXT_H

#include "text.h"

/* Does a character begin there that a terminal would obey? */
bool safe_text_is_control(const unsigned char *at, size_t left);
void safe_text_add(struct text *text, struct once_bytes bytes);
/* The line that begins there is cut to 80 columns, and ended. */
void safe_text_end_line(struct text *text, size_t begin);

#endif
