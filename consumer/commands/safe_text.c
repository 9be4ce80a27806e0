/* Control characters and what isn't UTF-8 are shown as \xNN. */
#include "safe_text.h"

#include "bytes.h"

enum {
	WIDTH = 80
};

/* C0, DEL, and C1, which is C2 80 to C2 9F in UTF-8. */
bool safe_text_is_control(const unsigned char *at, size_t left)
{
	return at[0] < 0x20 || at[0] == 0x7F ||
	       (at[0] == 0xC2 && left > 1 && at[1] < 0xA0);
}

void safe_text_add(struct text *text, struct once_bytes bytes)
{
	const unsigned char *at = bytes.data;
	bool utf8 = bytes_are_utf8(bytes);

	for (size_t i = 0; i < bytes.size; i++) {
		if (safe_text_is_control(at + i, bytes.size - i) ||
		    (!utf8 && at[i] >= 0x80))
			text_addf(text, "\\x%02x", at[i]);
		else
			text_add(text, at + i, 1);
		if (utf8 && at[i] == 0xC2 &&
		    safe_text_is_control(at + i, bytes.size - i))
			text_addf(text, "\\x%02x", at[++i]);
	}
}

/* Where the line has to end, so that "…" still fits; `size` if all of it fits.
 * Characters are counted, not bytes. */
static size_t find_cut(const char *line, size_t size)
{
	size_t columns = 0;
	size_t cut = 0;

	for (size_t i = 0; i < size; i++) {
		if ((line[i] & 0xC0) == 0x80)
			continue;
		if (columns == WIDTH - 1)
			cut = i;
		columns++;
	}
	return columns > WIDTH ? cut : size;
}

void safe_text_end_line(struct text *text, size_t begin)
{
	size_t size;
	size_t cut;

	if (text->broken)
		return;
	size = text->size - begin;
	cut = find_cut(text->data + begin, size);
	if (cut < size) {
		text->size = begin + cut;
		text_adds(text, "…");
	}
	text_adds(text, "\n");
}
