/* text.h - text that grows: log lines, SQL lists, JSON, metrics pages. */
#ifndef ONCE_TEXT_H
#define ONCE_TEXT_H

#include <once/types.h>
#include <stdbool.h>

/* All zero is empty. `data` is NUL-terminated once something was added; when
 * memory ran out, `broken` is set and further additions do nothing. */
struct text {
	char *data;
	size_t size;
	size_t capacity;
	bool broken;
};

void text_add(struct text *text, const void *data, size_t size);
void text_adds(struct text *text, const char *string);
void text_addf(struct text *text, const char *fmt, ...) ONCE_PRINTF(2, 3);
/* With the quotes, as a JSON string; bytes that aren't UTF-8 become U+FFFD. */
void text_add_json(struct text *text, struct once_bytes bytes);
void text_reset(struct text *text);
void text_fini(struct text *text);

#define scoped_text __attribute__((cleanup(text_fini)))

#endif
