/*
 * Parsing templates. The idea to hold: every piece (constant text, a field as
 * written, a field with its escapes resolved) is copied once into `texts`,
 * which is large enough for all of them beforehand; no piece is longer than
 * what it was written as.
 */
#include "key_parts.h"

#include "bytes.h"
#include "error.h"
#include "key_template.h"

#include <stdlib.h>
#include <string.h>

struct reader {
	const char *text;
	const char *at;
	char *out; /* into the template's texts */
	struct once__template *template;
	struct once_error *err;
};

/* ---- faults ---- */

static size_t column_of(const struct reader *reader, const char *at)
{
	size_t column = 1;

	for (const char *byte = reader->text; byte < at; byte++)
		column += ((unsigned char)*byte & 0xC0) != 0x80;
	return column;
}

static enum once_status refuse(const struct reader *reader, const char *at,
			       const char *text)
{
	return error_set(reader->err, ONCE_INVALID, "column %zu: %s",
			 column_of(reader, at), text);
}

/* ---- pieces ---- */

static char *copy_piece(struct reader *reader, const char *start, size_t size)
{
	char *copy = reader->out;

	memcpy(copy, start, size);
	copy[size] = '\0';
	reader->out += size + 1;
	return copy;
}

/* Constant text up to a field or the end. */
static enum once_status read_constant(struct reader *reader,
				      struct once_bytes *ret_text)
{
	const char *start = reader->out;

	while (*reader->at != '\0') {
		bool brace = *reader->at == '{' || *reader->at == '}';

		if (brace && reader->at[0] == reader->at[1]) {
			reader->at++;
		} else if (*reader->at == '{') {
			break;
		} else if (brace) {
			return refuse(reader, reader->at,
				      "\"}\" closes nothing: write \"}}\" for "
				      "a brace itself");
		}
		*reader->out++ = *reader->at++;
	}
	*ret_text = bytes_of(start, (size_t)(reader->out - start));
	*reader->out++ = '\0';
	return ONCE_OK;
}

/* Step over one alternative, up to its "|" or "}". */
static enum once_status skip_alternative(struct reader *reader,
					 const char *open)
{
	for (; *reader->at != '|' && *reader->at != '}'; reader->at++) {
		if (*reader->at == '\0') {
			return refuse(reader, open,
				      "\"{\" isn't closed: write \"}\" behind "
				      "the field, or \"{{\" for a brace "
				      "itself");
		}
		if (*reader->at == '{') {
			return refuse(reader, reader->at,
				      "\"{\" inside a field: write \"}\" to "
				      "end the field before it, or \"\\{\" if "
				      "it is part of a name");
		}
		if (*reader->at != '\\')
			continue;
		reader->at++;
		if (*reader->at == '\0' ||
		    strchr("\\{|}", *reader->at) == NULL) {
			return refuse(reader, reader->at - 1,
				      "\"\\\" inside a field stands only "
				      "before \"{\", \"|\", \"}\" and \"\\\": "
				      "write \"\\\\\" for itself");
		}
	}
	return ONCE_OK;
}

static void drop_escapes(char *text)
{
	char *out = text;

	for (; *text != '\0'; text++) {
		if (*text == '\\')
			text++;
		*out++ = *text;
	}
	*out = '\0';
}

/* ---- fields ---- */

static enum once_status read_alternative(struct reader *reader,
					 const char *open)
{
	struct once__template *template = reader->template;
	struct once__field *field = &template->fields[template->field_count];
	const char *start = reader->at;
	const char *written;
	enum once_status status = skip_alternative(reader, open);
	size_t size = (size_t)(reader->at - start);
	char *text;

	if (status != ONCE_OK)
		return status;
	written = copy_piece(reader, start, size);
	text = copy_piece(reader, start, size);
	drop_escapes(text);
	status = once__field_parse(text, written, field, reader->err);
	if (status != ONCE_OK) {
		error_prefix(reader->err, "column %zu",
			     column_of(reader, start));
	} else {
		template->field_count++;
	}
	return status;
}

static enum once_status check_reachable(const struct reader *reader,
					const struct once__part *part)
{
	if (!once__field_is_always(&part->fields[part->field_count - 1]))
		return ONCE_OK;
	return refuse(reader, reader->at,
		      "every message has the field before \"|\", so what is "
		      "behind is never asked: put it last or leave the rest "
		      "out");
}

