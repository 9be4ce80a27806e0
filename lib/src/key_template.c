/*
 * From a message to a key. The idea to hold: the key can be read back. Each
 * part is a constant text and a field; a field's text ends at the first byte of
 * the next part's constant that has no "\" before it, and the last one ends
 * where the constant tail begins. So no two lists of texts share a key, and one
 * list has one key.
 */
#include "key_template.h"

#include "bytes.h"
#include "key_parts.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum {
	HASH_SIZE = 32,
	HEX_SIZE = 2 * HASH_SIZE,
	HEAD_SIZE = 191
};

const char once__default_msg_id[] =
	"{header:message-id|header:ce_id|header:id}";

void once__template_destroy(struct once__template *template)
{
	if (template == NULL)
		return;
	free(template->parts);
	free(template->fields);
	free(template->texts);
	free(template);
}

/* ---- can it tell messages apart? ---- */

static bool has_part(const struct once__template *template,
		     enum once__field_kind kind)
{
	for (size_t i = 0; i < template->part_count; i++) {
		if (template->parts[i].fields[0].kind == kind)
			return true;
	}
	return false;
}

static bool part_varies(const struct once__part *part, bool with_coordinates)
{
	for (size_t i = 0; i < part->field_count; i++) {
		const struct once__field *field = &part->fields[i];
		bool coordinate = field->kind == ONCE__FIELD_OFFSET;

		if (!once__field_is_telling(field) &&
		    !(coordinate && with_coordinates))
			return false;
	}
	return true;
}

bool once__template_varies(const struct once__template *template)
{
	bool with_coordinates = has_part(template, ONCE__FIELD_TOPIC) &&
				has_part(template, ONCE__FIELD_PARTITION);

	for (size_t i = 0; i < template->part_count; i++) {
		if (part_varies(&template->parts[i], with_coordinates))
			return true;
	}
	return false;
}

/* ---- joining ---- */

static bool is_absent(enum once__key_fault fault)
{
	return fault == ONCE__KEY_MISSING || fault == ONCE__KEY_NO_VALUE;
}

static enum once__key_fault find_part(const struct once__part *part,
				      struct once__reading *reading,
				      struct once_bytes *ret_text,
				      const char **ret_field)
{
	enum once__key_fault fault = ONCE__KEY_MISSING;

	*ret_field = part->written;
	for (size_t i = 0; i < part->field_count; i++) {
		fault = once__field_find(&part->fields[i], reading, ret_text);
		if (is_absent(fault))
			continue;
		*ret_field = part->fields[i].written;
		return fault;
	}
	return fault;
}

/* What ends part `i`'s text; '\0' if nothing does. */
static char separator(const struct once__template *template, size_t i)
{
	if (i + 1 >= template->part_count)
		return '\0';
	return *(const char *)template->parts[i + 1].before.data;
}

static char *add(char *out, struct once_bytes text)
{
	if (text.size > 0)
		memcpy(out, text.data, text.size);
	return out + text.size;
}

static char *add_escaped(char *out, struct once_bytes text, char end)
{
	const char *at = text.data;

	if (end == '\0')
		return add(out, text);
	for (size_t i = 0; i < text.size; i++) {
		if (at[i] == end || at[i] == '\\')
			*out++ = '\\';
		*out++ = at[i];
	}
	return out;
}

static size_t joined_size_max(const struct once__template *template,
			      const struct once_bytes *texts)
{
	size_t size = template->tail.size;

	for (size_t i = 0; i < template->part_count; i++)
		size += template->parts[i].before.size + 2 * texts[i].size;
	return size;
}

static struct once_bytes join(const struct once__template *template,
			      const struct once_bytes *texts,
			      struct arena *arena)
{
	char *start = arena_take(arena, joined_size_max(template, texts));
	char *out = start;

	if (start == NULL)
		return bytes_of(NULL, 0);
	for (size_t i = 0; i < template->part_count; i++) {
		out = add(out, template->parts[i].before);
		out = add_escaped(out, texts[i], separator(template, i));
	}
	out = add(out, template->tail);
	return bytes_of(start, (size_t)(out - start));
}

/* ---- long keys ---- */

static bool is_hex(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if ((text[i] < '0' || text[i] > '9') &&
		    (text[i] < 'a' || text[i] > 'f'))
			return false;
	}
	return true;
}

/* Only a character of up to four bytes at the cut makes one shorter. */
bool once__key_is_abbreviated(struct once_bytes key)
{
	const char *text = key.data;
	size_t head;

	if (key.size > HEAD_SIZE + 1 + HEX_SIZE ||
	    key.size < HEAD_SIZE + 1 + HEX_SIZE - 3)
		return false;
	head = key.size - HEX_SIZE - 1;
	return text[head] == '#' && is_hex(text + head + 1, HEX_SIZE);
}

