/* Where each member's value stands. A pointer's first step picks one; the rest
 * of it is followed inside that value. */
#include "json_members.h"

#include "bytes.h"
#include "json_pointer.h"
#include "json_scan.h"

struct member {
	struct once__json_string name;
	struct once_bytes value;
};

struct once__json_members {
	struct member *table;
	size_t count;
	size_t capacity;
};

static bool grow(struct once__json_members *members, struct arena *arena)
{
	size_t capacity = members->capacity * 2 + 16;
	struct member *table = arena_take(arena, capacity * sizeof(*table));

	if (table == NULL)
		return false;
	if (members->count > 0)
		memcpy(table, members->table, members->count * sizeof(*table));
	members->table = table;
	members->capacity = capacity;
	return true;
}

static bool read_member(struct once__json_members *members,
			struct once__json_scan *scan, struct arena *arena)
{
	struct member *member;
	const unsigned char *start;

	if (members->count == members->capacity && !grow(members, arena))
		return false;
	member = &members->table[members->count++];
	if (!once__json_scan_name(scan, &member->name))
		return false;
	start = scan->at;
	if (once__json_skip_value(scan, 1) != ONCE__KEY_OK)
		return false;
	member->value = bytes_of(start, (size_t)(scan->at - start));
	once__json_skip_space(scan);
	return true;
}

static bool read_object(struct once__json_members *members,
			struct once__json_scan *scan, struct arena *arena)
{
	once__json_skip_space(scan);
	if (!once__json_take_byte(scan, '{'))
		return false;
	once__json_skip_space(scan);
	if (!once__json_take_byte(scan, '}')) {
		do {
			if (!read_member(members, scan, arena))
				return false;
		} while (once__json_take_byte(scan, ','));
		if (!once__json_take_byte(scan, '}'))
			return false;
	}
	once__json_skip_space(scan);
	return scan->at == scan->end;
}

struct once__json_members *once__json_members_read(struct once_bytes json,
						   struct arena *arena)
{
	struct once__json_members *members =
		arena_take_zeroed(arena, 1, sizeof(*members));
	struct once__json_scan scan;

	if (members == NULL || json.data == NULL)
		return NULL;
	scan.at = json.data;
	scan.end = scan.at + json.size;
	return read_object(members, &scan, arena) ? members : NULL;
}

static enum once__key_fault find(const struct once__json_members *members,
				 struct once_bytes wanted,
				 const struct member **ret_member)
{
	*ret_member = NULL;
	for (size_t i = 0; i < members->count; i++) {
		const struct member *member = &members->table[i];
		bool same;
		enum once__key_fault fault =
			once__json_compare(&member->name, wanted, &same);

		if (fault != ONCE__KEY_OK)
			return fault;
		if (same && *ret_member != NULL)
			return ONCE__KEY_REPEATED;
		if (same)
			*ret_member = member;
	}
	return *ret_member == NULL ? ONCE__KEY_MISSING : ONCE__KEY_OK;
}

enum once__key_fault once__json_members_find(
	const struct once__json_members *members, const char *pointer,
	struct arena *arena, struct once_bytes *ret_scalar)
{
	struct once__json_pointer parsed;
	const struct member *member;
	char *text = arena_copy(arena, bytes_text(pointer));
	enum once__key_fault fault;

	*ret_scalar = bytes_of(NULL, 0);
	if (text == NULL)
		return ONCE__KEY_NO_MEMORY;
	if (once__json_pointer_parse(text, &parsed, NULL) != ONCE_OK ||
	    parsed.count == 0)
		return ONCE__KEY_BAD_POINTER;
	fault = find(members, parsed.steps[0], &member);
	if (fault != ONCE__KEY_OK)
		return fault;
	parsed.count--;
	memmove(parsed.steps, parsed.steps + 1,
		parsed.count * sizeof(*parsed.steps));
	return once__json_pointer_find(&parsed, member->value, arena,
				       ret_scalar);
}
