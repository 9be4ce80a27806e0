/* yaml_lines.h - places in a text that libyaml doesn't tell. */
#ifndef ONCED_YAML_LINES_H
#define ONCED_YAML_LINES_H

#include "config_faults.h"

#include <once/types.h>

/* Where the byte at `offset` is; columns count bytes here. */
struct place lines_place(struct once_bytes source, size_t offset);
/* The first line of `first` to `last`, from 0, that a tab indents. */
bool lines_find_tab(struct once_bytes source, size_t first, size_t last,
		    struct place *ret_place);

#endif
