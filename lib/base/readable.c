/* Character by character; what begins none is shown byte by byte. */
#include "readable.h"

#include "bytes.h"

#include <stdio.h>
#include <string.h>

enum {
	SHOWN_SIZE = 16 /* "\U000e0041" and more */
};

struct range {
	uint32_t first;
	uint32_t last;
};

/* Shown as numbers: what is invisible, or changes the direction. Unicode 15.1:
 * the categories Cf, Zl and Zp, what is to be ignored by default, and
 * noncharacters. */
static const struct range hidden[] = {
	{ 0x00AD, 0x00AD },   { 0x034F, 0x034F },   { 0x0600, 0x0605 },
	{ 0x061C, 0x061C },   { 0x06DD, 0x06DD },   { 0x070F, 0x070F },
	{ 0x0890, 0x0891 },   { 0x08E2, 0x08E2 },   { 0x115F, 0x1160 },
	{ 0x17B4, 0x17B5 },   { 0x180B, 0x180F },   { 0x200B, 0x200F },
	{ 0x2028, 0x202E },   { 0x2060, 0x206F },   { 0x3164, 0x3164 },
	{ 0xFDD0, 0xFDEF },   { 0xFE00, 0xFE0F },   { 0xFEFF, 0xFEFF },
	{ 0xFFA0, 0xFFA0 },   { 0xFFF0, 0xFFFB },   { 0x110BD, 0x110BD },
	{ 0x110CD, 0x110CD }, { 0x13430, 0x1343F }, { 0x1BCA0, 0x1BCA3 },
	{ 0x1D173, 0x1D17A }, { 0xE0000, 0xE0FFF },
};

/* Two columns: East Asian Width W and F of Unicode, in a few blocks. */
static const struct range wide[] = {
	{ 0x1100, 0x115F },   { 0x2E80, 0x303E },   { 0x3041, 0xA4CF },
	{ 0xA960, 0xA97C },   { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },
	{ 0xFE30, 0xFE6F },   { 0xFF00, 0xFF60 },   { 0xFFE0, 0xFFE6 },
	{ 0x1F300, 0x1F64F }, { 0x1F680, 0x1F6FF }, { 0x1F900, 0x1FAFF },
	{ 0x20000, 0x3FFFD },
};

/* None: they stand on the character before. */
static const struct range combining[] = {
	{ 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD },
	{ 0x0610, 0x061A }, { 0x064B, 0x065F }, { 0x1AB0, 0x1AFF },
	{ 0x1DC0, 0x1DFF }, { 0x20D0, 0x20FF }, { 0xFE20, 0xFE2F },
};

#define IS_IN(ranges, code) \
	is_in(ranges, sizeof(ranges) / sizeof((ranges)[0]), code)

