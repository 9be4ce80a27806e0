/* config_protect.h - what a configuration leaves open to others: to whoever may
 * write its files, or listens on the network. Told as warnings, but for files
 * that anybody may write. */
#ifndef ONCED_CONFIG_PROTECT_H
#define ONCED_CONFIG_PROTECT_H

#include "config.h"
#include "yaml_tree.h"

/* The configuration file itself. */
void config_check_file(const char *path, struct faults *faults);
/* `cfg` may lack what was refused before. */
void config_check_protection(const struct config *cfg,
			     const struct tree_node *root,
			     struct faults *faults);

#endif
