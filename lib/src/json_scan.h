/*
 * json_scan.h - reading JSON (RFC 8259) piece by piece, without building
 * anything. Strict: no comments, no trailing commas, no byte order mark, no
 * leading zeros, no control characters in strings.
 *
 * A scan stands on the next byte. A function that returns false or a fault
 * leaves it anywhere: the text is to be given up.
 */
#ifndef ONCE_JSON_SCAN_H
#define ONCE_JSON_SCAN_H

#include "arena.h"
#include "key_fault.h"

#include <once/types.h>
#include <stdbool.h>

enum {
	ONCE__JSON_DEPTH_MAX = 512
};

struct once__json_scan {
	const unsigned char *at;
	const unsigned char *end;
};

/* What stands between two quotes, as written. */
struct once__json_string {
	struct once_bytes raw;
	bool escaped; /* a backslash is in it */
	bool ascii;   /* surely; else perhaps */
};

static inline void once__json_skip_space(struct once__json_scan *scan)
{
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' ||
					*scan->at == '\t' || *scan->at == '\r'))
		scan->at++;
}

/* Step over `byte` if it is next. */
static inline bool once__json_take_byte(struct once__json_scan *scan, char byte)
{
	if (scan->at == scan->end || *scan->at != (unsigned char)byte)
		return false;
	scan->at++;
	return true;
}

/* The scan stands on the opening quote. Escapes and control characters are
 * checked; UTF-8 and surrogates are the business of who uses the text. */
bool once__json_scan_string(struct once__json_scan *scan,
			    struct once__json_string *ret_string);
/* A member's name with the colon and the space on both sides. */
bool once__json_scan_name(struct once__json_scan *scan,
			  struct once__json_string *ret_name);
/* A number, true, false or null. */
bool once__json_scan_word(struct once__json_scan *scan,
			  struct once_bytes *ret_word);

/* Step over a value of any kind, inside `depth` open objects and arrays.
 * Errors: MALFORMED, TOO_DEEP. Memory and stack don't grow with the nesting. */
enum once__key_fault once__json_skip_value(struct once__json_scan *scan,
					   unsigned depth);

/* The text that a string means: where it stands, or, with an escape, decoded
 * into the arena. Errors: NOT_UTF8 (a lone surrogate, too), NUL, NO_MEMORY. */
enum once__key_fault once__json_string_text(
	const struct once__json_string *string, struct arena *arena,
	struct once_bytes *ret_text);
/* Does it mean `text`? Errors: NOT_UTF8 and NUL, so that no other parser can
 * take a broken name for this one. */
enum once__key_fault once__json_compare(const struct once__json_string *string,
					struct once_bytes text, bool *ret_same);

#endif
