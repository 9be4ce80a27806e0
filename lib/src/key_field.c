/*
 * The fields of key templates. The idea to hold: a field's text is either what
 * the message says, byte for byte, or there is none and the fault says why;
 * nothing is repaired, trimmed or guessed.
 */
#include "key_field.h"

#include "bytes.h"
#include "error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	LONGEST_WORD = 15,
	NEAR = 2
};

struct field_word {
	const char *word;
	const char *argument;
	bool telling;
	bool always;
};

static const struct field_word field_words[] = {
#define X(name, word, argument, telling, always) \
	{ word, argument, telling, always },
	ONCE__FIELD_TABLE(X)
#undef X
};

enum {
	FIELD_COUNT = sizeof(field_words) / sizeof(field_words[0])
};

bool once__field_is_telling(const struct once__field *field)
{
	return field_words[field->kind].telling;
}

bool once__field_is_always(const struct once__field *field)
{
	return field_words[field->kind].always;
}

/* ---- parsing ---- */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many letters to add, drop or change (Levenshtein), a row at a time. */
static size_t distance(const char *a, const char *b)
{
	size_t row[LONGEST_WORD + 1];
	size_t size = strlen(b);

	for (size_t j = 0; j <= size; j++)
		row[j] = j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < size; j++) {
			size_t changed = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			row[j + 1] =
				least(changed, least(row[j], diagonal) + 1);
		}
	}
	return row[size];
}

static const char *nearest_word(const char *word)
{
	const char *nearest = NULL;
	size_t best = NEAR + 1;

	for (size_t i = 0; i < FIELD_COUNT; i++) {
		size_t far = distance(word, field_words[i].word);

		if (far < best) {
			best = far;
			nearest = field_words[i].word;
		}
	}
	return nearest;
}

static enum once_status refuse_word(const char *word, struct once_error *err)
{
	const char *nearest = nearest_word(word);

	if (*word == '\0') {
		return error_set(err, ONCE_INVALID,
				 "a field has no name: write {key}, "
				 "{header:NAME} or {json:/POINTER}, or \"{{\" "
				 "for a brace itself");
	}
	if (strcmp(word, "coordinates") == 0) {
		return error_set(err, ONCE_INVALID,
				 "\"coordinates\" is a whole template: write "
				 "it without braces, or "
				 "{topic}:{partition}:{offset}");
	}
	if (nearest != NULL) {
		return error_set(err, ONCE_INVALID,
				 "there is no field \"%s\": did you mean "
				 "\"%s\"?",
				 word, nearest);
	}
	return error_set(err, ONCE_INVALID,
			 "there is no field \"%s\": there are header:NAME, "
			 "key, json:/POINTER, topic, partition, offset and "
			 "timestamp",
			 word);
}

static bool find_word(const char *word, enum once__field_kind *ret_kind)
{
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (strcmp(word, field_words[i].word) == 0) {
			*ret_kind = (enum once__field_kind)i;
			return true;
		}
	}
	return false;
}

static enum once_status check_argument(const struct once__field *field,
				       const char *argument,
				       struct once_error *err)
{
	const struct field_word *word = &field_words[field->kind];

	if (word->argument == NULL && argument != NULL) {
		return error_set(err, ONCE_INVALID,
				 "\"%s\" takes nothing behind it: write {%s}",
				 word->word, word->word);
	}
	if (word->argument == NULL)
		return ONCE_OK;
	if (argument == NULL ||
	    (field->kind == ONCE__FIELD_HEADER && *argument == '\0')) {
		return error_set(err, ONCE_INVALID,
				 "\"%s\" doesn't say which: write {%s:%s}",
				 word->word, word->word, word->argument);
	}
	return ONCE_OK;
}

enum once_status once__field_parse(char *text, const char *written,
				   struct once__field *ret_field,
				   struct once_error *err)
{
	char *argument = strchr(text, ':');
	enum once_status status;

