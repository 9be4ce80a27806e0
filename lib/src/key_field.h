/* key_field.h - one place in a message that a key can be made of. */
#ifndef ONCE_KEY_FIELD_H
#define ONCE_KEY_FIELD_H

#include "json_pointer.h"
#include "key_fault.h"
#include "reading.h"

#include <once/once.h>
#include <stdbool.h>

/* The word, what stands behind its colon (NULL: nothing), whether its text can
 * tell two messages apart by itself, whether every message has one. */
/* clang-format off */
#define ONCE__FIELD_TABLE(X)                           \
	X(HEADER,    "header",    "NAME",     true,  false) \
	X(KEY,       "key",       NULL,       true,  false) \
	X(JSON,      "json",      "/POINTER", true,  false) \
	X(TOPIC,     "topic",     NULL,       false, true)  \
	X(PARTITION, "partition", NULL,       false, true)  \
	X(OFFSET,    "offset",    NULL,       false, true)  \
	X(TIMESTAMP, "timestamp", NULL,       false, false)
/* clang-format on */

enum once__field_kind {
#define X(name, word, argument, telling, always) ONCE__FIELD_##name,
	ONCE__FIELD_TABLE(X)
#undef X
};

struct once__field {
	enum once__field_kind kind;
	const char *written;               /* as in the template */
	const char *header;                /* NULL: another kind */
	struct once__json_pointer pointer; /* of JSON */
};

/* `text` is cut up in place and kept pointed into; `written` is kept. Errors:
 * INVALID, with what to write instead. */
enum once_status once__field_parse(char *text, const char *written,
				   struct once__field *ret_field,
				   struct once_error *err) ONCE_MUST_CHECK;

/* Can it tell two messages apart by itself? Not topic and partition (all
 * messages of a partition share them), not offset (each partition has an
 * offset 5), not timestamp (a millisecond holds many messages). */
bool once__field_is_telling(const struct once__field *field);
/* Does every message have one? */
bool once__field_is_always(const struct once__field *field);

/* The field's text in this message: not empty, valid UTF-8, no NUL. It ends
 * with the record or the arena, whichever is first. The last header of a name
 * counts, even if its value is null. */
enum once__key_fault once__field_find(
	const struct once__field *field, struct once__reading *reading,
	struct once_bytes *ret_text) ONCE_MUST_CHECK;

#endif
