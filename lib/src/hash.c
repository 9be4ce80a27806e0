/* The one place that knows xxHash. */
#include "hash.h"

#include <string.h>
#include <xxhash.h>

uint64_t once__hash64(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

void once__hash128_seeded(uint64_t seed, struct once_bytes bytes,
			  unsigned char digest[ONCE__HASH128_SIZE])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(
		&canonical,
		XXH3_128bits_withSeed(bytes.data, bytes.size, seed));
	memcpy(digest, canonical.digest, ONCE__HASH128_SIZE);
}

void once__hash128(struct once_bytes first, struct once_bytes second,
		   unsigned char digest[ONCE__HASH128_SIZE])
{
	uint64_t seed =
		first.data == NULL ? 1 : XXH3_64bits(first.data, first.size);

	once__hash128_seeded(seed, second, digest);
}