	if (argument != NULL)
		*argument++ = '\0';
	ret_field->written = written;
	ret_field->header = NULL;
	if (!find_word(text, &ret_field->kind))
		return refuse_word(text, err);
	status = check_argument(ret_field, argument, err);
	if (status != ONCE_OK)
		return status;
	if (ret_field->kind == ONCE__FIELD_HEADER)
		ret_field->header = argument;
	if (ret_field->kind == ONCE__FIELD_JSON) {
		return once__json_pointer_parse(argument, &ret_field->pointer,
						err);
	}
	return ONCE_OK;
}

/* ---- finding ---- */

static enum once__key_fault check_text(struct once_bytes text)
{
	if (text.size == 0)
		return ONCE__KEY_EMPTY;
	if (memchr(text.data, '\0', text.size) != NULL)
		return ONCE__KEY_NUL;
	return bytes_are_utf8(text) ? ONCE__KEY_OK : ONCE__KEY_NOT_UTF8;
}

static enum once__key_fault find_header(const char *name,
					const struct once_record *record,
					struct once_bytes *ret_text)
{
	for (size_t i = record->header_count; i > 0; i--) {
		const struct once_header *header = &record->headers[i - 1];

		if (strcmp(header->name, name) != 0)
			continue;
		*ret_text = header->value;
		return header->value.data == NULL ? ONCE__KEY_IS_NULL
						  : check_text(header->value);
	}
	return ONCE__KEY_MISSING;
}

static enum once__key_fault find_json(const struct once__field *field,
				      struct once__reading *reading,
				      struct once_bytes *ret_text)
{
	enum once__key_fault fault =
		once__reading_find(reading, &field->pointer, ret_text);

	if (fault == ONCE__KEY_OK && ret_text->size == 0)
		return ONCE__KEY_EMPTY;
	return fault;
}

static enum once__key_fault format_number(int64_t number, struct arena *arena,
					  struct once_bytes *ret_text)
{
	char digits[24];
	int size = snprintf(digits, sizeof(digits), "%" PRId64, number);

	ret_text->data = arena_copy(arena, bytes_of(digits, (size_t)size));
	ret_text->size = (size_t)size;
	return ret_text->data == NULL ? ONCE__KEY_NO_MEMORY : ONCE__KEY_OK;
}

/* In another log the same offset is another message. In the first one it is as
 * it has always been. */
static enum once__key_fault format_offset(const struct once_record *record,
					  struct arena *arena,
					  struct once_bytes *ret_text)
{
	char text[48];
	int size;

	if (record->log_generation == 0)
		return format_number(record->offset, arena, ret_text);
	size = snprintf(text, sizeof(text), "%" PRId64 "@%" PRId32,
			record->offset, record->log_generation);
	ret_text->data = arena_copy(arena, bytes_of(text, (size_t)size));
	ret_text->size = (size_t)size;
	return ret_text->data == NULL ? ONCE__KEY_NO_MEMORY : ONCE__KEY_OK;
}

enum once__key_fault once__field_find(const struct once__field *field,
				      struct once__reading *reading,
				      struct once_bytes *ret_text)
{
	const struct once_record *record = reading->record;
	struct arena *arena = reading->arena;

	switch (field->kind) {
	case ONCE__FIELD_HEADER:
		return find_header(field->header, record, ret_text);
	case ONCE__FIELD_KEY:
		*ret_text = record->key;
		return record->key.data == NULL ? ONCE__KEY_MISSING
						: check_text(record->key);
	case ONCE__FIELD_JSON:
		return find_json(field, reading, ret_text);
	case ONCE__FIELD_TOPIC:
		*ret_text = bytes_text(record->topic);
		return check_text(*ret_text);
	case ONCE__FIELD_PARTITION:
		return format_number(record->partition, arena, ret_text);
	case ONCE__FIELD_OFFSET:
		return format_offset(record, arena, ret_text);
	case ONCE__FIELD_TIMESTAMP:
		if (record->time_ms == -1)
			return ONCE__KEY_MISSING;
		return format_number(record->time_ms, arena, ret_text);
	}
	return ONCE__KEY_MISSING;
}
