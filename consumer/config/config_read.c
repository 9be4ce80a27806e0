/*
 * The walk over the file's sections. The table says what a section may hold; a
 * value is first made a scalar (checked to be a text, with what it takes from
 * outside put in) and then stored as its kind wants it.
 */
#include "config_read.h"

#include "config_expand.h"
#include "config_keys.h"
#include "config_list.h"
#include "config_scalar.h"
#include "config_value.h"

#include <stdlib.h>
#include <string.h>

static void read_section(struct reader *reader, const struct section *section);

/* ---- values ---- */

static void *field_of(const struct section *section, size_t offset)
{
	return (char *)section->base + offset;
}

/* Fields are unsigned, size_t, int64_t or an enumeration: non-negative, or -1
 * in an int64_t; the table knows their sizes. */
static void store_number(const struct section *section,
			 const struct config_option *option, int64_t number)
{
	unsigned small = (unsigned)number;

	if (option->size == sizeof(small))
		memcpy(field_of(section, option->offset), &small,
		       sizeof(small));
	else
		memcpy(field_of(section, option->offset), &number,
		       sizeof(number));
}

static void store_text(struct reader *reader, const struct section *section,
		       const struct config_option *option, const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		reader->faults->broken = true;
	memcpy(field_of(section, option->offset), &copy, sizeof(char *));
}

static enum once_status store_value(struct reader *reader,
				    const struct section *section,
				    const struct config_option *option,
				    const char *text, struct once_error *err)
{
	enum once_status status;
	int64_t number = 0;

	if (config_kind_is_text(option->kind)) {
		status = value_check_text(option, text, err);
		if (status == ONCE_OK && option->kind == CONFIG_FILE)
			status = scalar_find_file(reader, &text, err);
		if (status == ONCE_OK)
			store_text(reader, section, option, text);
		return status;
	}
	if (option->kind == CONFIG_WORD)
		status = value_parse_word(option, text, &number, err);
	else
		status = value_parse_number(option, text, &number, err);
	if (status == ONCE_OK)
		store_number(section, option, number);
	return status;
}

static bool read_value(struct reader *reader, const struct section *section,
		       const struct config_option *option,
		       const struct tree_node *node)
{
	struct once_error err = { 0 };
	struct scalar scalar;

	if (!scalar_read(reader, option, node, &scalar))
		return false;
	if (scalar.outside)
		*section->hidden |= UINT64_C(1) << config_option_index(option);
	if (option->kind == CONFIG_TOKEN && scalar.outside &&
	    scalar.text[0] == '\0') {
		faults_add(reader->faults, scalar.place,
			   "%s: what it refers to is empty, and that would "
			   "turn it off; give it a value, or take the option "
			   "out",
			   option->path);
		return false;
	}
	if (store_value(reader, section, option, scalar.text, &err) == ONCE_OK)
		return true;
	scalar_refuse(reader, option, &scalar, &err);
	return false;
}

static void read_default(struct reader *reader, const struct section *section,
			 const struct config_option *option)
{
	struct once_error err = { 0 };
	struct place nowhere = { 0 };

	if (!config_option_has_default(option))
		return;
	if (store_value(reader, section, option, option->value, &err) !=
	    ONCE_OK)
		faults_add(reader->faults, nowhere,
			   "the default of %s is wrong: %s", option->path,
			   err.text);
}

static void read_list(struct reader *reader, const struct section *section,
		      const struct config_option *option,
		      const struct tree_node *node)
{
	struct list list = { 0 };

	if (node != NULL)
		list_read(reader, option, node, &list);
	else
		list_read_default(reader, option, &list);
	if (list.outside)
		*section->hidden |= UINT64_C(1) << config_option_index(option);
	memcpy(field_of(section, option->offset), &list.items,
	       sizeof(list.items));
	memcpy(field_of(section, option->count), &list.count,
	       sizeof(list.count));
}

/* ---- sections ---- */

