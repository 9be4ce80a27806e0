/*
 * libyaml's events become a tree. The one idea: a fault that leaves the rest
 * readable (an alias, a key given twice) is told and reading goes on; only what
 * libyaml itself can't get past ends it.
 */
#include "yaml_tree.h"

#include "bytes.h"
#include "config_secret.h"
#include "name_set.h"
#include "yaml_lines.h"

#include <yaml.h>

enum {
	MAX_DEPTH = 16
};

struct loader {
	yaml_parser_t parser;
	struct tree *tree;
	struct faults *faults;
	struct once_bytes source;
	int depth;
};

static struct place place_of(yaml_mark_t mark)
{
	struct place place = { (int)mark.line + 1, (int)mark.column + 1 };

	return place;
}

/* ---- syntax ---- */

static void tell_of_syntax(struct loader *loader)
{
	const yaml_parser_t *parser = &loader->parser;
	size_t last = parser->problem_mark.line;
	struct place tab;
	size_t first =
		parser->context != NULL ? parser->context_mark.line : last;

	if (parser->error == YAML_MEMORY_ERROR) {
		loader->faults->broken = true;
		return;
	}
	if (parser->error == YAML_READER_ERROR) {
		faults_add(loader->faults,
			   lines_place(loader->source, parser->problem_offset),
			   "this isn't text in UTF-8 (%s); save the file as "
			   "plain UTF-8",
			   parser->problem);
		return;
	}
	if (lines_find_tab(loader->source, first, last, &tab)) {
		faults_add(loader->faults, tab,
			   "a tab indents this line; write spaces instead");
		return;
	}
	faults_add(loader->faults, place_of(parser->problem_mark),
		   "this isn't YAML: %s%s%s; check the indentation, the "
		   "quotes and the brackets here and in the line before",
		   parser->problem, parser->context != NULL ? " " : "",
		   parser->context != NULL ? parser->context : "");
}

static bool next_event(struct loader *loader, yaml_event_t *event)
{
	if (yaml_parser_parse(&loader->parser, event))
		return true;
	tell_of_syntax(loader);
	return false;
}

/* ---- nodes ---- */

static struct tree_node *build_node(struct loader *loader, yaml_event_t *event);

static struct tree_node *add_node(struct loader *loader, enum tree_kind kind,
				  const yaml_event_t *event)
{
	struct tree_node *node =
		arena_take_zeroed(&loader->tree->arena, 1, sizeof(*node));

	if (node == NULL) {
		loader->faults->broken = true;
		return NULL;
	}
	node->kind = kind;
	node->place = place_of(event->start_mark);
	return node;
}

static void refuse_marks(struct loader *loader, const yaml_event_t *event,
			 const yaml_char_t *anchor, const yaml_char_t *tag)
{
	struct place place = place_of(event->start_mark);

	if (anchor != NULL)
		faults_add(loader->faults, place,
			   "an anchor (&) isn't accepted; write the value out "
			   "where it is used, in quotes if it begins with "
			   "\"&\"");
	if (tag != NULL)
		faults_add(
			loader->faults, place,
			"a tag (!) isn't accepted; write the value alone, in "
			"quotes if it begins with \"!\"");
}

static struct tree_node *build_text(struct loader *loader,
				    const yaml_event_t *event)
{
	struct tree_node *node = add_node(loader, TREE_TEXT, event);
	const char *value = (const char *)event->data.scalar.value;
	size_t size = event->data.scalar.length;

	refuse_marks(loader, event, event->data.scalar.anchor,
		     event->data.scalar.tag);
	if (node == NULL)
		return NULL;
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->text = arena_copy(&loader->tree->arena, bytes_of(value, size));
	if (node->text == NULL) {
		loader->faults->broken = true;
		return NULL;
	}
	if (strlen(node->text) != size) {
		node->kind = TREE_BROKEN;
		faults_add(loader->faults, node->place,
			   "a NUL is in this text; take \"\\0\" out");
	}
	return node;
}

static struct tree_node *build_alias(struct loader *loader,
				     const yaml_event_t *event)
{
	faults_add(
		loader->faults, place_of(event->start_mark),
		"an alias (*) isn't accepted; write the value out, in quotes "
		"if it begins with \"*\"");
	return add_node(loader, TREE_BROKEN, event);
}

static struct tree_node *build_next(struct loader *loader)
{
	struct tree_node *node;
	yaml_event_t event;

	if (!next_event(loader, &event))
		return NULL;
	node = build_node(loader, &event);
	yaml_event_delete(&event);
	return node;
}

static void append(struct tree_node *parent, struct tree_node **last,
		   struct tree_node *child)
{
	if (*last == NULL)
		parent->children = child;
	else
		(*last)->next = child;
	*last = child;
	parent->child_count++;
}

/* A key that counts: a text, and the first of its name. */
static bool accept_key(struct loader *loader, struct name_set *seen,
		       const struct tree_node *key)
{
	size_t first;

	if (key->kind == TREE_BROKEN)
		return false;
	if (key->kind != TREE_TEXT) {
		faults_add(loader->faults, key->place,
			   "a key must be a word; write \"name: value\"");
		return false;
	}
	if (name_set_add(seen, key->text, strlen(key->text),
			 (size_t)key->place.line, &first))
		return true;
	faults_add(loader->faults, key->place,
		   "key \"%.60s\" stands on line %zu already; keep one of the "
		   "two",
		   secret_value(key->text) ? "..." : key->text, first);
	return false;
}

