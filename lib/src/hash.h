/* hash.h - XXH3 for tables and fingerprints. Not for secrets. */
#ifndef ONCE__HASH_H
#define ONCE__HASH_H

#include <once/types.h>

enum {
	ONCE__HASH128_SIZE = 16
};

uint64_t once__hash64(const void *data, size_t size);

/* Of the two together: (a, b) and (c, d) differ even where their joined bytes
 * don't. Big-endian, as XXH3's canonical form. */
void once__hash128(struct once_bytes first, struct once_bytes second,
		   unsigned char digest[ONCE__HASH128_SIZE]);

/* Of one run of bytes, under a seed. */
void once__hash128_seeded(uint64_t seed, struct once_bytes bytes,
			  unsigned char digest[ONCE__HASH128_SIZE]);

#endif
