/*
 * yaml_tree.h - a YAML document as a tree that remembers where each thing
 * stood.
 *
 * Only what a configuration needs is taken: maps, lists and texts. Aliases,
 * anchors, tags and a second document are faults, told with their places: every
 * value stands where it counts, and a small file can't unfold into a large one.
 */
#ifndef ONCED_YAML_TREE_H
#define ONCED_YAML_TREE_H

#include "arena.h"
#include "config_faults.h"

enum tree_kind {
	TREE_TEXT,
	TREE_LIST,
	TREE_MAP,
	TREE_BROKEN /* a fault was told of it; nothing more to say */
};

struct tree_node {
	enum tree_kind kind;
	struct place place;
	const char
		*text;   /* of a TREE_TEXT; "" also where nothing was written */
	bool plain;      /* likewise: without quotes */
	const char *key; /* of a member of a map, else NULL */
	struct place key_place;
	struct tree_node *children; /* in order */
	struct tree_node *next;     /* the next child of its parent */
	size_t child_count;
};

/* All zero is empty. */
struct tree {
	struct arena arena;
	struct tree_node *root; /* NULL: nothing could be read */
};

/* Ownership: `source` is copied. Errors: each becomes a fault. */
void tree_load(struct tree *tree, struct once_bytes source,
	       struct faults *faults);
/* NULL also if `map` is NULL or no map. */
const struct tree_node *tree_find(const struct tree_node *map, const char *key);
void tree_fini(struct tree *tree);

#endif