/* Back to where a character begins. */
static size_t whole_characters(const char *text, size_t size)
{
	while (size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80)
		size--;
	return size;
}

static void format_hex(const unsigned char *bytes, size_t size, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 0x0F];
	}
}

static enum once__key_fault abbreviate(struct once_bytes whole,
				       struct arena *arena,
				       struct once_bytes *ret_key)
{
	size_t head = whole_characters(whole.data, HEAD_SIZE);
	char *key = arena_take(arena, head + 1 + HEX_SIZE);
	unsigned char hash[EVP_MAX_MD_SIZE];

	if (key == NULL || EVP_Digest(whole.data, whole.size, hash, NULL,
				      EVP_sha256(), NULL) != 1)
		return ONCE__KEY_NO_MEMORY;
	memcpy(key, whole.data, head);
	key[head] = '#';
	format_hex(hash, HASH_SIZE, key + head + 1);
	*ret_key = bytes_of(key, head + 1 + HEX_SIZE);
	return ONCE__KEY_OK;
}

static enum once__key_fault shorten(struct once_bytes whole,
				    struct arena *arena,
				    struct once_bytes *ret_key)
{
	*ret_key = whole;
	if (whole.data == NULL)
		return ONCE__KEY_NO_MEMORY;
	if (whole.size > ONCE__KEY_MAX_SIZE || once__key_is_abbreviated(whole))
		return abbreviate(whole, arena, ret_key);
	return ONCE__KEY_OK;
}

enum once__key_fault once__template_format(
	const struct once__template *template, struct once__reading *reading,
	struct once_bytes *ret_key, const char **ret_field)
{
	struct arena *arena = reading->arena;
	size_t count = template->part_count;
	struct once_bytes *texts = arena_take(arena, count * sizeof(*texts));

	*ret_field = template->written;
	*ret_key = bytes_of(NULL, 0);
	if (texts == NULL)
		return ONCE__KEY_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		enum once__key_fault fault = find_part(
			&template->parts[i], reading, &texts[i], ret_field);

		if (fault != ONCE__KEY_OK)
			return fault;
	}
	*ret_field = template->written;
	return shorten(join(template, texts, arena), arena, ret_key);
}

/* ---- what a fingerprint compares ---- */

/* A letter for each part: "." is there, others say in which way it isn't. A
 * tombstone lacks what JSON lacks. */
static char mark_of(enum once__key_fault fault)
{
	return fault == ONCE__KEY_OK ? '.' : (char)('A' + (int)fault);
}

/* A field that is absent is a fact that can be compared; one that can't be
 * read leaves something uncompared. */
static bool can_be_read(enum once__key_fault fault)
{
	return fault == ONCE__KEY_OK || is_absent(fault) ||
	       fault == ONCE__KEY_IS_NULL || fault == ONCE__KEY_EMPTY;
}

static struct once_bytes put_before(struct once_bytes marks,
				    struct once_bytes text, struct arena *arena)
{
	char *start = arena_take(arena, marks.size + text.size);

	if (start == NULL)
		return bytes_of(NULL, 0);
	add(add(start, marks), text);
	return bytes_of(start, marks.size + text.size);
}

/* How many parts have a text. */
static size_t find_all(const struct once__template *template,
		       struct once__reading *reading, struct once_bytes *texts,
		       char *marks, bool *ret_readable)
{
	const char *field;
	size_t found = 0;

	*ret_readable = true;
	for (size_t i = 0; i < template->part_count; i++) {
		enum once__key_fault fault = find_part(
			&template->parts[i], reading, &texts[i], &field);

		marks[i] = mark_of(fault);
		if (fault == ONCE__KEY_OK)
			found++;
		else
			texts[i] = bytes_of(NULL, 0);
		*ret_readable = *ret_readable && can_be_read(fault);
	}
	return found;
}

bool once__template_compare(const struct once__template *template,
			    struct once__reading *reading,
			    struct once__compared *ret_compared)
{
	struct arena *arena = reading->arena;
	size_t count = template->part_count;
	struct once_bytes *texts = arena_take(arena, count * sizeof(*texts));
	char *marks = arena_take(arena, count);
	struct once_bytes text;
	bool readable;
	size_t found;

	if (texts == NULL || marks == NULL)
		return false;
	found = find_all(template, reading, texts, marks, &readable);
	text = join(template, texts, arena);
	if (text.data == NULL ||
	    memchr(marks, mark_of(ONCE__KEY_NO_MEMORY), count) != NULL)
		return false;
	if (found == count) {
		ret_compared->marks = bytes_of("", 0);
		return shorten(text, arena, &ret_compared->text) ==
		       ONCE__KEY_OK;
	}
	ret_compared->marks = put_before(bytes_of(marks, count), text, arena);
	ret_compared->text = found > 0 && readable ? bytes_of(NULL, 0)
						   : reading->record->value;
	return ret_compared->marks.data != NULL;
}
