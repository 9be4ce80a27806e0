/*
 * Following a pointer through a JSON text. The idea to hold: find_value()
 * recurses along the pointer's steps only, never along the text's nesting;
 * everything beside the path is stepped over by the scanner. `found` is what is
 * known of the wanted scalar so far; the functions return only what makes
 * reading on pointless.
 */
#include "json_pointer.h"

#include "bytes.h"
#include "error.h"
#include "json_scan.h"

#include <inttypes.h>

struct lookup {
	const struct once__json_pointer *pointer;
	struct once__json_scan scan;
	struct arena *arena;
	enum once__key_fault found;
	struct once_bytes scalar;
};

/* ---- parsing a pointer ---- */

/* Up to the next "/", ~0 and ~1 decoded in place. */
static char *read_step(char *at, struct once_bytes *ret_step)
{
	char *start = at;
	char *out = at;

	for (; *at != '\0' && *at != '/'; at++) {
		char byte = *at;

		if (byte == '~') {
			at++;
			if (*at != '0' && *at != '1')
				return NULL;
			byte = *at == '0' ? '~' : '/';
		}
		*out++ = byte;
	}
	*ret_step = bytes_of(start, (size_t)(out - start));
	return at;
}

enum once_status once__json_pointer_parse(
	char *text, struct once__json_pointer *ret_pointer,
	struct once_error *err)
{
	ret_pointer->count = 0;
	if (!bytes_are_utf8(bytes_text(text))) {
		return error_set(err, ONCE_INVALID,
				 "the JSON pointer isn't valid UTF-8");
	}
	if (*text != '\0' && *text != '/') {
		return error_set(err, ONCE_INVALID,
				 "a JSON pointer begins with \"/\": "
				 "write \"/%s\"",
				 text);
	}
	while (*text == '/') {
		size_t step = ret_pointer->count++;

		if (step == ONCE__JSON_POINTER_STEPS) {
			return error_set(err, ONCE_INVALID,
					 "a JSON pointer has at most %d steps",
					 ONCE__JSON_POINTER_STEPS);
		}
		text = read_step(text + 1, &ret_pointer->steps[step]);
		if (text == NULL) {
			return error_set(err, ONCE_INVALID,
					 "in a JSON pointer \"~\" is written "
					 "\"~0\", and \"/\" in a name \"~1\"");
		}
	}
	return ONCE_OK;
}

/* ---- following it ---- */

static enum once__key_fault find_value(struct lookup *look, unsigned depth);

static bool is_next(const struct lookup *look, char byte)
{
	return look->scan.at < look->scan.end &&
	       *look->scan.at == (unsigned char)byte;
}

static enum once__key_fault read_scalar(struct lookup *look)
{
	struct once__json_string string;

	if (is_next(look, '"')) {
		if (!once__json_scan_string(&look->scan, &string))
			return ONCE__KEY_MALFORMED;
		look->found = once__json_string_text(&string, look->arena,
						     &look->scalar);
		return ONCE__KEY_OK;
	}
	if (!once__json_scan_word(&look->scan, &look->scalar))
		return ONCE__KEY_MALFORMED;
	look->found = bytes_equal(look->scalar, bytes_text("null"))
			      ? ONCE__KEY_IS_NULL
			      : ONCE__KEY_OK;
	return ONCE__KEY_OK;
}

/* The pointer goes on, but the text ends in a scalar. */
static enum once__key_fault read_dead_end(struct lookup *look)
{
	enum once__key_fault fault = read_scalar(look);

	if (look->found != ONCE__KEY_IS_NULL)
		look->found = ONCE__KEY_NO_MEMBERS;
	return fault;
}

static enum once__key_fault find_member(struct lookup *look, unsigned depth,
					bool *seen)
{
	struct once_bytes wanted = look->pointer->steps[depth];
	struct once__json_string name;
	enum once__key_fault fault;
	bool same;

	if (!once__json_scan_name(&look->scan, &name))
		return ONCE__KEY_MALFORMED;
	fault = once__json_compare(&name, wanted, &same);
	if (fault != ONCE__KEY_OK)
		return fault;
	if (same && !*seen) {
		*seen = true;
		return find_value(look, depth + 1);
	}
	if (same)
		look->found = ONCE__KEY_REPEATED;
	return once__json_skip_value(&look->scan, depth + 1);
}

static enum once__key_fault find_in_object(struct lookup *look, unsigned depth)
{
	bool seen = false;

