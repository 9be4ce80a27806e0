/* config_keys.h - the keys of one section: unknown ones, missing ones. */
#ifndef ONCED_CONFIG_KEYS_H
#define ONCED_CONFIG_KEYS_H

#include "config_scalar.h"

/* One section as it stands in the file. */
struct section {
	const char *prefix;          /* of its options */
	const struct tree_node *map; /* NULL: not written */
	struct place place;          /* where it is, or should be */
	void *base;                  /* the struct that has the fields */
	uint64_t *hidden;            /* of that struct */
};

/* A fault for each key that the table doesn't have in this section. */
void keys_refuse_unknown(struct reader *reader, const struct section *section);
/* A fault for a required option, unless it was told as misspelt. */
void keys_refuse_missing(struct reader *reader, const struct section *section,
			 const struct config_option *option);

#endif
