/* A growing buffer that remembers its failure, so that callers check once. */
#include "text.h"

#include "bytes.h"
#include "readable.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(struct text *text, size_t more)
{
	size_t capacity = text->capacity == 0 ? 256 : text->capacity;
	char *grown;

	while (capacity - text->size <= more)
		capacity *= 2;
	grown = realloc(text->data, capacity);
	if (grown == NULL) {
		text->broken = true;
		return false;
	}
	text->data = grown;
	text->capacity = capacity;
	return true;
}

static bool reserve(struct text *text, size_t more)
{
	if (text->broken)
		return false;
	return text->capacity - text->size > more || grow(text, more);
}

void text_add(struct text *text, const void *data, size_t size)
{
	if (!reserve(text, size))
		return;
	if (size > 0)
		memcpy(text->data + text->size, data, size);
	text->size += size;
	text->data[text->size] = '\0';
}

void text_adds(struct text *text, const char *string)
{
	text_add(text, string, strlen(string));
}

void text_addf(struct text *text, const char *fmt, ...)
{
	va_list args;
	va_list again;
	int size;

	va_start(args, fmt);
	va_copy(again, args);
	size = vsnprintf(NULL, 0, fmt, args);
	if (size >= 0 && reserve(text, (size_t)size)) {
		vsnprintf(text->data + text->size, (size_t)size + 1, fmt,
			  again);
		text->size += (size_t)size;
	}
	va_end(again);
	va_end(args);
}

static void add_json_byte(struct text *text, unsigned char byte)
{
	if (byte == '"' || byte == '\\')
		text_addf(text, "\\%c", byte);
	else if (byte == '\n')
		text_adds(text, "\\n");
	else if (byte < 0x20 || byte == 0x7F)
		text_addf(text, "\\u%04x", byte);
	else
		text_add(text, &byte, 1);
}

void text_add_json(struct text *text, struct once_bytes bytes)
{
	const unsigned char *at = bytes.data;
	bool utf8 = bytes_are_utf8(bytes);

	text_adds(text, "\"");
	for (size_t i = 0; i < bytes.size; i++) {
		size_t begin = i;

		while (utf8 && i < bytes.size && at[i] >= 0x7F)
			i++;
		if (i > begin)
			readable_add_json(text,
					  bytes_of(at + begin, i - begin));
		if (i == bytes.size)
			break;
		if (at[i] >= 0x80)
			text_adds(text, "\\ufffd");
		else
			add_json_byte(text, at[i]);
	}
	text_adds(text, "\"");
}

void text_reset(struct text *text)
{
	text->size = 0;
	text->broken = false;
	if (text->data != NULL)
		text->data[0] = '\0';
}

void text_fini(struct text *text)
{
	free(text->data);
	*text = (struct text){ 0 };
}
