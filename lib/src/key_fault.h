/* key_fault.h - why a field of a message can't be part of a key. */
#ifndef ONCE_KEY_FAULT_H
#define ONCE_KEY_FAULT_H

/* Each text goes behind the field: `json:/id is null`. NO_MEMORY says nothing
 * about the message: try again, never park it for that. */
/* clang-format off */
#define ONCE__KEY_FAULT_TABLE(X)                                             \
	X(OK,          "is there")                                           \
	X(MISSING,     "is missing")                                         \
	X(NO_VALUE,    "is asked of a message without a value (a tombstone)") \
	X(IS_NULL,     "is null, or leads through null")                     \
	X(EMPTY,       "is empty")                                           \
	X(NOT_SCALAR,  "is an object or an array")                           \
	X(NO_MEMBERS,  "leads through a string, number or boolean")          \
	X(REPEATED,    "has a member on its path that is there twice")       \
	X(MALFORMED,   "is asked of a value that isn't well-formed JSON")    \
	X(TOO_DEEP,    "is asked of JSON that is nested deeper than 512")    \
	X(NUL,         "has a NUL in it")                                    \
	X(NOT_UTF8,    "isn't valid UTF-8, or has a name beside it that isn't") \
	X(BAD_POINTER, "isn't a JSON pointer (RFC 6901)")                    \
	X(NO_MEMORY,   "could not be read: out of memory")
/* clang-format on */

enum once__key_fault {
#define X(name, text) ONCE__KEY_##name,
	ONCE__KEY_FAULT_TABLE(X)
#undef X
};

const char *once__key_fault_text(enum once__key_fault fault);

#endif
