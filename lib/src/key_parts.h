/* key_parts.h - a parsed template, shared by its parser (key_parts.c) and its
 * use (key_template.c). */
#ifndef ONCE_KEY_PARTS_H
#define ONCE_KEY_PARTS_H

#include "key_field.h"

struct once__part {
	struct once_bytes before; /* constant; only the first may have none */
	const char *written;      /* all alternatives, for people */
	const struct once__field *fields; /* the alternatives, one at least */
	size_t field_count;
};

struct once__template {
	const char *written;
	struct once__part *parts;
	size_t part_count;
	struct once__field *fields; /* of all parts */
	size_t field_count;
	struct once_bytes tail; /* constant, behind the last part */
	char *texts;            /* what all of the above point into */
};

#endif
