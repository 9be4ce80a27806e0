/* route.h - what makes two messages the same, and who handles them. Immutable,
 * but for what is `shared`; any thread. */
#ifndef ONCE__ROUTE_H
#define ONCE__ROUTE_H

#include "hash.h"
#include "reading.h"
#include "settings.h"
#include "turns.h"

#include <once/once.h>
#include <stdbool.h>

enum {
	ONCE__FINGERPRINT_KIND_SIZE = 4,
	ONCE__FINGERPRINT_SIZE =
		ONCE__FINGERPRINT_KIND_SIZE + ONCE__HASH128_SIZE
};

struct once__template;

/* So many dead of one cause, with none that was handled in between. */
struct once__streak {
	enum once_cause cause;
	unsigned count;
};

/* What the sessions of a route tell each other. */
struct once__route_shared {
	struct once__turns turns;
	_Atomic struct once__streak streak;
	atomic_uint commits;    /* of handled messages */
	atomic_uint suspicions; /* see suspect.h */
};

struct once_route {
	char *name;
	char *scope;
	struct once__template *msg_id;
	struct once__template *biz_id;      /* NULL: none */
	struct once__template *fingerprint; /* NULL: of the value, or none */
	bool has_fingerprint;
	uint32_t fingerprint_kind; /* digests of two kinds aren't compared */
	enum once_bad_key_policy on_bad_key;
	enum once_conflict_policy on_conflict;
	enum once_order order;
	unsigned max_attempts;
	int64_t first_delay_ms;
	int64_t max_delay_ms;
	unsigned max_crashes;
	char (*never)[6]; /* SQLSTATEs or their classes */
	size_t never_count;
	unsigned halt_after_dead; /* 0: never */
	int64_t timeout_ms;
	const struct once_handler *handler;
	struct once_settings settings;
	struct once__route_shared *shared;
};

/* once_route_create() without a look at the handler. */
enum once_status once__route_compile(const struct once_route_options *options,
				     struct once_route **ret_route,
				     struct once_error *err) ONCE_MUST_CHECK;

/* What a message is known by. data NULL: none. */
struct once__keys {
	struct once_bytes msg_id;
	struct once_bytes biz_id;
	struct once_bytes fingerprint;
};

/* INVALID: a bad key, said in `err`. The keys live as long as the
 * memory of the reading's arena. */
enum once_status once__route_keys(const struct once_route *route,
				  struct once__reading *reading,
				  struct once__keys *ret_keys,
				  struct once_error *err);

/* Is a statement that failed so hopeless? */
bool once__route_never(const struct once_route *route, const char *sqlstate);

/* Two fingerprints that can be compared and differ. */
bool once__fingerprints_differ(struct once_bytes a, struct once_bytes b);

/* A member of once_handler, NULL where the handler's struct is too short for
 * it. */
once_duplicate_f *once__handler_duplicate(const struct once_handler *handler);
once_close_f *once__handler_close(const struct once_handler *handler);

#endif
