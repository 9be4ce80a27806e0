/* Comparing bytes, telling text from other bytes, and reading hex. */
#include "bytes.h"

int bytes_compare(struct once_bytes a, struct once_bytes b)
{
	size_t shorter = a.size < b.size ? a.size : b.size;
	int order;

	if (a.data == NULL || b.data == NULL)
		return (a.data != NULL) - (b.data != NULL);
	order = memcmp(a.data, b.data, shorter);
	if (order != 0)
		return order;
	return (a.size > b.size) - (a.size < b.size);
}

/* How many bytes follow a lead byte; -1 if it is none. */
static int utf8_tail_size(unsigned char lead)
{
	if (lead < 0x80)
		return 0;
	if (lead >= 0xC2 && lead <= 0xDF)
		return 1;
	if ((lead & 0xF0) == 0xE0)
		return 2;
	if (lead >= 0xF0 && lead <= 0xF4)
		return 3;
	return -1;
}

/* No overlong forms, no surrogates, nothing above U+10FFFF (RFC 3629). */
static bool utf8_second_fits(unsigned char lead, unsigned char second)
{
	if (lead == 0xE0)
		return second >= 0xA0;
	if (lead == 0xED)
		return second <= 0x9F;
	if (lead == 0xF0)
		return second >= 0x90;
	if (lead == 0xF4)
		return second <= 0x8F;
	return true;
}

/* Eight at a time, as far as that goes. */
static const unsigned char *skip_ascii(const unsigned char *at,
				       const unsigned char *end)
{
	uint64_t word;

	for (; (size_t)(end - at) >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		if ((word & UINT64_C(0x8080808080808080)) != 0)
			break;
	}
	return at;
}

bool bytes_are_utf8(struct once_bytes bytes)
{
	const unsigned char *at = bytes.data;
	const unsigned char *end = at + bytes.size;

	while ((at = skip_ascii(at, end)) < end) {
		int tail = utf8_tail_size(*at);

		if (tail < 0 || end - at <= tail)
			return false;
		if (tail > 0 && !utf8_second_fits(at[0], at[1]))
			return false;
		for (int i = 1; i <= tail; i++)
			if ((at[i] & 0xC0) != 0x80)
				return false;
		at += tail + 1;
	}
	return true;
}

static int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool bytes_parse_hex(struct once_bytes digits, unsigned char *data, size_t size)
{
	const char *at = digits.data;

	if (at == NULL || digits.size != 2 * size)
		return false;
	for (size_t i = 0; i < size; i++, at += 2) {
		int high = hex_value(at[0]);
		int low = hex_value(at[1]);

		if (high < 0 || low < 0)
			return false;
		data[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}
