/* A route without its handler, and memory for the keys of one message: what a
 * look at a topic needs before anything is consumed. The keys are the very ones
 * that a session would claim. */
#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "hash.h"
#include "key_template.h"
#include "route.h"

#include <stdlib.h>

_Static_assert((int)ONCE__FINGERPRINT_SIZE == ONCE_FINGERPRINT_SIZE,
	       "once.h says how large a fingerprint is");

struct once_key_reader {
	struct once_route *route;
	struct arena arena;
};

enum once_status once_key_reader_create(
	const struct once_route_options *options,
	struct once_key_reader **ret_reader, struct once_error *err)
{
	struct once_key_reader *reader = calloc(1, sizeof(*reader));
	enum once_status status;

	if (reader == NULL)
		return error_no_memory(err);
	status = once__route_compile(options, &reader->route, err);
	if (status != ONCE_OK) {
		once_key_reader_destroy(reader);
		return status;
	}
	*ret_reader = reader;
	return ONCE_OK;
}

void once_key_reader_destroy(struct once_key_reader *reader)
{
	if (reader == NULL)
		return;
	once_route_destroy(reader->route);
	arena_fini(&reader->arena);
	free(reader);
}

static void fill_key(const struct once_key_reader *reader,
		     struct once_bytes text, struct once_read_key *key)
{
	key->text = text;
	once__hash128(bytes_text(reader->route->scope), text, key->digest);
	key->shortened = text.data != NULL && once__key_is_abbreviated(text);
}

enum once_status once_key_reader_read(struct once_key_reader *reader,
				      const struct once_record *record,
				      struct once_read_keys *ret_keys,
				      struct once_error *err)
{
	struct once__reading reading = { record, &reader->arena, false, NULL };
	struct once__keys keys = { 0 };
	enum once_status status;

	arena_reset(&reader->arena);
	status = once__route_keys(reader->route, &reading, &keys, err);
	fill_key(reader, keys.msg_id, &ret_keys->msg_id);
	fill_key(reader, keys.biz_id, &ret_keys->biz_id);
	ret_keys->fingerprint = keys.fingerprint;
	return status;
}

int once_fingerprints_differ(struct once_bytes a, struct once_bytes b)
{
	return once__fingerprints_differ(a, b);
}
