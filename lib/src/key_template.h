/*
 * key_template.h - how a route makes a key out of a message:
 *
 *	refund:{header:tenant}:{header:refund-no|json:/refund_no}
 *
 * Text with fields in braces: header:NAME (the last one wins), key,
 * json:/POINTER (RFC 6901, into the value), topic, partition, offset,
 * timestamp. A brace itself is written "{{" or "}}"; inside a field, "{", "|",
 * "}" and "\" of a name are written with a "\" before them. The single word
 * `coordinates` stands for {topic}:{partition}:{offset}. In a later log of that
 * topic and partition (once_record's log_generation) an offset is "1042@1".
 *
 * Fallbacks: the alternatives of {a|b} are places where the same identity may
 * stand, so the same text gives the same key wherever it was found. The next
 * one is asked only if the one before isn't there at all: no such header or
 * member, no Kafka key, no timestamp, a tombstone. One that is there and can't
 * be used (null, empty, not a scalar, repeated, malformed, NUL, not UTF-8) is a
 * bad key: what the producer meant would be a guess.
 *
 * Joining: two different lists of field texts never give the same key. Text
 * must stand between two fields; in a field's text the first byte of what
 * follows it, and "\", get a "\" before them. The last field ends where the
 * key ends and is left as it is, and so is a field that stands alone.
 *
 * Length: a key longer than ONCE__KEY_MAX_SIZE is abbreviated to its first 191
 * bytes (less, to end with a whole character), "#", and the SHA-256 of all of
 *it in hex. A shorter one that looks like such an abbreviation is abbreviated
 *as well, so that nobody can send one that equals another's.
 */
#ifndef ONCE_KEY_TEMPLATE_H
#define ONCE_KEY_TEMPLATE_H

#include "key_fault.h"
#include "reading.h"

#include <once/once.h>
#include <stdbool.h>

enum {
	ONCE__KEY_MAX_SIZE = 256
};

/* The msg_id of a route that doesn't say. */
extern const char once__default_msg_id[];

/* Immutable, so any thread may use it. */
struct once__template;

/* Errors: INVALID, with the column (characters, from 1) and what to write
 * instead; a text without any field, too. */
enum once_status once__template_parse(const char *text,
				      struct once__template **ret_template,
				      struct once_error *err) ONCE_MUST_CHECK;
void once__template_destroy(struct once__template *template);

/* Can it tell two messages apart? It needs a field whose alternatives all do:
 * header, key or json. Otherwise only topic, partition and offset together; one
 * or two of them, or a timestamp, would make one of messages that have nothing
 * to do with each other. */
bool once__template_varies(const struct once__template *template);

/* A key: 1 to ONCE__KEY_MAX_SIZE bytes of valid UTF-8 without NUL, in the
 * arena.
 *
 * Errors: a fault, and in *ret_field the field that has it, as written in the
 * template (all alternatives if none is there). It ends with the template. */
enum once__key_fault once__template_format(
	const struct once__template *template, struct once__reading *reading,
	struct once_bytes *ret_key, const char **ret_field) ONCE_MUST_CHECK;

/* What two messages must agree in to have one fingerprint. Neither is ever
 * refused: what it lacks is compared, too. */
struct once__compared {
	struct once_bytes marks; /* "": each field is there */
	struct once_bytes text;
};

/* With all fields there, `text` is the key that once__template_format() makes.
 * Else `marks` says which aren't, with the texts of those that are; and where
 * none is, or one can't be read, `text` is the whole value.
 *
 * false: out of memory. */
bool once__template_compare(
	const struct once__template *template, struct once__reading *reading,
	struct once__compared *ret_compared) ONCE_MUST_CHECK;

/* Of a key that once__template_format() made: was it too long? */
bool once__key_is_abbreviated(struct once_bytes key);

#endif
