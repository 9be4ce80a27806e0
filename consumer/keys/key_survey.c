/* The rules are those of libonce's claim: the row of the same biz_id counts
 * before that of the same msg_id; the same msg_id for another operation
 * contradicts whatever the payload; who repeats or contradicts claims
 * nothing. */
#include "key_survey.h"

#include "bytes.h"
#include "error.h"

#include <stdio.h>
#include <stdlib.h>

/* A message while it is judged. */
struct sight {
	uint32_t place;
	int64_t offset;
	const struct once_read_keys *keys;
	struct key_entry *msg_id;
	struct key_entry *biz_id; /* NULL: it has none */
};

void key_survey_init(struct key_survey *survey, struct key_place *places,
		     size_t place_count)
{
	*survey = (struct key_survey){ .places = places,
				       .place_count = place_count };
}

void key_survey_fini(struct key_survey *survey)
{
	key_table_fini(&survey->keys[ONCE_KEY_MSG_ID]);
	key_table_fini(&survey->keys[ONCE_KEY_BIZ_ID]);
	free(survey->claims);
	survey->claims = NULL;
}

const char *key_finding_word(enum key_finding finding)
{
	static const char *const words[] = {
#define X(name, word) word,
		KEY_FINDING_TABLE(X)
#undef X
	};

	return words[finding];
}

/* ---- examples ---- */

static size_t copy_key(char out[KEY_SURVEY_KEY_SIZE], struct once_bytes key)
{
	size_t size =
		key.size < KEY_SURVEY_KEY_SIZE ? key.size : KEY_SURVEY_KEY_SIZE;

	if (size > 0)
		memcpy(out, key.data, size);
	return size;
}

/* NULL: there are enough. */
static struct key_example *add_example(struct key_examples *examples,
				       const struct sight *sight,
				       enum once_key_kind kind)
{
	struct key_example *example;
	const struct once_read_key *key = kind == ONCE_KEY_MSG_ID
						  ? &sight->keys->msg_id
						  : &sight->keys->biz_id;

	if (examples->count == KEY_SURVEY_EXAMPLES)
		return NULL;
	example = &examples->list[examples->count++];
	example->place = sight->place;
	example->offset = sight->offset;
	example->kind = kind;
	example->key_size = copy_key(example->key, key->text);
	return example;
}

static void note_shortened(struct key_survey *survey, const struct sight *sight,
			   const struct once_read_key *key,
			   enum once_key_kind kind)
{
	if (!key->shortened)
		return;
	survey->shortened[kind]++;
	(void)add_example(&survey->shortened_ones, sight, kind);
}

static struct key_often *rarest(struct key_survey *survey)
{
	struct key_often *least = &survey->often[0];

	for (size_t i = 1; i < survey->often_count; i++)
		if (survey->often[i].seen < least->seen)
			least = &survey->often[i];
	return least;
}

/* A key's count only grows when it is seen, so whoever belongs here at the end
 * is put here when it was seen last at the latest. */
static void note_often(struct key_survey *survey, const struct sight *sight)
{
	enum once_key_kind kind =
		sight->biz_id == NULL ? ONCE_KEY_MSG_ID : ONCE_KEY_BIZ_ID;
	const struct key_entry *entry =
		sight->biz_id == NULL ? sight->msg_id : sight->biz_id;
	uint32_t number = (uint32_t)(entry - survey->keys[kind].entries);
	struct key_often *often;

	survey->often_kind = kind;
	if (entry->seen < 2)
		return;
	for (size_t i = 0; i < survey->often_count; i++)
		if (survey->often[i].entry == number) {
			survey->often[i].seen = entry->seen;
			return;
		}
	if (survey->often_count < KEY_SURVEY_TOP)
		often = &survey->often[survey->often_count++];
	else if (rarest(survey)->seen < entry->seen)
		often = rarest(survey);
	else
		return;
	often->entry = number;
	often->seen = entry->seen;
	often->key_size = copy_key(
		often->key, kind == ONCE_KEY_MSG_ID ? sight->keys->msg_id.text
						    : sight->keys->biz_id.text);
}

/* ---- one that repeats, or contradicts ---- */

static bool payload_differs(const struct key_survey *survey,
			    const struct sight *sight,
			    const struct key_claim *claim)
{
	if (!survey->has_fingerprints)
		return false;
	return once_fingerprints_differ(sight->keys->fingerprint,
					bytes_of(claim->fingerprint,
						 ONCE_FINGERPRINT_SIZE)) != 0;
}

static void note_meeting(struct key_survey *survey, const struct sight *sight,
			 const struct key_claim *claim, enum once_key_kind kind,
			 bool other_operation)
{
	bool contradicts =
		other_operation || payload_differs(survey, sight, claim);
	struct key_example *example = add_example(
		contradicts ? &survey->conflicting : &survey->repeated, sight,
		kind);

	if (contradicts) {
		survey->found[KEY_FINDING_CONFLICTING]++;
		survey->other_operations += other_operation;
	} else {
		survey->found[KEY_FINDING_REPEATED]++;
		survey->repeated_by[kind]++;
	}
	if (example == NULL)
		return;
	example->first_place = claim->place;
	example->first_offset = claim->offset;
	example->other_operation = other_operation;
}

