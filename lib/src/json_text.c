/*
 * What a JSON string means. The scanner has checked the grammar of the escapes
 * before; here surrogates are paired, and what can't stand in a key (NUL, half
 * a pair, bytes that aren't UTF-8) is told.
 */
#include "bytes.h"
#include "json_scan.h"

#include <stdint.h>

static uint32_t digit_value(unsigned char hex)
{
	return hex <= '9' ? hex - (uint32_t)'0'
			  : (hex | 0x20) - (uint32_t)'a' + 10;
}

/* `at` stands on the "u". */
static uint32_t read_unit(const unsigned char *at)
{
	return digit_value(at[1]) << 12 | digit_value(at[2]) << 8 |
	       digit_value(at[3]) << 4 | digit_value(at[4]);
}

static unsigned char simple_escape(unsigned char letter)
{
	static const char letters[] = "bfnrt";
	static const char meanings[] = "\b\f\n\r\t";
	const char *found = strchr(letters, letter);

	return found == NULL ? letter
			     : (unsigned char)meanings[found - letters];
}

static size_t encode_utf8(uint32_t code, unsigned char *out)
{
	static const unsigned char leads[] = { 0x00, 0xC0, 0xE0, 0xF0 };
	size_t tail = code < 0x80      ? 0
		      : code < 0x800   ? 1
		      : code < 0x10000 ? 2
				       : 3;

	for (size_t i = tail; i > 0; i--, code >>= 6)
		out[i] = (unsigned char)(0x80 | (code & 0x3F));
	out[0] = (unsigned char)(leads[tail] | code);
	return tail + 1;
}

static bool is_high_surrogate(uint32_t unit)
{
	return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_surrogate(uint32_t unit)
{
	return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* One or two \u; the scan stands on the first "u". */
static enum once__key_fault decode_units(struct once__json_scan *scan,
					 unsigned char *out, size_t *ret_size)
{
	uint32_t code = read_unit(scan->at);
	uint32_t low;

	scan->at += 5;
	if (code == 0)
		return ONCE__KEY_NUL;
	if (is_low_surrogate(code))
		return ONCE__KEY_NOT_UTF8;
	if (is_high_surrogate(code)) {
		if (scan->end - scan->at < 6 || scan->at[0] != '\\' ||
		    scan->at[1] != 'u')
			return ONCE__KEY_NOT_UTF8;
		low = read_unit(scan->at + 1);
		if (!is_low_surrogate(low))
			return ONCE__KEY_NOT_UTF8;
		scan->at += 6;
		code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
	}
	*ret_size = encode_utf8(code, out);
	return ONCE__KEY_OK;
}

/* The next byte or escape; `out` has room for 4. */
static enum once__key_fault decode_next(struct once__json_scan *scan,
					unsigned char *out, size_t *ret_size)
{
	*ret_size = 1;
	*out = *scan->at++;
	if (*out != '\\')
		return ONCE__KEY_OK;
	if (*scan->at == 'u')
		return decode_units(scan, out, ret_size);
	*out = simple_escape(*scan->at++);
	return ONCE__KEY_OK;
}

static struct once__json_scan scan_raw(const struct once__json_string *string)
{
	struct once__json_scan scan;

	scan.at = string->raw.data;
	scan.end = scan.at + string->raw.size;
	return scan;
}

/* Into `out`, which holds at least as many bytes as the string. */
static enum once__key_fault decode(const struct once__json_string *string,
				   unsigned char *out, size_t *ret_size)
{
	struct once__json_scan scan = scan_raw(string);
	unsigned char *start = out;

	while (scan.at < scan.end) {
		unsigned char bytes[4];
		size_t size;
		enum once__key_fault fault = decode_next(&scan, bytes, &size);

		if (fault != ONCE__KEY_OK)
			return fault;
		memcpy(out, bytes, size);
		out += size;
	}
	*ret_size = (size_t)(out - start);
	return ONCE__KEY_OK;
}

enum once__key_fault once__json_string_text(
	const struct once__json_string *string, struct arena *arena,
	struct once_bytes *ret_text)
{
	size_t size = string->raw.size;
	unsigned char *text;
	enum once__key_fault fault;

	*ret_text = string->raw;
	if (!string->ascii && !bytes_are_utf8(string->raw))
		return ONCE__KEY_NOT_UTF8;
	if (!string->escaped)
		return ONCE__KEY_OK;
	text = arena_take(arena, size);
	if (text == NULL)
		return ONCE__KEY_NO_MEMORY;
	fault = decode(string, text, &size);
	*ret_text = bytes_of(text, size);
	return fault;
}

/* Read to the end, even when they differ: the rest may be faulty. */
static enum once__key_fault compare_escaped(
	const struct once__json_string *string, struct once_bytes text,
	bool *ret_same)
{
	struct once__json_scan scan = scan_raw(string);
	const unsigned char *at = text.data;
	size_t left = text.size;

	*ret_same = true;
	while (scan.at < scan.end) {
		unsigned char bytes[4];
		size_t size;
		enum once__key_fault fault = decode_next(&scan, bytes, &size);

		if (fault != ONCE__KEY_OK)
			return fault;
		*ret_same = *ret_same && size <= left &&
			    memcmp(at, bytes, size) == 0;
		if (*ret_same) {
			at += size;
			left -= size;
		}
	}
	*ret_same = *ret_same && left == 0;
	return ONCE__KEY_OK;
}

enum once__key_fault once__json_compare(const struct once__json_string *string,
					struct once_bytes text, bool *ret_same)
{
	if (!string->ascii && !bytes_are_utf8(string->raw))
		return ONCE__KEY_NOT_UTF8;
	if (string->escaped)
		return compare_escaped(string, text, ret_same);
	*ret_same = bytes_equal(string->raw, text);
	return ONCE__KEY_OK;
}
