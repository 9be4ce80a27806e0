/*
 * The JSON scanner. The idea to hold: a value that nobody asked for is stepped
 * over, with its grammar checked and nothing kept but one bit for each open
 * level (object or array), so a hostile text costs neither stack nor memory.
 * Most bytes of most values are in strings: those go by sixteen at a time.
 */
#include "json_scan.h"

#include "bytes.h"

#include <endian.h>
#include <stdint.h>

/* The compiler makes of it what the processor has. */
typedef unsigned char block __attribute__((vector_size(16)));

struct nesting {
	unsigned depth;
	uint64_t objects[ONCE__JSON_DEPTH_MAX / 64]; /* else an array */
};

static bool is_next(const struct once__json_scan *scan, char byte)
{
	return scan->at < scan->end && *scan->at == (unsigned char)byte;
}

/* ---- strings ---- */

/* How many at the start stand for themselves. */
static size_t count_plain(block bytes)
{
	block special =
		(block)((bytes < 0x20) | (bytes == '"') | (bytes == '\\'));
	uint64_t halves[2];

	memcpy(halves, &special, sizeof(halves));
	if (halves[0] != 0)
		return (size_t)__builtin_ctzll(le64toh(halves[0])) / 8;
	if (halves[1] != 0)
		return (size_t)__builtin_ctzll(le64toh(halves[1])) / 8 + 8;
	return sizeof(bytes);
}

static bool is_ascii(block bytes)
{
	uint64_t halves[2];

	memcpy(halves, &bytes, sizeof(halves));
	return ((halves[0] | halves[1]) & UINT64_C(0x8080808080808080)) == 0;
}

/* Zeros behind the end of the text: they end a string, too. */
static block last_block(const unsigned char *at, size_t left)
{
	block bytes = { 0 };

	memcpy(&bytes, at, left);
	return bytes;
}

static block next_block(const struct once__json_scan *scan)
{
	size_t left = (size_t)(scan->end - scan->at);
	block bytes;

	if (left < sizeof(bytes))
		return last_block(scan->at, left);
	memcpy(&bytes, scan->at, sizeof(bytes));
	return bytes;
}

/* Up to the next quote, backslash or control character. `seen` gathers what was
 * looked at, which may be more than that. */
static void skip_plain(struct once__json_scan *scan, block *seen)
{
	size_t plain;

	do {
		block bytes = next_block(scan);

		*seen |= bytes;
		plain = count_plain(bytes);
		scan->at += plain;
	} while (plain == sizeof(block));
}

static int hex_digit(unsigned char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

static bool skip_escape(struct once__json_scan *scan)
{
	if (!once__json_take_byte(scan, '\\') || scan->at == scan->end ||
	    *scan->at == '\0' || strchr("\"\\/bfnrtu", *scan->at) == NULL)
		return false;
	if (*scan->at++ != 'u')
		return true;
	for (int i = 0; i < 4; i++, scan->at++) {
		if (scan->at == scan->end || hex_digit(*scan->at) < 0)
			return false;
	}
	return true;
}

bool once__json_scan_string(struct once__json_scan *scan,
			    struct once__json_string *ret_string)
{
	const unsigned char *start;
	bool escaped = false;
	block seen = { 0 };

	if (!once__json_take_byte(scan, '"'))
		return false;
	start = scan->at;
	for (;;) {
		skip_plain(scan, &seen);
		if (!is_next(scan, '\\'))
			break;
		escaped = true;
		if (!skip_escape(scan))
			return false;
	}
	ret_string->raw = bytes_of(start, (size_t)(scan->at - start));
	ret_string->escaped = escaped;
	ret_string->ascii = is_ascii(seen);
	return once__json_take_byte(scan, '"');
}

bool once__json_scan_name(struct once__json_scan *scan,
			  struct once__json_string *ret_name)
{
	once__json_skip_space(scan);
	if (!once__json_scan_string(scan, ret_name))
		return false;
	once__json_skip_space(scan);
	if (!once__json_take_byte(scan, ':'))
		return false;
	once__json_skip_space(scan);
	return true;
}

/* ---- numbers, true, false, null ---- */

/* At least one. */
static bool skip_digits(struct once__json_scan *scan)
{
	const unsigned char *start = scan->at;

	while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
		scan->at++;
	return scan->at > start;
}

static bool skip_number(struct once__json_scan *scan)
{
	once__json_take_byte(scan, '-');
	if (!once__json_take_byte(scan, '0') && !skip_digits(scan))
		return false;
	if (once__json_take_byte(scan, '.') && !skip_digits(scan))
		return false;
	if (!once__json_take_byte(scan, 'e') &&
	    !once__json_take_byte(scan, 'E'))
		return true;
	if (!once__json_take_byte(scan, '+'))
		once__json_take_byte(scan, '-');
	return skip_digits(scan);
}

static bool skip_literal(struct once__json_scan *scan, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(scan->end - scan->at) < size ||
	    memcmp(scan->at, word, size) != 0)
		return false;
	scan->at += size;
	return true;
}

