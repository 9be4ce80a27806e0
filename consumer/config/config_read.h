/* config_read.h - from the tree of YAML to struct config, by the table. */
#ifndef ONCED_CONFIG_READ_H
#define ONCED_CONFIG_READ_H

#include "config.h"
#include "yaml_tree.h"

/* Fill `cfg` from the tree, defaults included; what is wrong becomes a fault,
 * and its option has its default. `folder`: where relative paths begin.
 * Options whose default is worked out keep what they had (NULL, 0). */
void config_read(struct config *cfg, struct tree *tree, const char *folder,
		 struct faults *faults);

#endif
