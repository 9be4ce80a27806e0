/* Where each member's value stands, under its decoded name. A pointer's first
 * step picks one; the rest of it is followed inside that value. */
#include "json_members.h"

#include "bytes.h"
#include "json_scan.h"

enum {
	MOST_MEMBERS = 256 /* of more, each is looked for in the text */
};

struct member {
	struct once_bytes name;
	struct once_bytes value;
	struct once__json_string string; /* that it is; else raw.data NULL */
};

struct once__json_members {
	enum once__key_fault fault; /* of the first name that is broken */
	size_t count;
	struct member table[];
};

/* What is read, while it isn't known how many there are. */
struct reader {
	struct once__json_scan scan;
	struct arena *arena;
	enum once__key_fault fault;
	size_t count;
	struct member table[MOST_MEMBERS];
};

static bool read_name(struct reader *reader, struct once_bytes *ret_name)
{
	struct once__json_string name;
	enum once__key_fault fault;

	if (!once__json_scan_name(&reader->scan, &name))
		return false;
	fault = once__json_string_text(&name, reader->arena, ret_name);
	if (reader->fault == ONCE__KEY_OK)
		reader->fault = fault;
	return fault != ONCE__KEY_NO_MEMORY;
}

static bool read_value(struct once__json_scan *scan, struct member *member)
{
	const unsigned char *start = scan->at;
	bool good;

	member->string.raw = bytes_of(NULL, 0);
	if (scan->at < scan->end && *scan->at == '"')
		good = once__json_scan_string(scan, &member->string);
	else
		good = once__json_skip_value(scan, 1) == ONCE__KEY_OK;
	member->value = bytes_of(start, (size_t)(scan->at - start));
	return good;
}

static bool read_member(struct reader *reader)
{
	struct member *member = &reader->table[reader->count];

	if (reader->count == MOST_MEMBERS ||
	    !read_name(reader, &member->name) ||
	    !read_value(&reader->scan, member))
		return false;
	once__json_skip_space(&reader->scan);
	reader->count++;
	return true;
}

static bool read_object(struct reader *reader)
{
	struct once__json_scan *scan = &reader->scan;

	once__json_skip_space(scan);
	if (!once__json_take_byte(scan, '{'))
		return false;
	once__json_skip_space(scan);
	if (!once__json_take_byte(scan, '}')) {
		do {
			if (!read_member(reader))
				return false;
		} while (once__json_take_byte(scan, ','));
		if (!once__json_take_byte(scan, '}'))
			return false;
	}
	once__json_skip_space(scan);
	return scan->at == scan->end;
}

static const struct once__json_members *keep(const struct reader *reader)
{
	size_t size = reader->count * sizeof(reader->table[0]);
	struct once__json_members *members =
		arena_take(reader->arena, sizeof(*members) + size);

	if (members == NULL)
		return NULL;
	members->fault = reader->fault;
	members->count = reader->count;
	memcpy(members->table, reader->table, size);
	return members;
}

const struct once__json_members *once__json_members_read(struct once_bytes json,
							 struct arena *arena)
{
	struct reader reader; /* large: what isn't used isn't set */

	if (json.data == NULL)
		return NULL;
	reader.scan.at = json.data;
	reader.scan.end = reader.scan.at + json.size;
	reader.arena = arena;
	reader.fault = ONCE__KEY_OK;
	reader.count = 0;
	return read_object(&reader) ? keep(&reader) : NULL;
}

static enum once__key_fault find(const struct once__json_members *members,
				 struct once_bytes wanted,
				 const struct member **ret_member)
{
	const struct member *found = NULL;

	if (members->fault != ONCE__KEY_OK)
		return members->fault;
	for (size_t i = 0; i < members->count; i++) {
		if (!bytes_equal(members->table[i].name, wanted))
			continue;
		if (found != NULL)
			return ONCE__KEY_REPEATED;
		found = &members->table[i];
	}
	*ret_member = found;
	return found == NULL ? ONCE__KEY_MISSING : ONCE__KEY_OK;
}

enum once__key_fault once__json_members_find(
	const struct once__json_members *members,
	const struct once__json_pointer *pointer, struct arena *arena,
	struct once_bytes *ret_scalar)
{
	const struct member *member;
	struct once_bytes text;
	enum once__key_fault fault = find(members, pointer->steps[0], &member);

	*ret_scalar = bytes_of(NULL, 0);
	if (fault != ONCE__KEY_OK)
		return fault;
	if (member->string.raw.data == NULL || pointer->count > 1)
		return once__json_pointer_follow(pointer, 1, member->value,
						 arena, ret_scalar);
	fault = once__json_string_text(&member->string, arena, &text);
	if (fault == ONCE__KEY_OK)
		*ret_scalar = text;
	return fault;
}
