/* Each item is a scalar; "name=value" is split at the first "=". An item may
 * hold a secret, so no message shows more of it than a name. */
#include "config_list.h"

#include "config_secret.h"
#include "config_value.h"

#include <stdlib.h>
#include <string.h>

static bool is_pairs(const struct config_option *option)
{
	return option->kind == CONFIG_PROPERTIES ||
	       option->kind == CONFIG_SETTINGS;
}

static const char *example_of(const struct config_option *option)
{
	return is_pairs(option) ? "- name=value" : option->value;
}

static bool accept_list(struct reader *reader,
			const struct config_option *option,
			const struct tree_node *node)
{
	bool required = (option->flags & CONFIG_REQUIRED) != 0;

	if (node->kind == TREE_BROKEN)
		return false;
	if (node->kind == TREE_LIST && (node->child_count > 0 || !required))
		return node->child_count > 0;
	/* All items commented out. */
	if (node->kind == TREE_TEXT && node->plain && node->text[0] == '\0' &&
	    !required)
		return false;
	faults_add(reader->faults,
		   node->kind == TREE_MAP ? node->key_place : node->place,
		   "%s must be a list%s; write %s%s%s%s%s", option->path,
		   required ? " that isn't empty" : "",
		   is_pairs(option) ? "each item on a line of its own as \""
				    : "\"",
		   is_pairs(option) ? "" : config_option_key(option),
		   is_pairs(option) ? "" : ": ", example_of(option), "\"");
	return false;
}

/* ---- topics, SQLSTATEs and hosts ---- */

static void keep_text(struct reader *reader, const char *text, size_t size,
		      struct list *list)
{
	char **texts = list->items;

	texts[list->count] = strndup(text, size);
	if (texts[list->count] == NULL)
		reader->faults->broken = true;
	else
		list->count++;
}

static enum once_status check_text(const struct config_option *option,
				   const char *text, struct once_error *err)
{
	if (option->kind == CONFIG_SQLSTATES)
		return value_check_sqlstate(text, err);
	if (option->kind == CONFIG_HOSTS)
		return value_check_host(text, err);
	return value_check_topic(text, err);
}

static void read_text(struct reader *reader, const struct config_option *option,
		      const struct scalar *scalar, struct list *list)
{
	struct once_error err = { 0 };
	enum once_status status = check_text(option, scalar->text, &err);

	if (status != ONCE_OK) {
		scalar_refuse(reader, option, scalar, &err);
		return;
	}
	if (!name_set_add(&list->seen, scalar->text, strlen(scalar->text), 0,
			  NULL)) {
		faults_add(reader->faults, scalar->place,
			   "%s has \"%.100s\" twice; keep one of the two",
			   option->path,
			   scalar->shown == NULL ? "..." : scalar->shown);
		return;
	}
	keep_text(reader, scalar->text, strlen(scalar->text), list);
}

/* ---- pairs ---- */

/* The length of the name as written; 0: it isn't name=value. Names come from
 * the file alone: messages show them. */
static size_t name_size(const char *text)
{
	size_t size = strcspn(text, "=");

	if (text[size] != '=' || strcspn(text, "$ \t\r\n") < size)
		return 0;
	return size;
}

static void keep_pair(struct reader *reader, const struct scalar *scalar,
		      size_t size, struct list *list)
{
	struct name_value *pairs = list->items;
	struct name_value *pair = &pairs[list->count];

	*pair = (struct name_value){ .name = strndup(scalar->text, size),
				     .value = strdup(scalar->text + size + 1),
				     .line = scalar->place.line,
				     .column = scalar->place.column };
	list->count++; /* half-built ones are freed like the others */
	if (pair->name == NULL || pair->value == NULL)
		reader->faults->broken = true;
	else
		pair->secret = scalar->outside || secret_name(pair->name) ||
			       secret_value(pair->value);
}

static void refuse_pair(struct reader *reader,
			const struct config_option *option,
			const struct tree_node *node)
{
	faults_add(reader->faults, node->place,
		   "%s: this isn't name=value; write \"- name=value\" without "
		   "spaces around the \"=\", in quotes if \": \" or \" #\" is "
		   "in it; \"${\" can stand in the value only",
		   option->path);
}

static void read_pair(struct reader *reader, const struct config_option *option,
		      const struct scalar *scalar, size_t size,
		      struct list *list)
{
	if (!name_set_add(&list->seen, scalar->text, size, 0, NULL))
		faults_add(reader->faults, scalar->place,
			   "%s has \"%.*s\" twice; keep one of the two",
			   option->path, (int)size, scalar->text);
	else if (option->kind == CONFIG_PROPERTIES)
		keep_pair(reader, scalar, size, list);
	else
		keep_text(reader, scalar->text, strlen(scalar->text), list);
}

/* ---- the list ---- */

static void read_item(struct reader *reader, const struct config_option *option,
		      const struct tree_node *node, struct list *list)
{
	struct scalar scalar;
	size_t size = 0;

	if (node->kind == TREE_BROKEN)
		return;
	if (is_pairs(option)) {
		size = node->kind == TREE_TEXT ? name_size(node->text) : 0;
		if (size == 0) {
			refuse_pair(reader, option, node);
			return;
		}
	}
	if (!scalar_read(reader, option, node, &scalar))
		return;
	list->outside |= scalar.outside;
	if (is_pairs(option))
		read_pair(reader, option, &scalar, size, list);
	else
		read_text(reader, option, &scalar, list);
}

void list_read(struct reader *reader, const struct config_option *option,
	       const struct tree_node *node, struct list *list)
{
	size_t size = option->kind == CONFIG_PROPERTIES
			      ? sizeof(struct name_value)
			      : sizeof(char *);

	if (!accept_list(reader, option, node))
		return;
	list->items = calloc(node->child_count, size);
	if (list->items == NULL) {
		reader->faults->broken = true;
		return;
	}
	for (const struct tree_node *at = node->children; at != NULL;
	     at = at->next)
		read_item(reader, option, at, list);
	reader->faults->broken |= list->seen.broken;
	name_set_fini(&list->seen);
}

/* As the table writes it: "[22, 23502]". */
void list_read_default(struct reader *reader,
		       const struct config_option *option, struct list *list)
{
	const char *at = option->value;

	if (!config_option_has_default(option))
		return;
	list->items = calloc(strlen(at), sizeof(char *));
	if (list->items == NULL) {
		reader->faults->broken = true;
		return;
	}
	for (;;) {
		size_t size;

		at += strspn(at, "[, ]");
		size = strcspn(at, ", ]");
		if (size == 0)
			return;
		keep_text(reader, at, size, list);
		at += size;
	}
}
