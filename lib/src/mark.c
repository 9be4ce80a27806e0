/* A mark outside the process is a fixed run of bytes, big-endian, that ends
 * with its checksum. */
#include "mark.h"

#include "bytes.h"

enum {
	VERSION = 1,
	HAS_FINGERPRINT = 1,
	HAS_RESULT = 2,
	CHECKED_SIZE = ONCE__MARK_SIZE - 8
};

void once__digest_of(uint64_t seed, struct once_bytes key,
		     struct once__digest *ret_digest)
{
	once__hash128_seeded(seed, key, ret_digest->bytes);
}

uint64_t once__digest_short(const struct once__digest *digest)
{
	uint64_t part;

	memcpy(&part, digest->bytes, sizeof(part));
	return part == 0 ? 1 : part;
}

static unsigned char *put_number(unsigned char *at, uint64_t number)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		*at++ = (unsigned char)(number >> shift);
	return at;
}

static const unsigned char *get_number(const unsigned char *at,
				       uint64_t *ret_number)
{
	*ret_number = 0;
	for (int i = 0; i < 8; i++)
		*ret_number = *ret_number << 8 | *at++;
	return at;
}

static uint64_t checksum_of(const unsigned char *data, uint64_t secret,
			    const struct once__digest *key)
{
	unsigned char bound[sizeof(secret) + sizeof(key->bytes)];
	struct once__digest digest;

	memcpy(bound, &secret, sizeof(secret));
	memcpy(bound + sizeof(secret), key->bytes, sizeof(key->bytes));
	once__hash128(bytes_of(bound, sizeof(bound)),
		      bytes_of(data, CHECKED_SIZE), digest.bytes);
	return once__digest_short(&digest);
}

void once__mark_format(const struct once__mark *mark, uint64_t secret,
		       const struct once__digest *key,
		       unsigned char ret_data[ONCE__MARK_SIZE])
{
	unsigned char *at = ret_data;

	*at++ = VERSION;
	*at++ = (unsigned char)((mark->has_fingerprint ? HAS_FINGERPRINT : 0) |
				(mark->has_result ? HAS_RESULT : 0));
	at = put_number(at, (uint64_t)mark->tenure);
	at = put_number(at, (uint64_t)mark->offset);
	at = put_number(at, mark->other);
	memcpy(at, mark->fingerprint, sizeof(mark->fingerprint));
	put_number(at + sizeof(mark->fingerprint),
		   checksum_of(ret_data, secret, key));
}

bool once__mark_parse(struct once_bytes data, uint64_t secret,
		      const struct once__digest *key,
		      struct once__mark *ret_mark)
{
	const unsigned char *at = data.data;
	uint64_t tenure;
	uint64_t offset;
	uint64_t checksum;

	if (data.size != ONCE__MARK_SIZE || at[0] != VERSION)
		return false;
	get_number(at + CHECKED_SIZE, &checksum);
	if (checksum != checksum_of(at, secret, key))
		return false;
	ret_mark->has_fingerprint = (at[1] & HAS_FINGERPRINT) != 0;
	ret_mark->has_result = (at[1] & HAS_RESULT) != 0;
	at = get_number(at + 2, &tenure);
	at = get_number(at, &offset);
	at = get_number(at, &ret_mark->other);
	ret_mark->tenure = (int64_t)tenure;
	ret_mark->offset = (int64_t)offset;
	memcpy(ret_mark->fingerprint, at, sizeof(ret_mark->fingerprint));
	return true;
}