/* One "key: value" of a map, beginning with the key's event. */
static bool build_member(struct loader *loader, struct tree_node *map,
			 struct tree_node **last, struct name_set *seen,
			 yaml_event_t *event)
{
	struct tree_node *key = build_node(loader, event);
	struct tree_node *value;
	bool accepted;

	if (key == NULL)
		return false;
	accepted = accept_key(loader, seen, key);
	value = build_next(loader);
	if (value == NULL)
		return false;
	if (!accepted)
		return true;
	value->key = key->text;
	value->key_place = key->place;
	append(map, last, value);
	return true;
}

static bool build_item(struct loader *loader, struct tree_node *list,
		       struct tree_node **last, yaml_event_t *event)
{
	struct tree_node *item = build_node(loader, event);

	if (item == NULL)
		return false;
	append(list, last, item);
	return true;
}

static bool build_children(struct loader *loader, struct tree_node *parent)
{
	struct name_set seen scoped_name_set = { 0 };
	struct tree_node *last = NULL;
	yaml_event_type_t type;
	yaml_event_t event;
	bool built;

	for (;;) {
		if (!next_event(loader, &event))
			return false;
		type = event.type;
		if (type == YAML_SEQUENCE_END_EVENT ||
		    type == YAML_MAPPING_END_EVENT)
			built = false;
		else if (parent->kind == TREE_LIST)
			built = build_item(loader, parent, &last, &event);
		else
			built = build_member(loader, parent, &last, &seen,
					     &event);
		yaml_event_delete(&event);
		loader->faults->broken |= seen.broken;
		if (!built)
			return type == YAML_SEQUENCE_END_EVENT ||
			       type == YAML_MAPPING_END_EVENT;
	}
}

static struct tree_node *build_parent(struct loader *loader,
				      enum tree_kind kind,
				      const yaml_event_t *event)
{
	struct tree_node *node = add_node(loader, kind, event);
	bool built;

	if (node == NULL)
		return NULL;
	if (loader->depth == MAX_DEPTH) {
		faults_add(loader->faults, node->place,
			   "this is nested deeper than any option; check the "
			   "indentation and the brackets");
		return NULL;
	}
	loader->depth++;
	built = build_children(loader, node);
	loader->depth--;
	return built ? node : NULL;
}

/* Recursion ends at MAX_DEPTH. NULL: reading can't go on. */
static struct tree_node *build_node(struct loader *loader, yaml_event_t *event)
{
	if (event->type == YAML_ALIAS_EVENT)
		return build_alias(loader, event);
	if (event->type == YAML_SCALAR_EVENT)
		return build_text(loader, event);
	if (event->type == YAML_SEQUENCE_START_EVENT) {
		refuse_marks(loader, event, event->data.sequence_start.anchor,
			     event->data.sequence_start.tag);
		return build_parent(loader, TREE_LIST, event);
	}
	refuse_marks(loader, event, event->data.mapping_start.anchor,
		     event->data.mapping_start.tag);
	return build_parent(loader, TREE_MAP, event);
}

/* ---- the document ---- */

/* Go `count` events on; of the last one the kind and place matter. */
static bool skip_events(struct loader *loader, int count,
			yaml_event_type_t *ret_type, struct place *ret_place)
{
	yaml_event_t event;

	for (; count > 0; count--) {
		if (!next_event(loader, &event))
			return false;
		*ret_type = event.type;
		*ret_place = place_of(event.start_mark);
		yaml_event_delete(&event);
	}
	return true;
}

static void refuse_empty(struct loader *loader)
{
	struct place start = { 1, 1 };

	faults_add(loader->faults, start,
		   "the file is empty; begin with \"kafka:\", as the example "
		   "onced.yaml does");
}

static struct tree_node *load_document(struct loader *loader)
{
	yaml_event_type_t type = YAML_NO_EVENT;
	struct tree_node *root;
	struct place place;

	/* The stream's start, then the document's. */
	if (!skip_events(loader, 2, &type, &place))
		return NULL;
	if (type != YAML_DOCUMENT_START_EVENT) {
		refuse_empty(loader);
		return NULL;
	}
	root = build_next(loader);
	if (root == NULL)
		return NULL;
	/* The document's end, then the stream's. */
	if (!skip_events(loader, 2, &type, &place))
		return NULL;
	if (type == YAML_DOCUMENT_START_EVENT)
		faults_add(loader->faults, place,
			   "a second document begins here; put all options "
			   "into the first and take the \"---\" out");
	if (root->kind == TREE_TEXT && root->plain && root->text[0] == '\0') {
		refuse_empty(loader);
		return NULL;
	}
	return root;
}

void tree_load(struct tree *tree, struct once_bytes source,
	       struct faults *faults)
{
	struct loader loader = { .tree = tree,
				 .faults = faults,
				 .source = source };

	if (!yaml_parser_initialize(&loader.parser)) {
		faults->broken = true;
		return;
	}
	yaml_parser_set_encoding(&loader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&loader.parser, source.data, source.size);
	tree->root = load_document(&loader);
	yaml_parser_delete(&loader.parser);
}

const struct tree_node *tree_find(const struct tree_node *map, const char *key)
{
	if (map == NULL || map->kind != TREE_MAP)
		return NULL;
	for (const struct tree_node *at = map->children; at != NULL;
	     at = at->next)
		if (strcmp(at->key, key) == 0)
			return at;
	return NULL;
}

void tree_fini(struct tree *tree)
{
	arena_fini(&tree->arena);
	tree->root = NULL;
}
