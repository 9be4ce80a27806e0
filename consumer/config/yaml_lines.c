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

/* The line's first byte; lines count from 0. */
static size_t find_line(struct once_bytes source, size_t line)
{
	const char *text = source.data;
	size_t at = 0;

	for (; at < source.size && line > 0; at++)
		if (text[at] == '\n')
			line--;
	return at;
}

bool lines_find_tab(struct once_bytes source, size_t first, size_t last,
		    struct place *ret_place)
{
	const char *text = source.data;

	for (size_t line = first; line <= last; line++) {
		size_t at = find_line(source, line);

		while (at < source.size && text[at] == ' ')
			at++;
		if (at == source.size || text[at] != '\t')
			continue;
		*ret_place = lines_place(source, at);
		return true;
	}
	return false;
}
