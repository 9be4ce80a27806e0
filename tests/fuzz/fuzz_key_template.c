/*
 * Any bytes as a template and a message, one piece a line: the template, the
 * Kafka key, a header's name, its value, and the message's value to the end. A
 * Kafka key or header value that is a single "-" is null.
 */
#include "key_template.h"

#include "arena.h"
#include "bytes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEMPLATE,
	KEY,
	NAME,
	HEADER,
	PIECES
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

/* With a NUL behind it. */
static char *take_line(const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size == 0 ? NULL : memchr(*data, '\n', *size);
	size_t line = end == NULL ? *size : (size_t)(end - *data);
	char *copy = malloc(line + 1);

	require(copy != NULL);
	if (line > 0)
		memcpy(copy, *data, line);
	copy[line] = '\0';
	*data += line + (end != NULL);
	*size -= line + (end != NULL);
	return copy;
}

static struct once_bytes optional(const char *text)
{
	return strcmp(text, "-") == 0 ? bytes_of(NULL, 0) : bytes_text(text);
}

static void check_key(struct once_bytes key)
{
	require(key.data != NULL);
	require(key.size >= 1 && key.size <= ONCE__KEY_MAX_SIZE);
	require(memchr(key.data, '\0', key.size) == NULL);
	require(bytes_are_utf8(key));
}

static enum once__key_fault format(const struct once__template *template,
				   const struct once_record *record,
				   struct arena *arena,
				   struct once_bytes *ret_key,
				   const char **ret_field)
{
	struct once__reading reading = { record, arena, false, NULL };

	return once__template_format(template, &reading, ret_key, ret_field);
}

static void check_format(const struct once__template *template,
			 const struct once_record *record)
{
	struct arena arena = { 0 };
	struct once_bytes key;
	struct once_bytes again;
	const char *field = NULL;
	enum once__key_fault fault =
		format(template, record, &arena, &key, &field);

	require(field != NULL && bytes_are_utf8(bytes_text(field)));
	if (fault == ONCE__KEY_OK)
		check_key(key);
	else
		require(key.data == NULL);
	require(format(template, record, &arena, &again, &field) == fault);
	require(bytes_equal(key, again));
	arena_fini(&arena);
}

/* Move a byte from the header's text to the Kafka key's: the joint is
 * elsewhere, so the key must change. */
static void check_joint(const char *left, const char *right)
{
	static const char text[] = "{key}:{header:x}";
	struct once__template *template;
	struct once_header headers[] = { { "x", bytes_text(right) },
					 { "x", bytes_text(right + 1) } };
	struct once_record record = { .key = bytes_text(left),
				      .headers = &headers[0],
				      .header_count = 1 };
	struct arena arena = { 0 };
	char *longer = malloc(strlen(left) + 2);
	struct once_bytes one;
	struct once_bytes other;
	const char *field;

	require(longer != NULL);
	memcpy(longer, left, strlen(left));
	longer[strlen(left)] = *right;
	longer[strlen(left) + 1] = '\0';
	require(once__template_parse(text, &template, NULL) == ONCE_OK);
	if (format(template, &record, &arena, &one, &field) == ONCE__KEY_OK) {
		record.key = bytes_text(longer);
		record.headers = &headers[1];
		if (format(template, &record, &arena, &other, &field) ==
		    ONCE__KEY_OK)
			require(!bytes_equal(one, other));
	}
	once__template_destroy(template);
	arena_fini(&arena);
	free(longer);
}

static void check_template(char *const *pieces, struct once_bytes value)
{
	struct once_header header = { pieces[NAME], optional(pieces[HEADER]) };
	struct once_record record = {
		.topic = "topic",
		.time_ms = (int64_t)value.size - 1,
		.key = optional(pieces[KEY]),
		.value = value,
		.headers = &header,
		.header_count = 1,
	};
	struct once__template *template;
	struct once_error err = { 0 };

	if (once__template_parse(pieces[TEMPLATE], &template, &err) !=
	    ONCE_OK) {
		require(template == NULL && err.text[0] != '\0');
		return;
	}
	(void)once__template_varies(template);
	check_format(template, &record);
	once__template_destroy(template);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *pieces[PIECES];
	unsigned char *value;

	for (int i = 0; i < PIECES; i++)
		pieces[i] = take_line(&data, &size);
	value = size == 0 ? NULL : malloc(size);
	require(value != NULL || size == 0);
	if (size > 0)
		memcpy(value, data, size);
	check_template(pieces, bytes_of(value, size));
	if (pieces[HEADER][0] != '\0')
		check_joint(pieces[KEY], pieces[HEADER]);
	for (int i = 0; i < PIECES; i++)
		free(pieces[i]);
	free(value);
	return 0;
}
