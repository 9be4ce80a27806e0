/*
 * A plain word is a text whatever YAML thinks of it ("no" is a fine name); only
 * null is refused, since nobody means those four letters. What came from
 * outside the file is shown as it is written there: "${NAME}", never its value.
 */
#include "config_scalar.h"

#include "bytes.h"
#include "config_secret.h"
#include "error.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void refuse_type(struct reader *reader,
			const struct config_option *option,
			const struct tree_node *node)
{
	const char *is = node->kind == TREE_LIST ? "a list" : "a map";
	const char *value = option->value[0] == '(' ? "value" : option->value;

	faults_add(reader->faults,
		   node->key != NULL ? node->key_place : node->place,
		   "%s is %s, and one value is due; write \"%s: %s\"",
		   option->path, is, config_option_key(option),
		   value[0] == '\0' ? "''" : value);
}

static bool is_null(const struct tree_node *node)
{
	static const char *const words[] = { "~", "null", "Null", "NULL" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (node->plain && strcmp(node->text, words[i]) == 0)
			return true;
	return false;
}

static bool may_hold_secret(const struct config_option *option)
{
	return (option->flags & CONFIG_SECRET) != 0 ||
	       option->kind == CONFIG_PROPERTIES ||
	       option->kind == CONFIG_SETTINGS;
}

static enum quote_syntax syntax_of(const struct config_option *option)
{
	if (option->kind == CONFIG_CONNINFO)
		return QUOTE_CONNINFO;
	return option->kind == CONFIG_URL ? QUOTE_URL : QUOTE_NONE;
}

static bool expand(struct reader *reader, const struct config_option *option,
		   struct scalar *scalar)
{
	struct text text scoped_text = { 0 };
	struct once_error err = { 0 };

	if (expand_value(scalar->text, reader->folder, syntax_of(option),
			 &reader->outside, &text, &scalar->outside,
			 &err) != ONCE_OK) {
		faults_add(reader->faults, scalar->place, "%s: %s",
			   option->path, err.text);
		return false;
	}
	scalar->text =
		arena_copy(reader->arena, bytes_of(text.data, text.size));
	if (scalar->text == NULL)
		reader->faults->broken = true;
	return scalar->text != NULL;
}

bool scalar_read(struct reader *reader, const struct config_option *option,
		 const struct tree_node *node, struct scalar *ret_scalar)
{
	if (node->kind == TREE_BROKEN)
		return false;
	if (node->kind != TREE_TEXT) {
		refuse_type(reader, option, node);
		return false;
	}
	if (is_null(node)) {
		faults_add(reader->faults, node->place,
			   "%s: %s is YAML's word for nothing; take the "
			   "option out, or put the word in quotes if it is "
			   "meant",
			   option->path, node->text);
		return false;
	}
	*ret_scalar = (struct scalar){
		.place = node->place,
		.text = node->text,
		.shown = may_hold_secret(option) || secret_value(node->text)
				 ? NULL
				 : node->text,
	};
	return expand(reader, option, ret_scalar);
}

void scalar_refuse(struct reader *reader, const struct config_option *option,
		   const struct scalar *scalar, const struct once_error *err)
{
	if (scalar->shown == NULL)
		faults_add(reader->faults, scalar->place, "%s: %s",
			   option->path, err->text);
	else
		faults_add(reader->faults, scalar->place,
			   "%s is \"%.100s\": %s", option->path, scalar->shown,
			   err->text);
}

enum once_status scalar_find_file(struct reader *reader, const char **path,
				  struct once_error *err)
{
	struct text full scoped_text = { 0 };
	const char *found;
	struct stat stat_buffer;

	expand_path(*path, reader->folder, &full);
	found = full.broken ? NULL
			    : arena_copy(reader->arena,
					 bytes_of(full.data, full.size));
	if (found == NULL)
		return error_no_memory(err);
	*path = found;
	if (stat(found, &stat_buffer) != 0 || access(found, R_OK) != 0)
		return error_set(err, ONCE_INVALID,
				 "could not read that file: %s; write the path "
				 "of the handler's shared object, relative to "
				 "the folder of this file",
				 strerror(errno));
	if (!S_ISREG(stat_buffer.st_mode))
		return error_set(err, ONCE_INVALID,
				 "not a regular file; write the path of the "
				 "handler's shared object, relative to the "
				 "folder of this file");
	return ONCE_OK;
}
