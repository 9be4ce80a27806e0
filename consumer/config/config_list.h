/* config_list.h - options that are lists: topics, properties, settings,
 * SQLSTATEs, hosts. */
#ifndef ONCED_CONFIG_LIST_H
#define ONCED_CONFIG_LIST_H

#include "config_scalar.h"
#include "name_set.h"

struct list {
	void *items; /* char * or struct name_value, by the option's kind */
	size_t count;
	bool outside; /* some of it isn't in the file */
	struct name_set seen;
};

/* Ownership: the items become the caller's, also after faults. */
void list_read(struct reader *reader, const struct config_option *option,
	       const struct tree_node *node, struct list *list);
/* Those of the table; nothing where it has none. */
void list_read_default(struct reader *reader,
		       const struct config_option *option, struct list *list);

#endif