static bool is_in(const struct range *ranges, size_t count, uint32_t code)
{
	for (size_t i = 0; i < count; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* The size of the UTF-8 character there; 0: there is none. */
static size_t find_character(const unsigned char *at, size_t left,
			     uint32_t *ret_code)
{
	static const unsigned char masks[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	size_t size = at[0] < 0x80   ? 1
		      : at[0] < 0xE0 ? 2
		      : at[0] < 0xF0 ? 3
				     : 4;
	uint32_t code = at[0] & masks[size];

	if (size > left || !bytes_are_utf8(bytes_of(at, size)))
		return 0;
	for (size_t i = 1; i < size; i++)
		code = code << 6 | (at[i] & 0x3F);
	*ret_code = code;
	return size;
}

static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

/* The last two of each plane are noncharacters. */
static bool is_hidden(uint32_t code)
{
	return IS_IN(hidden, code) || (code & 0xFFFE) == 0xFFFE;
}

/* How the next character is shown; returns how many bytes it takes. */
static size_t show_character(const unsigned char *at, size_t left,
			     char shown[SHOWN_SIZE])
{
	uint32_t code = 0;
	size_t size = find_character(at, left, &code);

	if (size == 0 || is_control(code)) {
		snprintf(shown, SHOWN_SIZE, "\\x%02x",
			 (unsigned)(size == 0 ? at[0] : code));
		return size == 0 ? 1 : size;
	}
	if (is_hidden(code))
		snprintf(shown, SHOWN_SIZE,
			 code > 0xFFFF ? "\\U%08x" : "\\u%04x", (unsigned)code);
	else
		snprintf(shown, SHOWN_SIZE, "%.*s", (int)size,
			 (const char *)at);
	return size;
}

static size_t count_characters(const char *utf8)
{
	size_t count = 0;

	for (; *utf8 != '\0'; utf8++)
		count += (*utf8 & 0xC0) != 0x80;
	return count;
}

/* `ret_cut`: where "…" would still fit. */
static bool add_while_fits(struct text *text, struct once_bytes bytes,
			   size_t most, size_t *ret_cut)
{
	const unsigned char *at = bytes.data;
	char shown[SHOWN_SIZE];
	size_t count = 0;

	*ret_cut = text->size;
	for (size_t i = 0; i < bytes.size;) {
		i += show_character(at + i, bytes.size - i, shown);
		count += count_characters(shown);
		if (count > most)
			return false;
		text_adds(text, shown);
		if (count < most)
			*ret_cut = text->size;
	}
	return true;
}

void readable_add(struct text *text, struct once_bytes bytes, size_t most)
{
	size_t cut;

	if (add_while_fits(text, bytes, most, &cut) || text->broken)
		return;
	text->size = cut;
	text_adds(text, "…");
}

void readable_add_lines(struct text *text, const char *string)
{
	while (*string != '\0') {
		size_t size = strcspn(string, "\n");

		readable_add(text, bytes_of(string, size), READABLE_WHOLE);
		string += size;
		if (*string == '\0')
			return;
		text_adds(text, "\n");
		string++;
	}
}

/* Beyond 16 bits JSON takes two halves. */
static void add_json_escape(struct text *text, uint32_t code)
{
	if (code <= 0xFFFF) {
		text_addf(text, "\\u%04x", (unsigned)code);
		return;
	}
	code -= 0x10000;
	text_addf(text, "\\u%04x\\u%04x", (unsigned)(0xD800 + (code >> 10)),
		  (unsigned)(0xDC00 + (code & 0x3FF)));
}

/* What is copied as it is; nearly all of it. */
static size_t count_plain_ascii(const unsigned char *at, size_t left)
{
	size_t size = 0;

	while (size < left && at[size] < 0x7F)
		size++;
	return size;
}

void readable_add_json(struct text *text, struct once_bytes json)
{
	const unsigned char *at = json.data;
	size_t left = json.size;

	while (left > 0) {
		uint32_t code = 0;
		size_t size = count_plain_ascii(at, left);

		if (size == 0)
			size = find_character(at, left, &code);
		if (code >= 0x7F && (is_control(code) || is_hidden(code)))
			add_json_escape(text, code);
		else
			text_add(text, at, size == 0 ? 1 : size);
		at += size == 0 ? 1 : size;
		left -= size == 0 ? 1 : size;
	}
}

bool readable_is_plain(struct once_bytes bytes)
{
	const unsigned char *at = bytes.data;

	for (size_t i = 0; i < bytes.size;) {
		uint32_t code = 0;
		size_t size = find_character(at + i, bytes.size - i, &code);
		bool breaks = code == '\n' || code == '\t';

		if (size == 0 || (is_control(code) && !breaks) ||
		    is_hidden(code))
			return false;
		i += size;
	}
	return true;
}

static size_t columns_of(uint32_t code)
{
	if (IS_IN(combining, code))
		return 0;
	return IS_IN(wide, code) ? 2 : 1;
}

static size_t measure(struct once_bytes utf8, size_t most, size_t *ret_columns)
{
	const unsigned char *at = utf8.data;
	size_t columns = 0;
	size_t i = 0;

	while (i < utf8.size) {
		uint32_t code = 0;
		size_t size = find_character(at + i, utf8.size - i, &code);
		size_t more = columns_of(code);

		if (columns + more > most)
			break;
		columns += more;
		i += size == 0 ? 1 : size;
	}
	*ret_columns = columns;
	return i;
}

size_t readable_width(struct once_bytes utf8)
{
	size_t columns;

	(void)measure(utf8, SIZE_MAX / 2, &columns);
	return columns;
}

size_t readable_fit(struct once_bytes utf8, size_t columns)
{
	size_t taken;

	return measure(utf8, columns, &taken);
}

void readable_end_line(struct text *text, size_t begin, size_t columns)
{
	struct once_bytes line;

	if (text->broken)
		return;
	line = bytes_of(text->data + begin, text->size - begin);
	if (readable_fit(line, columns) < line.size) {
		text->size = begin + readable_fit(line, columns - 1);
		text_adds(text, "…");
	}
	text_adds(text, "\n");
}