static bool is_blank(const struct tree_node *node)
{
	return node->kind == TREE_TEXT && node->plain && node->text[0] == '\0';
}

static void read_inner(struct reader *reader, const struct section *section,
		       const struct config_option *option,
		       const struct tree_node *node)
{
	char prefix[CONFIG_PREFIX_SIZE];
	struct section inner = *section;

	config_option_prefix(option, prefix);
	inner.prefix = prefix;
	inner.map = NULL;
	if (node != NULL)
		inner.place = node->key_place;
	if (node != NULL && node->kind == TREE_BROKEN)
		return;
	if (node != NULL && node->kind == TREE_MAP)
		inner.map = node;
	else if (node != NULL && !is_blank(node)) {
		faults_add(reader->faults, node->place,
			   "%s is a section; write its options indented below "
			   "it, each as \"name: value\"",
			   option->path);
		return;
	}
	read_section(reader, &inner);
}

static void read_route(struct reader *reader, const struct tree_node *node,
		       struct route_config *route)
{
	struct section section = { .prefix = "handlers[].",
				   .map = node,
				   .place = node->place,
				   .base = route,
				   .hidden = &route->hidden };

	route->line = node->place.line;
	route->column = node->place.column;
	if (node->kind == TREE_MAP)
		read_section(reader, &section);
	else if (node->kind != TREE_BROKEN)
		faults_add(reader->faults, node->place,
			   "a route is a map of options; write \"- name: "
			   "refund\" and the rest of its options below");
}

static void read_routes(struct reader *reader,
			const struct config_option *option,
			const struct tree_node *node)
{
	struct config *cfg = reader->cfg;

	if (node == NULL || node->kind == TREE_BROKEN)
		return;
	if (node->kind != TREE_LIST || node->child_count == 0) {
		faults_add(reader->faults,
			   node->kind == TREE_MAP ? node->key_place
						  : node->place,
			   "%s must be a list of routes; write \"- name: "
			   "refund\" and the rest of its options below",
			   option->path);
		return;
	}
	cfg->routes = calloc(node->child_count, sizeof(*cfg->routes));
	if (cfg->routes == NULL) {
		reader->faults->broken = true;
		return;
	}
	for (const struct tree_node *at = node->children; at != NULL;
	     at = at->next)
		read_route(reader, at, &cfg->routes[cfg->route_count++]);
}

static void read_option(struct reader *reader, const struct section *section,
			const struct config_option *option)
{
	const struct tree_node *node =
		tree_find(section->map, config_option_key(option));

	if (option->kind == CONFIG_SECTION) {
		read_inner(reader, section, option, node);
		return;
	}
	if (node == NULL && (option->flags & CONFIG_REQUIRED) != 0)
		keys_refuse_missing(reader, section, option);
	else if (option->kind == CONFIG_ROUTES)
		read_routes(reader, option, node);
	else if (option->count != 0)
		read_list(reader, section, option, node);
	else if (node == NULL || !read_value(reader, section, option, node))
		read_default(reader, section, option);
}

static void read_section(struct reader *reader, const struct section *section)
{
	keys_refuse_unknown(reader, section);
	for (size_t i = 0; i < config_option_count; i++)
		if (config_option_is_in(&config_options[i], section->prefix))
			read_option(reader, section, &config_options[i]);
}

void config_read(struct config *cfg, struct tree *tree, const char *folder,
		 struct faults *faults)
{
	struct reader reader = { .cfg = cfg,
				 .arena = &tree->arena,
				 .folder = folder,
				 .faults = faults };
	struct section top = { .prefix = "",
			       .map = tree->root,
			       .place = { 1, 1 },
			       .base = cfg,
			       .hidden = &cfg->hidden };

	if (tree->root->kind == TREE_MAP)
		read_section(&reader, &top);
	else if (tree->root->kind != TREE_BROKEN)
		faults_add(faults, tree->root->place,
			   "the file isn't a map of options; begin with "
			   "\"kafka:\", as the example onced.yaml does");
}