/* ---- one that is new ---- */

static bool grow_claims(struct key_survey *survey)
{
	size_t capacity =
		survey->claim_capacity + survey->claim_capacity / 2 + 64;
	struct key_claim *claims;

	if (survey->claim_count < survey->claim_capacity)
		return true;
	claims = realloc(survey->claims, capacity * sizeof(*claims));
	if (claims == NULL)
		return false;
	survey->claims = claims;
	survey->claim_capacity = capacity;
	return true;
}

static enum once_status claim(struct key_survey *survey,
			      const struct sight *sight, struct once_error *err)
{
	struct once_bytes fingerprint = sight->keys->fingerprint;
	struct key_claim *claim;

	if (!grow_claims(survey))
		return error_no_memory(err);
	claim = &survey->claims[survey->claim_count];
	claim->place = sight->place;
	claim->offset = sight->offset;
	survey->has_fingerprints = fingerprint.size == ONCE_FINGERPRINT_SIZE;
	if (survey->has_fingerprints)
		memcpy(claim->fingerprint, fingerprint.data,
		       ONCE_FINGERPRINT_SIZE);
	sight->msg_id->claim = (uint32_t)survey->claim_count;
	if (sight->biz_id != NULL)
		sight->biz_id->claim = (uint32_t)survey->claim_count;
	survey->claim_count++;
	survey->found[KEY_FINDING_NEW]++;
	return ONCE_OK;
}

/* ---- all ---- */

static enum once_status judge(struct key_survey *survey,
			      const struct sight *sight, struct once_error *err)
{
	uint32_t by_msg_id = sight->msg_id->claim;
	uint32_t by_biz_id =
		sight->biz_id == NULL ? KEY_TABLE_NOBODY : sight->biz_id->claim;

	if (by_biz_id != KEY_TABLE_NOBODY)
		note_meeting(survey, sight, &survey->claims[by_biz_id],
			     by_biz_id == by_msg_id ? ONCE_KEY_MSG_ID
						    : ONCE_KEY_BIZ_ID,
			     false);
	else if (by_msg_id != KEY_TABLE_NOBODY)
		note_meeting(survey, sight, &survey->claims[by_msg_id],
			     ONCE_KEY_MSG_ID, sight->biz_id != NULL);
	else
		return claim(survey, sight, err);
	return ONCE_OK;
}

static bool see_keys(struct key_survey *survey, struct sight *sight)
{
	const struct once_read_keys *keys = sight->keys;

	sight->msg_id = key_table_see(&survey->keys[ONCE_KEY_MSG_ID],
				      keys->msg_id.digest, sight->place);
	if (sight->msg_id == NULL || keys->biz_id.text.data == NULL)
		return sight->msg_id != NULL;
	sight->biz_id = key_table_see(&survey->keys[ONCE_KEY_BIZ_ID],
				      keys->biz_id.digest, sight->place);
	return sight->biz_id != NULL;
}

enum once_status key_survey_add(struct key_survey *survey, uint32_t place,
				int64_t offset,
				const struct once_read_keys *keys,
				struct once_error *err)
{
	struct sight sight = { .place = place, .offset = offset, .keys = keys };

	if (!see_keys(survey, &sight))
		return error_no_memory(err);
	survey->messages++;
	survey->places[place].messages++;
	note_shortened(survey, &sight, &keys->msg_id, ONCE_KEY_MSG_ID);
	note_shortened(survey, &sight, &keys->biz_id, ONCE_KEY_BIZ_ID);
	note_often(survey, &sight);
	return judge(survey, &sight, err);
}

static struct key_reason *find_reason(struct key_survey *survey,
				      const char *why)
{
	for (size_t i = 0; i < survey->reason_count; i++)
		if (strcmp(survey->reasons[i].text, why) == 0)
			return &survey->reasons[i];
	return NULL;
}

static void note_reason(struct key_survey *survey, uint32_t place,
			int64_t offset, const char *text)
{
	struct key_reason *reason = find_reason(survey, text);

	if (reason == NULL && survey->reason_count == KEY_SURVEY_REASONS) {
		survey->reasons_left_out++;
		return;
	}
	if (reason == NULL) {
		reason = &survey->reasons[survey->reason_count++];
		snprintf(reason->text, sizeof(reason->text), "%s", text);
		reason->place = place;
		reason->offset = offset;
	}
	reason->count++;
}

void key_survey_add_bad(struct key_survey *survey, uint32_t place,
			int64_t offset, const char *why)
{
	char text[sizeof(survey->reasons[0].text)];

	snprintf(text, sizeof(text), "%s", why);
	survey->messages++;
	survey->places[place].messages++;
	survey->found[KEY_FINDING_BAD]++;
	note_reason(survey, place, offset, text);
}

static int compare_often(const void *a, const void *b)
{
	const struct key_often *left = a;
	const struct key_often *right = b;

	return (left->seen < right->seen) - (left->seen > right->seen);
}

void key_survey_sort_often(const struct key_survey *survey,
			   struct key_often sorted[KEY_SURVEY_TOP])
{
	memcpy(sorted, survey->often, sizeof(survey->often));
	qsort(sorted, survey->often_count, sizeof(*sorted), compare_often);
}
