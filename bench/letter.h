/* letter.h - a message: JSON of a given size, as a shop would send it, and its
 * header message-id. */
#ifndef BENCH_LETTER_H
#define BENCH_LETTER_H

#include <once/types.h>
#include <route.h>

enum {
	LETTER_ID_SIZE = 36,
	LETTER_MIN = 100, /* bytes of a value */
	LETTER_MAX = 16384
};

struct letter {
	char id[LETTER_ID_SIZE + 1];
	char value[LETTER_MAX + 1];
	size_t value_size;
};

/* What a handler books. */
struct letter_fields {
	struct once_bytes refund_no;
	struct once_bytes order_no;
	struct once_bytes sku;
	struct once_bytes amount; /* "1.00" to "500.99" */
};

/* The same numbers, the same bytes, in each run. */
void letter_format_id(struct letter *letter, uint64_t number);
void letter_format_value(struct letter *letter, uint64_t number, size_t size);

/* The cheapest reading there can be, of nothing but our own: fields stand where
 * they always do. */
void letter_read(struct once_bytes value, struct letter_fields *ret_fields);

/* What onced keeps of a value in the log, to know it again. */
void letter_fingerprint(struct once_bytes value,
			unsigned char digest[ONCE__FINGERPRINT_SIZE]);

#endif
