/*
 * reading.h - a message that is being read: by the templates of its keys, then
 * by its handler. A JSON value is gone through once for all that ask.
 */
#ifndef ONCE__READING_H
#define ONCE__READING_H

#include "arena.h"
#include "json_pointer.h"

#include <once/once.h>
#include <stdbool.h>

struct once__json_members;

/* The record and the arena, and all else zero. What is found ends with them. */
struct once__reading {
	const struct once_record *record;
	struct arena *arena;
	bool asked;
	const struct once__json_members *members;
};

/* As once__json_pointer_find(), in the message's value. */
enum once__key_fault once__reading_find(
	struct once__reading *reading, const struct once__json_pointer *pointer,
	struct once_bytes *ret_scalar) ONCE_MUST_CHECK;

#endif
