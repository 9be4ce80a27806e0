/* A table of the keys met so far in this batch. The first message with a key
 * claims it; those behind it never go to the database. */
#include "batch.h"
#include "bytes.h"
#include "hash.h"

struct once__slot {
	struct once__work *work; /* NULL: free */
	enum once_key_kind kind;
};

size_t once__batch_slots_needed(size_t count)
{
	size_t slots = 16;

	while (slots < 4 * count) /* two keys each, half full */
		slots *= 2;
	return slots * sizeof(struct once__slot);
}

static struct once_bytes pick_key(const struct once__keys *keys,
				  enum once_key_kind kind)
{
	return kind == ONCE_KEY_MSG_ID ? keys->msg_id : keys->biz_id;
}

static struct once_bytes key_of(const struct once__work *work,
				enum once_key_kind kind)
{
	return pick_key(&work->msg.keys, kind);
}

static bool holds(const struct once__slot *slot, const struct once__work *work,
		  enum once_key_kind kind)
{
	return slot->kind == kind &&
	       slot->work->consumer_id == work->consumer_id &&
	       bytes_equal(key_of(slot->work, kind), key_of(work, kind));
}

/* The slot of this key, or the free one where it belongs. */
static struct once__slot *find_slot(struct once__batch *batch,
				    const struct once__work *work,
				    enum once_key_kind kind)
{
	struct once_bytes key = key_of(work, kind);
	size_t at = (size_t)once__hash64(key.data, key.size) + (size_t)kind;

	for (;; at++) {
		struct once__slot *slot =
			&batch->slots[at & (batch->slot_count - 1)];

		if (slot->work == NULL || holds(slot, work, kind))
			return slot;
	}
}

static void repeat(struct once__work *work, struct once__work *first)
{
	work->first = first;
	first->repeated = true;
	work->key_kind =
		bytes_equal(first->msg.keys.msg_id, work->msg.keys.msg_id)
			? ONCE_KEY_MSG_ID
			: ONCE_KEY_BIZ_ID;
}

/* false: another one has the key, which the work repeats. */
static bool take_key(struct once__batch *batch, struct once__work *work,
		     enum once_key_kind kind, struct once__slot **ret_slot)
{
	struct once__slot *slot;

	*ret_slot = NULL;
	if (key_of(work, kind).data == NULL)
		return true;
	slot = find_slot(batch, work, kind);
	if (slot->work != NULL) {
		repeat(work, slot->work);
		return false;
	}
	slot->work = work;
	slot->kind = kind;
	*ret_slot = slot;
	return true;
}

/* Both or none. What was taken last can be given back, for no other key has
 * gone past it. */
static void take_keys(struct once__batch *batch, struct once__work *work)
{
	struct once__slot *biz_id;
	struct once__slot *msg_id;

	if (take_key(batch, work, ONCE_KEY_BIZ_ID, &biz_id) &&
	    !take_key(batch, work, ONCE_KEY_MSG_ID, &msg_id) && biz_id != NULL)
		biz_id->work = NULL;
}

bool once__work_asks(const struct once__work *work)
{
	const struct once__work *first = work->first;

	return first != NULL && work->msg.keys.biz_id.data != NULL &&
	       (first->msg.keys.biz_id.data == NULL ||
		!bytes_equal(first->msg.keys.biz_id, work->msg.keys.biz_id)) &&
	       work->planned == ONCE_HANDLED_ENDING;
}

/* It shares one key with the first, and the row that the first has lost to was
 * found by the other and hasn't got that one. */
static bool is_stray(const struct once__work *work)
{
	const struct once__work *first = work->first;

	return first != NULL && first->lost &&
	       first->key_kind != work->key_kind &&
	       !bytes_equal(key_of(first, first->key_kind),
			    key_of(work, first->key_kind)) &&
	       !bytes_equal(pick_key(&first->stored, work->key_kind),
			    key_of(work, work->key_kind));
}

bool once__batch_has_stray(const struct once__batch *batch, size_t from,
			   size_t to)
{
	for (size_t i = from; i < to; i++)
		if (is_stray(&batch->works[i]))
			return true;
	return false;
}

void once__batch_find_duplicates(struct once__batch *batch, size_t from,
				 size_t to)
{
	memset(batch->slots, 0, once__batch_slots_needed(batch->count));
	batch->slot_count = once__batch_slots_needed(batch->count) /
			    sizeof(struct once__slot);
	for (size_t i = from; i < to; i++) {
		struct once__work *work = &batch->works[i];

		if (work->planned == ONCE_HANDLED_ENDING && !work->known)
			take_keys(batch, work);
	}
}