/* The reader stands on the "{". */
static enum once_status read_part(struct reader *reader,
				  struct once__part *part)
{
	struct once__template *template = reader->template;
	const char *open = reader->at++;
	enum once_status status;

	part->fields = &template->fields[template->field_count];
	for (;;) {
		status = read_alternative(reader, open);
		if (status != ONCE_OK)
			return status;
		part->field_count++;
		if (*reader->at == '}')
			break;
		status = check_reachable(reader, part);
		if (status != ONCE_OK)
			return status;
		reader->at++;
	}
	part->written =
		copy_piece(reader, open + 1, (size_t)(reader->at - open - 1));
	reader->at++;
	return ONCE_OK;
}

/* The text between two fields must show where the first one ends. */
static enum once_status check_separator(const struct reader *reader,
					const char *start,
					struct once_bytes between)
{
	if (reader->template->part_count == 0)
		return ONCE_OK;
	if (between.size == 0) {
		return refuse(reader, reader->at,
			      "two fields touch, so nobody could tell where "
			      "one ends: write a character between them, such "
			      "as \":\"");
	}
	if (*(const char *)between.data == '\\') {
		return refuse(reader, start,
			      "text between two fields can't begin with "
			      "\"\\\", which marks what is part of a field: "
			      "write another character, such as \":\"");
	}
	return ONCE_OK;
}

static enum once_status read_template(struct reader *reader)
{
	struct once__template *template = reader->template;

	for (;;) {
		struct once__part *part =
			&template->parts[template->part_count];
		const char *start = reader->at;
		enum once_status status =
			read_constant(reader, &template->tail);

		if (status != ONCE_OK || *reader->at == '\0')
			return status;
		part->before = template->tail;
		status = check_separator(reader, start, part->before);
		if (status == ONCE_OK)
			status = read_part(reader, part);
		if (status != ONCE_OK)
			return status;
		template->part_count++;
	}
}

/* ---- the whole ---- */

static size_t count_bytes(const char *text, const char *wanted)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += strchr(wanted, *text) != NULL;
	return count;
}

/* Each byte is copied at most four times: in the whole, in a part, and twice
 * in an alternative. A piece's NUL takes the place of a brace or bar; one more
 * piece than those can be constant. */
static struct once__template *create_template(const char *text)
{
	struct once__template *template = calloc(1, sizeof(*template));

	if (template == NULL)
		return NULL;
	template->texts = malloc(4 * (strlen(text) + 2));
	template->parts =
		calloc(count_bytes(text, "{") + 1, sizeof(*template->parts));
	template->fields =
		calloc(count_bytes(text, "{|") + 1, sizeof(*template->fields));
	if (template->texts == NULL || template->parts == NULL ||
	    template->fields == NULL) {
		once__template_destroy(template);
		return NULL;
	}
	return template;
}

static enum once_status check_text(const char *text, struct once_error *err)
{
	if (*text == '\0') {
		return error_set(err, ONCE_INVALID,
				 "the template is empty: write a field such as "
				 "{key} or {header:NAME}");
	}
	if (!bytes_are_utf8(bytes_text(text))) {
		return error_set(err, ONCE_INVALID,
				 "the template isn't valid UTF-8");
	}
	return ONCE_OK;
}

enum once_status once__template_parse(const char *text,
				      struct once__template **ret_template,
				      struct once_error *err)
{
	bool coordinates = strcmp(text, "coordinates") == 0;
	struct reader reader = { .err = err };
	enum once_status status = check_text(text, err);

	*ret_template = NULL;
	if (status != ONCE_OK)
		return status;
	reader.text = coordinates ? "{topic}:{partition}:{offset}" : text;
	reader.at = reader.text;
	reader.template = create_template(reader.text);
	if (reader.template == NULL)
		return error_no_memory(err);
	reader.out = reader.template->texts;
	reader.template->written =
		copy_piece(&reader, reader.text, strlen(reader.text));
	status = read_template(&reader);
	if (status == ONCE_OK && reader.template->part_count == 0) {
		status = error_set(err, ONCE_INVALID,
				   "the template has no field, so it would "
				   "make all messages one: write a field such "
				   "as {key} or {header:NAME}, or the word "
				   "coordinates alone");
	}
	if (status != ONCE_OK) {
		once__template_destroy(reader.template);
		return status;
	}
	*ret_template = reader.template;
	return ONCE_OK;
}
