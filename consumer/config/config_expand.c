/* One pass from left to right. What is put in is never looked at again, so a
 * value from outside can't refer to another; and where the whole will be read
 * as syntax, it is put in as a value of that (config_quote.c). */
#include "config_expand.h"

#include "error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_FILE = 64 * 1024,
	MAX_NAME = 256
};

/* ---- files ---- */

void expand_path(const char *path, const char *folder, struct text *text)
{
	if (path[0] != '/')
		text_addf(text, "%s/", folder);
	text_adds(text, path);
}

static enum once_status refuse_file(const char *path, const char *why,
				    struct once_error *err)
{
	return error_set(err, ONCE_INVALID,
			 "could not read \"%.200s\": %s; write the path of a "
			 "readable file in ${file:/path}",
			 path, why);
}

/* The newline that an editor leaves at a file's end isn't meant. */
static size_t without_newline(const char *data, size_t size)
{
	if (size > 0 && data[size - 1] == '\n')
		size--;
	if (size > 0 && data[size - 1] == '\r')
		size--;
	return size;
}

static enum once_status add_stream(FILE *file, const char *path,
				   struct text *text, struct once_error *err)
{
	char data[MAX_FILE + 1];
	size_t size = fread(data, 1, sizeof(data), file);
	enum once_status status = ONCE_OK;

	if (ferror(file))
		status = refuse_file(path, strerror(errno), err);
	else if (size > MAX_FILE)
		status = refuse_file(path, "longer than 64 KiB", err);
	else if (memchr(data, '\0', size) != NULL)
		status = refuse_file(path, "it isn't text", err);
	else
		text_add(text, data, without_newline(data, size));
	explicit_bzero(data, sizeof(data));
	return status;
}

static enum once_status add_file(const char *name, const char *folder,
				 struct text *text, struct once_error *err)
{
	struct text path scoped_text = { 0 };
	enum once_status status;
	FILE *file;

	expand_path(name, folder, &path);
	if (path.broken)
		return error_no_memory(err);
	file = fopen(path.data, "re");
	if (file == NULL)
		return refuse_file(path.data, strerror(errno), err);
	status = add_stream(file, path.data, text, err);
	fclose(file);
	return status;
}

/* ---- variables ---- */

static bool is_name(const char *name, size_t size)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				      "abcdefghijklmnopqrstuvwxyz0123456789";

	if (size == 0 || (name[0] >= '0' && name[0] <= '9'))
		return false;
	return strspn(name, letters) >= size;
}

/* `body`: what stands between the braces, with a NUL behind it. */
static enum once_status add_variable(const char *body, struct text *text,
				     struct once_error *err)
{
	size_t size = strcspn(body, ":");
	bool has_default = strncmp(body + size, ":-", 2) == 0;
	char name[MAX_NAME];
	const char *value;

	if (!is_name(body, size) || size >= sizeof(name) ||
	    (body[size] != '\0' && !has_default))
		return error_set(err, ONCE_INVALID,
				 "not a variable between \"${\" and \"}\"; "
				 "write ${NAME} or ${NAME:-default}, or $$ "
				 "for a dollar");
	memcpy(name, body, size);
	name[size] = '\0';
	value = getenv(name);
	if (has_default && (value == NULL || value[0] == '\0'))
		value = body + size + 2;
	if (value == NULL)
		return error_set(err, ONCE_INVALID,
				 "the environment variable \"%.100s\" is not "
				 "set; set it, or write ${%.100s:-default}",
				 name, name);
	text_adds(text, value);
	return ONCE_OK;
}

/* `body`: what stands between the braces. */
static enum once_status find_value(const char *body, bool is_file,
				   const char *folder, struct text *found,
				   struct once_error *err)
{
	text_adds(found, "");
	if (strstr(body, "${") != NULL)
		return error_set(err, ONCE_INVALID,
				 "a \"${\" stands within another; write plain "
				 "text as the default");
	return is_file ? add_file(body + 5, folder, found, err)
		       : add_variable(body, found, err);
}

/* At "${"; `ret_end` is behind its "}". */
static enum once_status add_reference(const char *at, const char *folder,
				      enum quote_syntax syntax,
				      struct text *text, const char **ret_end,
				      struct once_error *err)
{
	struct text body scoped_text = { 0 };
	struct text found scoped_text = { 0 };
	size_t size = strcspn(at + 2, "}");
	bool is_file = strncmp(at + 2, "file:", 5) == 0;
	enum once_status status;

	if (at[2 + size] == '\0')
		return error_set(err, ONCE_INVALID,
				 "the \"}\" of a \"${\" is missing; write "
				 "${NAME}, or $$ for a dollar");
	*ret_end = at + 2 + size + 1;
	text_add(&body, at + 2, size);
	if (body.broken)
		return error_no_memory(err);
	status = find_value(body.data, is_file, folder, &found, err);
	if (status == ONCE_OK && found.broken)
		status = error_no_memory(err);
	if (status == ONCE_OK &&
	    !quote_add(text, syntax, found.data, is_file, *ret_end))
		status = error_set(err, ONCE_INVALID,
				   "a file's text stands for a value, and a "
				   "keyword is due; write the keyword before "
				   "it, such as password=${file:/path}");
	if (found.data != NULL)
		explicit_bzero(found.data, found.size);
	return status;
}

enum once_status expand_value(const char *value, const char *folder,
			      enum quote_syntax syntax, struct text *text,
			      bool *ret_outside, struct once_error *err)
{
	enum once_status status = ONCE_OK;

	*ret_outside = false;
	text_adds(text, "");
	while (*value != '\0' && status == ONCE_OK) {
		size_t plain = strcspn(value, "$");

		text_add(text, value, plain);
		value += plain;
		if (strncmp(value, "${", 2) == 0) {
			*ret_outside = true;
			status = add_reference(value, folder, syntax, text,
					       &value, err);
		} else if (*value == '$') {
			text_adds(text, "$");
			value += value[1] == '$' ? 2 : 1;
		}
	}
	if (status == ONCE_OK && text->broken)
		status = error_no_memory(err);
	return status;
}
