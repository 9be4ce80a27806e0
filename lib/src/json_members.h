/*
 * json_members.h - the members of a JSON text's outermost object, for those who
 * ask for several: the text is read once, not once for each.
 */
#ifndef ONCE__JSON_MEMBERS_H
#define ONCE__JSON_MEMBERS_H

#include "arena.h"
#include "json_pointer.h"

struct once__json_members;

/* NULL: the text is no well-formed JSON object, or has very many members, or
 * there is no memory. They end with `json` or with the arena. */
const struct once__json_members *once__json_members_read(struct once_bytes json,
							 struct arena *arena);

/* As once__json_pointer_find(), for a pointer with at least one step. */
enum once__key_fault once__json_members_find(
	const struct once__json_members *members,
	const struct once__json_pointer *pointer, struct arena *arena,
	struct once_bytes *ret_scalar) ONCE_MUST_CHECK;

#endif
