/* config_check.h - what can only be seen when several options are looked at. */
#ifndef ONCED_CONFIG_CHECK_H
#define ONCED_CONFIG_CHECK_H

#include "config.h"
#include "yaml_tree.h"

/* `root`: where the options stood, for the places. `cfg` may lack what was
 * refused before. */
void config_check_retention(const struct config *cfg,
			    const struct tree_node *root,
			    struct faults *faults);
void config_check_routes(const struct config *cfg, const struct tree_node *root,
			 struct faults *faults);
void config_check_prefilter(const struct config *cfg,
			    const struct tree_node *root,
			    struct faults *faults);

#endif
