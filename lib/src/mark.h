/*
 * mark.h - what a prefilter keeps of a row of the consume log: enough to tell a
 * duplicate from a conflict, and what to prove it by.
 *
 * A row has one mark, under one of its keys (intercept.h). A mark is true if the
 * database has its tenure and has come past its offset: see tenure.h.
 */
#ifndef ONCE__MARK_H
#define ONCE__MARK_H

#include "hash.h"
#include "route.h"

/* Of a key, with its scope and kind, under the log's secret. */
struct once__digest {
	unsigned char bytes[ONCE__HASH128_SIZE];
};

struct once__mark {
	int64_t tenure; /* never 0 */
	int64_t offset;
	uint64_t other; /* of the row's other key; 0: it has none */
	unsigned char fingerprint[ONCE__FINGERPRINT_SIZE];
	bool has_fingerprint;
	bool has_result;
};

enum {
	ONCE__MARK_SIZE = 2 + 3 * 8 + ONCE__FINGERPRINT_SIZE + 8,
	ONCE__MARK_WITNESS = -1 /* offset: true if the tenure is there */
};

/* `seed`: of the scope and the kind of key. */
void once__digest_of(uint64_t seed, struct once_bytes key,
		     struct once__digest *ret_digest);
/* Part of it, to compare; never 0. */
uint64_t once__digest_short(const struct once__digest *digest);

/* As a value outside the process, bound to its key by a checksum under the
 * log's secret: one that was typed, or copied to another key, is none. */
void once__mark_format(const struct once__mark *mark, uint64_t secret,
		       const struct once__digest *key,
		       unsigned char ret_data[ONCE__MARK_SIZE]);
bool once__mark_parse(struct once_bytes data, uint64_t secret,
		      const struct once__digest *key,
		      struct once__mark *ret_mark);

#endif