	look->scan.at++;
	once__json_skip_space(&look->scan);
	if (once__json_take_byte(&look->scan, '}'))
		return ONCE__KEY_OK;
	do {
		enum once__key_fault fault = find_member(look, depth, &seen);

		if (fault != ONCE__KEY_OK)
			return fault;
		once__json_skip_space(&look->scan);
	} while (once__json_take_byte(&look->scan, ','));
	return once__json_take_byte(&look->scan, '}') ? ONCE__KEY_OK
						      : ONCE__KEY_MALFORMED;
}

/* Digits without a leading zero, as RFC 6901 has it ("-" names the element
 * behind the last one, so never one that is there). */
static bool names_element(struct once_bytes step, uint64_t index)
{
	const unsigned char *at = step.data;
	uint64_t number = 0;

	if (step.size == 0 || step.size > 18 || (step.size > 1 && *at == '0'))
		return false;
	for (size_t i = 0; i < step.size; i++) {
		if (at[i] < '0' || at[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(at[i] - '0');
	}
	return number == index;
}

static enum once__key_fault find_in_array(struct lookup *look, unsigned depth)
{
	struct once_bytes wanted = look->pointer->steps[depth];
	enum once__key_fault fault;

	look->scan.at++;
	once__json_skip_space(&look->scan);
	if (once__json_take_byte(&look->scan, ']'))
		return ONCE__KEY_OK;
	for (uint64_t index = 0;; index++) {
		once__json_skip_space(&look->scan);
		if (names_element(wanted, index)) {
			fault = find_value(look, depth + 1);
		} else {
			fault = once__json_skip_value(&look->scan, depth + 1);
		}
		if (fault != ONCE__KEY_OK)
			return fault;
		once__json_skip_space(&look->scan);
		if (!once__json_take_byte(&look->scan, ','))
			break;
	}
	return once__json_take_byte(&look->scan, ']') ? ONCE__KEY_OK
						      : ONCE__KEY_MALFORMED;
}

/* `depth`: how many objects and arrays are open, and so many steps are done. */
static enum once__key_fault find_value(struct lookup *look, unsigned depth)
{
	bool object = is_next(look, '{');
	bool container = object || is_next(look, '[');

	if (depth < look->pointer->count) {
		if (object)
			return find_in_object(look, depth);
		return container ? find_in_array(look, depth)
				 : read_dead_end(look);
	}
	if (!container)
		return read_scalar(look);
	look->found = ONCE__KEY_NOT_SCALAR;
	return once__json_skip_value(&look->scan, depth);
}

enum once__key_fault once__json_pointer_follow(
	const struct once__json_pointer *pointer, unsigned done,
	struct once_bytes json, struct arena *arena,
	struct once_bytes *ret_scalar)
{
	struct lookup look = { .pointer = pointer,
			       .arena = arena,
			       .found = ONCE__KEY_MISSING };
	enum once__key_fault fault;

	*ret_scalar = bytes_of(NULL, 0);
	if (json.data == NULL)
		return ONCE__KEY_NO_VALUE;
	look.scan.at = json.data;
	look.scan.end = look.scan.at + json.size;
	once__json_skip_space(&look.scan);
	fault = find_value(&look, done);
	if (fault != ONCE__KEY_OK)
		return fault;
	once__json_skip_space(&look.scan);
	if (look.scan.at != look.scan.end)
		return ONCE__KEY_MALFORMED;
	if (look.found == ONCE__KEY_OK)
		*ret_scalar = look.scalar;
	return look.found;
}

enum once__key_fault once__json_pointer_find(
	const struct once__json_pointer *pointer, struct once_bytes json,
	struct arena *arena, struct once_bytes *ret_scalar)
{
	return once__json_pointer_follow(pointer, 0, json, arena, ret_scalar);
}

enum once__key_fault once__json_find(struct once_bytes json,
				     const char *pointer, struct arena *arena,
				     struct once_bytes *ret_scalar)
{
	struct once__json_pointer parsed;
	char *text = arena_copy(arena, bytes_text(pointer));

	*ret_scalar = bytes_of(NULL, 0);
	if (text == NULL)
		return ONCE__KEY_NO_MEMORY;
	if (once__json_pointer_parse(text, &parsed, NULL) != ONCE_OK)
		return ONCE__KEY_BAD_POINTER;
	return once__json_pointer_find(&parsed, json, arena, ret_scalar);
}
