/* Most values are objects, and most pointers name one of its members: all of
 * these are found together, at the first question. In any other text, and for
 * any other pointer, each is followed for itself. */
#include "reading.h"

#include "json_members.h"

static void read_members(struct once__reading *reading)
{
	if (reading->asked)
		return;
	reading->asked = true;
	reading->members =
		once__json_members_read(reading->record->value, reading->arena);
}

enum once__key_fault once__reading_find(
	struct once__reading *reading, const struct once__json_pointer *pointer,
	struct once_bytes *ret_scalar)
{
	read_members(reading);
	if (reading->members == NULL || pointer->count == 0)
		return once__json_pointer_find(pointer, reading->record->value,
					       reading->arena, ret_scalar);
	return once__json_members_find(reading->members, pointer,
				       reading->arena, ret_scalar);
}
