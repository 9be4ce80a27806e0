/* One pass from left to right. What is put in is never looked at again, so a
 * value from outside can't refer to another; and where the whole will be read
 * as syntax, it is put in as a value of that (config_quote.c). */
#include "config_expand.h"

#include "bytes.h"
#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_FILE = 64 * 1024,
	MAX_NAME = 256,
	MAX_REFERENCES = 64, /* in a value: quoting looks at all of it again */
	MAX_OUTSIDE = 1024 * 1024 /* of all values together */
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

/* An editor of another system leaves it; nobody means it. */
static struct once_bytes without_mark(const char *data, size_t size)
{
	bool marked = size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0;

	return bytes_of(data + (marked ? 3 : 0), size - (marked ? 3 : 0));
}

/* Its size; -1: errno says why. */
static ssize_t read_whole(int fd, char *data, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = read(fd, data + used, size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

static enum once_status add_content(int fd, const char *path, struct text *text,
				    struct once_error *err)
{
	char data[MAX_FILE + 1];
	ssize_t size = read_whole(fd, data, sizeof(data));
	enum once_status status = ONCE_OK;
	struct once_bytes content;

	if (size < 0)
		status = refuse_file(path, strerror(errno), err);
	else if (size > MAX_FILE)
		status = refuse_file(path, "longer than 64 KiB", err);
	else if (memchr(data, '\0', (size_t)size) != NULL)
		status = refuse_file(path, "it isn't text", err);
	if (status == ONCE_OK) {
		content =
			without_mark(data, without_newline(data, (size_t)size));
		text_add(text, content.data, content.size);
	}
	explicit_bzero(data, sizeof(data));
	return status;
}

/* Not to wait for a writer, or for what a device gives: such a file isn't
 * read. */
static enum once_status add_file(const char *name, const char *folder,
				 struct text *text, struct once_error *err)
{
	struct text path scoped_text = { 0 };
	enum once_status status;
	struct stat found;
	int fd;

	expand_path(name, folder, &path);
	if (path.broken)
		return error_no_memory(err);
	fd = open(path.data, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return refuse_file(path.data, strerror(errno), err);
	if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode))
		status = add_content(fd, path.data, text, err);
	else
		status = refuse_file(path.data,
				     "not a regular file, but a folder, a "
				     "device, a pipe or a socket",
				     err);
	close(fd);
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

/* Small files can name others so often that their texts fill the memory. */
static enum once_status count_outside(struct outside *outside, size_t size,
				      struct once_error *err)
{
	outside->size += size;
	outside->value_size += size;
	if (++outside->value_references > MAX_REFERENCES)
		return error_set(err, ONCE_INVALID,
				 "more than %d references \"${...}\" in one "
				 "value; write fewer",
				 MAX_REFERENCES);
	if (outside->value_size > MAX_FILE)
		return error_set(err, ONCE_INVALID,
				 "what \"${...}\" stands for in this value is "
				 "longer than 64 KiB; write fewer or shorter "
				 "files");
	if (outside->size > MAX_OUTSIDE)
		return error_set(err, ONCE_INVALID,
				 "all that \"${...}\" stands for in this file "
				 "is longer than 1 MiB; write fewer or shorter "
				 "files");
	return ONCE_OK;
}

/* At "${"; `ret_end` is behind its "}". */
static enum once_status add_reference(const char *at, const char *folder,
				      enum quote_syntax syntax,
				      struct outside *outside,
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
	if (status == ONCE_OK)
		status = count_outside(outside, found.size, err);
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
			      enum quote_syntax syntax, struct outside *outside,
			      struct text *text, bool *ret_outside,
			      struct once_error *err)
{
	enum once_status status = ONCE_OK;

	outside->value_size = 0;
	outside->value_references = 0;
	*ret_outside = false;
	text_adds(text, "");
	while (*value != '\0' && status == ONCE_OK) {
		size_t plain = strcspn(value, "$");

		text_add(text, value, plain);
		value += plain;
		if (strncmp(value, "${", 2) == 0) {
			*ret_outside = true;
			status = add_reference(value, folder, syntax, outside,
					       text, &value, err);
		} else if (*value == '$') {
			text_adds(text, "$");
			value += value[1] == '$' ? 2 : 1;
		}
	}
	if (status == ONCE_OK && text->broken)
		status = error_no_memory(err);
	return status;
}
