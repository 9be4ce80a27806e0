/*
 * once/types.h - the few types that handlers, embedding programs and onced
 * share: a run of bytes, a status, an error text.
 */
#ifndef ONCE_TYPES_H
#define ONCE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define ONCE_API __attribute__((visibility("default")))
#define ONCE_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define ONCE_MUST_CHECK __attribute__((warn_unused_result))

/* A run of bytes, borrowed. `data` is NULL when there is no value at all (a
 * tombstone, an absent header, SQL NULL); an empty value has a non-NULL `data`
 * and a `size` of 0. Not NUL-terminated. */
struct once_bytes {
	const void *data;
	size_t size;
};

/* What a caller does next. The text beside it is for people. */
/* clang-format off */
#define ONCE_STATUS_TABLE(X)                                              \
	X(OK,        "done")                                              \
	X(TRANSIENT, "may succeed later: nothing was committed")          \
	X(UNKNOWN,   "COMMIT was sent and not answered: settle it first") \
	X(INVALID,   "the input is wrong")                                \
	X(CONFIG,    "an operator must change something first")           \
	X(DENIED,    "the database role may not do that")                 \
	X(FENCED,    "somebody else has moved this position")             \
	X(BUG,       "a rule of the program was broken")
/* clang-format on */

enum once_status {
#define X(name, text) ONCE_##name,
	ONCE_STATUS_TABLE(X)
#undef X
};

/* Filled by the lowest level that knows; lives in the caller's frame. */
struct once_error {
	enum once_status status;
	char sqlstate[6]; /* "" when no database said it */
	char text[512];
};

#endif
