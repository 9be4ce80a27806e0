/* libyaml says where it gave up, which with a tab is often a line further, and
 * with a broken encoding only a number of bytes. The text itself says more. */
#include "yaml_lines.h"

struct place lines_place(struct once_bytes source, size_t offset)
{
	const char *text = source.data;
	struct place place = { 1, 1 };

	for (size_t at = 0; at < offset && at < source.size; at++) {
		place.column++;
		if (text[at] == '\n')
			place = (struct place){ place.line + 1, 1 };
	}
	return place;
}

bool lines_find_tab(struct once_bytes source, size_t first, size_t last,
		    struct place *ret_place)
{
	const char *text = source.data;
	size_t line = 0;
	bool indents = true; /* nothing but spaces in this line so far */

	for (size_t at = 0; at < source.size && line <= last; at++) {
		if (text[at] == '\t' && indents && line >= first) {
			*ret_place = lines_place(source, at);
			return true;
		}
		indents = text[at] == '\n' || (indents && text[at] == ' ');
		line += text[at] == '\n';
	}
	return false;
}
