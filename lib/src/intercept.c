/* Keys, and marks put where they will be looked for. */
#include "intercept.h"

#include "bytes.h"
#include "text.h"

#include <stdlib.h>

static const char identity_sql[] =
	"SELECT id::text, secret::text FROM once.log_identity";

/* ---- making ---- */

bool once__intercept_init(struct once__intercept *intercept,
			  struct once_prefilter *prefilter, size_t route_count)
{
	if (prefilter == NULL ||
	    (prefilter->marks == NULL && prefilter->circuit == NULL))
		return true;
	intercept->prefilter = prefilter;
	intercept->route_count = route_count;
	intercept->seeds = calloc(route_count + 1, sizeof(*intercept->seeds));
	if (intercept->seeds == NULL)
		return false;
	if (prefilter->circuit == NULL)
		return true;
	intercept->redis = once__redis_create(prefilter->circuit);
	return intercept->redis != NULL;
}

void once__intercept_fini(struct once__intercept *intercept)
{
	once__redis_destroy(intercept->redis);
	once__tenures_fini(&intercept->tenures);
	for (size_t i = 0;
	     intercept->seeds != NULL && i < intercept->route_count; i++)
		free(intercept->seeds[i].prefix);
	free(intercept->seeds);
}

/* ---- connecting ---- */

static uint64_t seed_of(struct once_bytes secret, const char *scope,
			enum once_key_kind kind)
{
	unsigned char digest[ONCE__HASH128_SIZE];
	uint64_t seed;

	once__hash128(secret, bytes_text(scope), digest);
	digest[0] ^= (unsigned char)(kind + 1);
	memcpy(&seed, digest, sizeof(seed));
	return seed;
}

static bool make_seeds(struct once__seeds *seeds, const char *log_id,
		       struct once_bytes secret, const char *scope)
{
	struct text prefix = { 0 };

	seeds->msg_id = seed_of(secret, scope, ONCE_KEY_MSG_ID);
	seeds->biz_id = seed_of(secret, scope, ONCE_KEY_BIZ_ID);
	text_addf(&prefix, "once:%s:%s:", log_id, scope);
	free(seeds->prefix);
	seeds->prefix = prefix.data;
	return !prefix.broken;
}

bool once__intercept_connect(struct once__intercept *intercept,
			     struct once__pg *pg,
			     const struct once_route *const *routes,
			     size_t route_count)
{
	const struct once_rows *rows;
	struct once_bytes secret;
	const char *log_id;

	if (intercept->prefilter == NULL)
		return true;
	once__tenures_forget(&intercept->tenures);
	rows = once__pg_exec(pg, ONCE__PG_OURS, identity_sql, ONCE_NO_PARAMS);
	if (rows == NULL)
		return false;
	if (once_rows_count(rows) == 0) {
		once__pg_fail(pg, ONCE__PG_OURS, "P0001",
			      "once.log_identity has no row");
		return false;
	}
	log_id = once_rows_get(rows, 0, 0).data;
	secret = once_rows_get(rows, 0, 1);
	intercept->secret = once__hash64(secret.data, secret.size);
	for (size_t i = 0; i < route_count; i++)
		if (!make_seeds(&intercept->seeds[i], log_id, secret,
				routes[i]->scope)) {
			once__pg_fail(pg, ONCE__PG_OURS, "53200",
				      "out of memory");
			return false;
		}
	return true;
}

/* ---- keys ---- */

void once__intercept_key(const struct once__intercept *intercept, size_t route,
			 const struct once__keys *keys,
			 struct once__row_key *ret_key)
{
	const struct once__seeds *seeds = &intercept->seeds[route];
	struct once__digest msg_id;

	once__digest_of(seeds->msg_id, keys->msg_id, &msg_id);
	if (keys->biz_id.data == NULL) {
		ret_key->digest = msg_id;
		ret_key->other = 0;
		return;
	}
	once__digest_of(seeds->biz_id, keys->biz_id, &ret_key->digest);
	ret_key->other = once__digest_short(&msg_id);
}

enum once_key_kind once__mark_kind(const struct once__mark *mark,
				   const struct once__row_key *key)
{
	return mark->other == key->other ? ONCE_KEY_MSG_ID : ONCE_KEY_BIZ_ID;
}

struct once_bytes once__intercept_name(const struct once__intercept *intercept,
				       size_t route,
				       const struct once__digest *digest,
				       struct arena *arena)
{
	static const char digits[] = "0123456789abcdef";
	const char *prefix = intercept->seeds[route].prefix;
	size_t size = strlen(prefix);
	char *name = arena_take(arena, size + 2 * sizeof(digest->bytes));
	char *at = name + size;

	if (name == NULL)
		return bytes_of(NULL, 0);
	memcpy(name, prefix, size);
	for (size_t i = 0; i < sizeof(digest->bytes); i++) {
		*at++ = digits[digest->bytes[i] >> 4];
		*at++ = digits[digest->bytes[i] & 15];
	}
	return bytes_of(name, (size_t)(at - name));
}
