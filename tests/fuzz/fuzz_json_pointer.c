/*
 * Any bytes as a pointer and a JSON text: the first line is the pointer, the
 * rest the text. Both are copied to memory of their exact size, so that a read
 * beyond the end is seen.
 */
#include "json_members.h"
#include "json_pointer.h"

#include "arena.h"
#include "bytes.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void *copy_exactly(const uint8_t *data, size_t size, size_t more)
{
	unsigned char *copy = malloc(size + more);

	require(copy != NULL || size + more == 0);
	if (size > 0)
		memcpy(copy, data, size);
	if (more > 0)
		copy[size] = '\0';
	return copy;
}

static void check_scalar(enum once__key_fault fault, struct once_bytes scalar,
			 size_t json_size)
{
	if (fault != ONCE__KEY_OK) {
		require(scalar.data == NULL);
		return;
	}
	require(scalar.data != NULL);
	require(scalar.size <= json_size);
	require(memchr(scalar.data, '\0', scalar.size) == NULL);
	require(bytes_are_utf8(scalar));
}

/* A good text without its last byte is malformed, unless it is a number or a
 * word that stands alone. */
static void check_cut(struct once_bytes json, const char *pointer,
		      struct arena *arena)
{
	const char *text = json.data;
	size_t size = json.size;
	struct once_bytes scalar;
	enum once__key_fault fault;

	while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL &&
	       text[size - 1] != '\0')
		size--;
	if (size == 0 || (text[size - 1] != '}' && text[size - 1] != ']' &&
			  text[size - 1] != '"'))
		return;
	fault = once__json_find(bytes_of(text, size - 1), pointer, arena,
				&scalar);
	require(fault != ONCE__KEY_OK && fault != ONCE__KEY_MISSING);
}

/* Of two broken names on the path, either may be told. */
static bool same_fault(enum once__key_fault a, enum once__key_fault b)
{
	bool name_a = a == ONCE__KEY_NUL || a == ONCE__KEY_NOT_UTF8;
	bool name_b = b == ONCE__KEY_NUL || b == ONCE__KEY_NOT_UTF8;

	return a == b || (name_a && name_b);
}

static void check_members(struct once_bytes json, const char *pointer,
			  enum once__key_fault expected_fault,
			  struct once_bytes expected, struct arena *arena)
{
	const struct once__json_members *members =
		once__json_members_read(json, arena);
	char *text = arena_copy(arena, bytes_text(pointer));
	struct once__json_pointer parsed;
	struct once_bytes scalar;

	if (members == NULL || expected_fault == ONCE__KEY_BAD_POINTER)
		return;
	require(once__json_pointer_parse(text, &parsed, NULL) == ONCE_OK);
	if (parsed.count == 0)
		return;
	require(same_fault(
		once__json_members_find(members, &parsed, arena, &scalar),
		expected_fault));
	require(bytes_equal(scalar, expected));
}

static void check_find(struct once_bytes json, const char *pointer)
{
	struct arena arena = { 0 };
	struct once_bytes scalar;
	struct once_bytes again;
	enum once__key_fault fault =
		once__json_find(json, pointer, &arena, &scalar);

	check_scalar(fault, scalar, json.size);
	require(once__json_find(json, pointer, &arena, &again) == fault);
	require(bytes_equal(scalar, again));
	check_members(json, pointer, fault, scalar, &arena);
	if (fault == ONCE__KEY_OK || fault == ONCE__KEY_MISSING)
		check_cut(json, pointer, &arena);
	arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line_end = size == 0 ? NULL : memchr(data, '\n', size);
	size_t line = line_end == NULL ? 0 : (size_t)(line_end - data);
	size_t from = line_end == NULL ? 0 : line + 1;
	char *pointer = copy_exactly(data, line, 1);
	void *json = copy_exactly(data + from, size - from, 0);

	if (json != NULL)
		check_find(bytes_of(json, size - from), pointer);
	free(json);
	free(pointer);
	return 0;
}
