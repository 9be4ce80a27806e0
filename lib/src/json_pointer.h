/*
 * json_pointer.h - one scalar out of a JSON text, by RFC 6901 pointer.
 *
 * What is found: a string's text, decoded; a number's digits as written (20
 * digits stay 20 digits, 1e2 isn't 100, -0 isn't 0); `true` or `false`. So 7
 * and "7" are the same text: producers do change between the two.
 *
 * The text is always read to its end. JSON parsers disagree on which of two
 * equal members counts, so for each object on the path the rest must be seen
 * anyway, and the outermost one ends where the text ends; reading on makes a
 * text good or malformed whatever is asked of it. Price: the whole value is
 * passed over, about a fifth of a microsecond for 430 bytes.
 *
 * A fault elsewhere doesn't count unless it breaks the grammar: equal members
 * off the path, bad UTF-8 and lone surrogates in strings off the path. The
 * names in objects on the path must be sound, though.
 */
#ifndef ONCE_JSON_POINTER_H
#define ONCE_JSON_POINTER_H

#include "key_fault.h"

#include "arena.h"

#include <once/types.h>

enum {
	ONCE__JSON_POINTER_STEPS = 32
};

struct once__json_pointer {
	size_t count;
	struct once_bytes steps[ONCE__JSON_POINTER_STEPS]; /* decoded */
};

/* "" is the whole text, "/" the member with the empty name. `text` is decoded
 * in place, and the pointer keeps pointing into it. Errors: INVALID, with what
 * to write instead. */
enum once_status once__json_pointer_parse(
	char *text, struct once__json_pointer *ret_pointer,
	struct once_error *err) ONCE_MUST_CHECK;

/* *ret_scalar ends with `json` or with the arena, whichever is first; a found
 * one has non-NULL data, also when it is empty. It is valid UTF-8 with no NUL.
 *
 * Errors: MISSING, NO_VALUE (json.data is NULL), IS_NULL, NOT_SCALAR,
 * NO_MEMBERS, REPEATED, MALFORMED, TOO_DEEP, NUL, NOT_UTF8, NO_MEMORY. Of
 * several, MALFORMED and TOO_DEEP win over those that let a fallback be
 * taken. */
enum once__key_fault once__json_pointer_find(
	const struct once__json_pointer *pointer, struct once_bytes json,
	struct arena *arena, struct once_bytes *ret_scalar) ONCE_MUST_CHECK;

/* The same in a value that is part of a text: `done` of the steps led to it. */
enum once__key_fault once__json_pointer_follow(
	const struct once__json_pointer *pointer, unsigned done,
	struct once_bytes json, struct arena *arena,
	struct once_bytes *ret_scalar) ONCE_MUST_CHECK;

/* The same for a pointer that is only used once. Errors: also BAD_POINTER. */
enum once__key_fault once__json_find(
	struct once_bytes json, const char *pointer, struct arena *arena,
	struct once_bytes *ret_scalar) ONCE_MUST_CHECK;

#endif
