/*
 * json_members.h - the members of a JSON text's outermost object, for one who
 * asks for several: the text is read once, not once for each.
 */
#ifndef ONCE__JSON_MEMBERS_H
#define ONCE__JSON_MEMBERS_H

#include "arena.h"
#include "key_fault.h"

#include <once/types.h>

struct once__json_members;

/* NULL: the text is no well-formed JSON object, or there is no memory. It and
 * `json` end with the arena. */
struct once__json_members *once__json_members_read(struct once_bytes json,
						   struct arena *arena);

/* As once__json_find(), for a pointer with at least one step. */
enum once__key_fault once__json_members_find(
	const struct once__json_members *members, const char *pointer,
	struct arena *arena, struct once_bytes *ret_scalar);

#endif
