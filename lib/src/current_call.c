/*
 * A sequence lock: the writer makes the version odd, writes, and makes it even
 * again; who reads the same even version before and after has read one call.
 * The topic is copied, for the record's own ends with its batch, which is
 * before a reader is done. Every field is an atomic, so nothing is undefined
 * about a read that is then thrown away; a release is an ordinary store on most
 * machines.
 */
#include "current_call.h"

#include <stdbool.h>
#include <string.h>

enum {
	WORD = sizeof(unsigned long long),
	MOST_TRIES = 100 /* calls follow each other: none is late */
};

static void store_topic(struct once__current_call *current, const char *topic)
{
	size_t size = strlen(topic);

	if (size >= ONCE_TOPIC_SIZE)
		size = ONCE_TOPIC_SIZE - 1;
	for (size_t at = 0; at <= size; at += WORD) {
		unsigned long long word = 0;

		memcpy(&word, topic + at, size - at < WORD ? size - at : WORD);
		atomic_store_explicit(&current->topic[at / WORD], word,
				      memory_order_release);
	}
}

void once__current_call_begin(struct once__current_call *current,
			      const struct once_item *item, int64_t began_ms)
{
	const struct once_record *record = &item->record;
	unsigned version =
		atomic_load_explicit(&current->version, memory_order_relaxed);

	atomic_store_explicit(&current->version, version + 1,
			      memory_order_relaxed);
	atomic_store_explicit(&current->route, item->route,
			      memory_order_release);
	store_topic(current, record->topic);
	atomic_store_explicit(&current->partition, record->partition,
			      memory_order_release);
	atomic_store_explicit(&current->offset, record->offset,
			      memory_order_release);
	atomic_store_explicit(&current->began_ms, began_ms,
			      memory_order_release);
	atomic_store_explicit(&current->version, version + 2,
			      memory_order_release);
}

void once__current_call_end(struct once__current_call *current)
{
	atomic_store_explicit(&current->began_ms, 0, memory_order_relaxed);
}

static void load_topic(const struct once__current_call *current,
		       char topic[ONCE_TOPIC_SIZE])
{
	for (size_t at = 0; at < ONCE_TOPIC_SIZE; at += WORD) {
		unsigned long long word =
			atomic_load(&current->topic[at / WORD]);

		memcpy(topic + at, &word, WORD);
	}
	topic[ONCE_TOPIC_SIZE - 1] = '\0';
}

static bool try_get(const struct once__current_call *current,
		    struct once_current_call *call)
{
	unsigned version = atomic_load(&current->version);

	call->route = atomic_load(&current->route);
	load_topic(current, call->topic);
	call->partition = atomic_load(&current->partition);
	call->offset = atomic_load(&current->offset);
	call->began_ms = atomic_load(&current->began_ms);
	return version % 2 == 0 && atomic_load(&current->version) == version;
}

void once__current_call_get(const struct once__current_call *current,
			    struct once_current_call *ret_call)
{
	for (int i = 0; i < MOST_TRIES; i++)
		if (try_get(current, ret_call))
			return;
	memset(ret_call, 0, sizeof(*ret_call));
}
