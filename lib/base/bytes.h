/* bytes.h - small helpers for struct once_bytes. */
#ifndef ONCE_BYTES_H
#define ONCE_BYTES_H

#include <once/types.h>
#include <stdbool.h>
#include <string.h>

static inline struct once_bytes bytes_of(const void *data, size_t size)
{
	struct once_bytes bytes = { data, size };

	return bytes;
}

static inline struct once_bytes bytes_text(const char *text)
{
	return bytes_of(text, text == NULL ? 0 : strlen(text));
}

/* NULL data equals only NULL data. */
static inline bool bytes_equal(struct once_bytes a, struct once_bytes b)
{
	if (a.data == NULL || b.data == NULL)
		return a.data == b.data;
	return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* In the order of COLLATE "C"; NULL data first. */
int bytes_compare(struct once_bytes a, struct once_bytes b);

bool bytes_are_utf8(struct once_bytes bytes);

/* Two digits a byte. false: they aren't `size` bytes, or no lower-case hex. */
bool bytes_parse_hex(struct once_bytes digits, unsigned char *data,
		     size_t size);

#endif
