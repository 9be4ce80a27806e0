/*
 * key_survey.h - what a route's templates make of real messages: how many of
 * them would be new, duplicates, conflicts, or have no key at all.
 *
 * Messages are judged as onced would judge them if the log were empty and they
 * came in the order in which they are added: one with a key of an earlier one
 * repeats it, or contradicts it, and claims nothing.
 *
 * Memory: about 110 bytes a message with two keys (a half more while it grows);
 * the texts of keys are kept for examples only.
 *
 * Threads: main.
 */
#ifndef ONCED_KEY_SURVEY_H
#define ONCED_KEY_SURVEY_H

#include "key_table.h"

#include <once/once.h>

enum {
	KEY_SURVEY_EXAMPLES = 3,
	KEY_SURVEY_REASONS = 12,
	KEY_SURVEY_TOP = 5,
	KEY_SURVEY_KEY_SIZE = 256 /* no key is longer */
};

/* clang-format off */
#define KEY_FINDING_TABLE(X)        \
	X(NEW,         "new")         \
	X(REPEATED,    "repeated")    \
	X(CONFLICTING, "conflicting") \
	X(BAD,         "bad")
/* clang-format on */

enum key_finding {
#define X(name, word) KEY_FINDING_##name,
	KEY_FINDING_TABLE(X)
#undef X
	COUNT_KEY_FINDINGS
};

/* A partition. */
struct key_place {
	const char *topic;
	int32_t partition;
	int64_t messages; /* that were added */
};

/* A message that stands for many of its kind. */
struct key_example {
	uint32_t place;
	int64_t offset;
	uint32_t first_place; /* of the message that has its key */
	int64_t first_offset;
	enum once_key_kind kind;
	bool other_operation; /* the same msg_id for another biz_id */
	size_t key_size;
	char key[KEY_SURVEY_KEY_SIZE];
};

struct key_examples {
	size_t count;
	struct key_example list[KEY_SURVEY_EXAMPLES];
};

struct key_reason {
	char text[256];
	int64_t count;
	uint32_t place; /* of the first one */
	int64_t offset;
};

struct key_often {
	uint32_t entry;
	uint32_t seen;
	size_t key_size;
	char key[KEY_SURVEY_KEY_SIZE];
};

struct key_claim {
	int64_t offset;
	uint32_t place;
	unsigned char fingerprint[ONCE_FINGERPRINT_SIZE];
};

struct key_survey {
	struct key_place *places;
	size_t place_count;

	int64_t messages;
	int64_t found[COUNT_KEY_FINDINGS];
	int64_t repeated_by[2];   /* enum once_key_kind */
	int64_t other_operations; /* of the conflicting */
	int64_t shortened[2];     /* enum once_key_kind */
	int64_t reasons_left_out; /* messages with more reasons than fit */

	struct key_examples repeated;
	struct key_examples conflicting;
	struct key_examples shortened_ones;
	struct key_reason reasons[KEY_SURVEY_REASONS];
	size_t reason_count;
	/* Met most often; of biz_ids, or of msg_ids where there are none. */
	struct key_often often[KEY_SURVEY_TOP];
	size_t often_count;
	enum once_key_kind often_kind;

	struct key_table keys[2]; /* enum once_key_kind */
	struct key_claim *claims;
	size_t claim_count;
	size_t claim_capacity;
	bool has_fingerprints;
};

/* `places` are borrowed, and counted in. */
void key_survey_init(struct key_survey *survey, struct key_place *places,
		     size_t place_count);
void key_survey_fini(struct key_survey *survey);

/* The next message. TRANSIENT: out of memory. */
enum once_status key_survey_add(struct key_survey *survey, uint32_t place,
				int64_t offset,
				const struct once_read_keys *keys,
				struct once_error *err);
/* One without its keys, and why. */
void key_survey_add_bad(struct key_survey *survey, uint32_t place,
			int64_t offset, const char *why);

/* survey->often, the most frequent first. */
void key_survey_sort_often(const struct key_survey *survey,
			   struct key_often sorted[KEY_SURVEY_TOP]);

const char *key_finding_word(enum key_finding finding);

#endif
