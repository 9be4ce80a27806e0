/* config_scalar.h - one written value: what it is and how it may be shown. */
#ifndef ONCED_CONFIG_SCALAR_H
#define ONCED_CONFIG_SCALAR_H

#include "config.h"
#include "config_expand.h"
#include "config_options.h"
#include "yaml_tree.h"

/* What reading goes on with. All borrowed. */
struct reader {
	struct config *cfg;
	struct arena *arena; /* lives while the tree does */
	const char *folder;  /* where relative paths begin */
	struct outside outside;
	struct faults *faults;
};

struct scalar {
	struct place place;
	const char *text;  /* what is meant; in the arena */
	const char *shown; /* for messages: as written; NULL: a secret */
	bool outside;      /* some of it isn't in the file */
};

/* False: it isn't a text, or what it refers to isn't there; a fault says so. */
bool scalar_read(struct reader *reader, const struct config_option *option,
		 const struct tree_node *node, struct scalar *ret_scalar);
/* A fault: `option is "value": err`. */
void scalar_refuse(struct reader *reader, const struct config_option *option,
		   const struct scalar *scalar, const struct once_error *err);
/* Find the file from the folder on; INVALID: there is no regular file. */
enum once_status scalar_find_file(struct reader *reader, const char **path,
				  struct once_error *err) ONCE_MUST_CHECK;

#endif