bool once__json_scan_word(struct once__json_scan *scan,
			  struct once_bytes *ret_word)
{
	const unsigned char *start = scan->at;
	bool good = skip_literal(scan, "true") || skip_literal(scan, "false") ||
		    skip_literal(scan, "null") || skip_number(scan);

	*ret_word = bytes_of(start, (size_t)(scan->at - start));
	return good;
}

/* ---- values that nobody asked for ---- */

static bool in_object(const struct nesting *nest)
{
	unsigned level = nest->depth - 1;

	return (nest->objects[level / 64] >> (level % 64) & 1) != 0;
}

static bool push(struct nesting *nest, bool object)
{
	unsigned level = nest->depth;
	uint64_t bit = UINT64_C(1) << (level % 64);

	if (level == ONCE__JSON_DEPTH_MAX)
		return false;
	nest->depth++;
	nest->objects[level / 64] &= ~bit;
	if (object)
		nest->objects[level / 64] |= bit;
	return true;
}

static bool skip_name(struct once__json_scan *scan)
{
	struct once__json_string name;

	return once__json_scan_name(scan, &name);
}

static bool skip_scalar(struct once__json_scan *scan)
{
	struct once__json_string string;
	struct once_bytes word;

	if (is_next(scan, '"'))
		return once__json_scan_string(scan, &string);
	return once__json_scan_word(scan, &word);
}

/* Step over a scalar or an empty container (then the value is complete), or
 * step into a container, up to its first value. */
static enum once__key_fault start_value(struct once__json_scan *scan,
					struct nesting *nest,
					bool *ret_complete)
{
	bool object = is_next(scan, '{');

	*ret_complete = true;
	if (!object && !is_next(scan, '['))
		return skip_scalar(scan) ? ONCE__KEY_OK : ONCE__KEY_MALFORMED;
	if (!push(nest, object))
		return ONCE__KEY_TOO_DEEP;
	scan->at++;
	once__json_skip_space(scan);
	if (once__json_take_byte(scan, object ? '}' : ']')) {
		nest->depth--;
		return ONCE__KEY_OK;
	}
	*ret_complete = false;
	return !object || skip_name(scan) ? ONCE__KEY_OK : ONCE__KEY_MALFORMED;
}

/* Behind a complete value: close what ends there, down to `depth`, or stop in
 * front of the next value. */
static bool finish_values(struct once__json_scan *scan, struct nesting *nest,
			  unsigned depth)
{
	while (nest->depth > depth) {
		bool object = in_object(nest);

		once__json_skip_space(scan);
		if (once__json_take_byte(scan, ',')) {
			once__json_skip_space(scan);
			return !object || skip_name(scan);
		}
		if (!once__json_take_byte(scan, object ? '}' : ']'))
			return false;
		nest->depth--;
	}
	return true;
}

enum once__key_fault once__json_skip_value(struct once__json_scan *scan,
					   unsigned depth)
{
	struct nesting nest;
	bool complete;

	nest.depth = depth;
	do {
		enum once__key_fault fault =
			start_value(scan, &nest, &complete);

		if (fault != ONCE__KEY_OK)
			return fault;
		if (complete && !finish_values(scan, &nest, depth))
			return ONCE__KEY_MALFORMED;
	} while (nest.depth > depth);
	return ONCE__KEY_OK;
}
