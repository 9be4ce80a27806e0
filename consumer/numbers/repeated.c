/* The lock of a lane's sketch is free but while somebody reads. */
#include "repeated.h"

#include "bytes.h"
#include "readable.h"
#include "scope.h"
#include "sketch.h"

struct place {
	pthread_mutex_t mutex;
	struct sketch *sketch; /* NULL: nothing was repeated yet; mutex */
};

struct repeated {
	size_t routes;
	unsigned lanes;
	struct place places[]; /* by route, then by lane */
};

struct repeated *repeated_create(size_t routes, unsigned lanes)
{
	struct repeated *repeated = calloc(
		1, sizeof(*repeated) + routes * lanes * sizeof(struct place));

	if (repeated == NULL)
		return NULL;
	repeated->routes = routes;
	repeated->lanes = lanes;
	for (size_t i = 0; i < routes * lanes; i++)
		pthread_mutex_init(&repeated->places[i].mutex, NULL);
	return repeated;
}

void repeated_destroy(struct repeated *repeated)
{
	if (repeated == NULL)
		return;
	for (size_t i = 0; i < repeated->routes * repeated->lanes; i++) {
		sketch_destroy(repeated->places[i].sketch);
		pthread_mutex_destroy(&repeated->places[i].mutex);
	}
	free(repeated);
}

void repeated_count(struct repeated *repeated, unsigned lane, size_t route,
		    const struct once_item *item)
{
	struct place *place = &repeated->places[route * repeated->lanes + lane];
	scoped_lock pthread_mutex_t *held = scope_locked(&place->mutex);

	(void)held;
	if (place->sketch == NULL)
		place->sketch = sketch_create();
	if (place->sketch != NULL)
		sketch_offer(place->sketch, item->key_kind,
			     item->key_kind == ONCE_KEY_BIZ_ID ? item->biz_id
							       : item->msg_id);
}

/* ---- reading ---- */

/* One with less memory than it wants misses a lane, and nobody can tell: so
 * there is no list then. */
static bool add_up(struct repeated *repeated, size_t route,
		   struct sketch_list *list)
{
	bool complete = true;

	for (unsigned lane = 0; lane < repeated->lanes && complete; lane++) {
		struct place *place =
			&repeated->places[route * repeated->lanes + lane];
		scoped_lock pthread_mutex_t *held = scope_locked(&place->mutex);

		(void)held;
		if (place->sketch != NULL)
			complete = sketch_list_add(list, place->sketch);
	}
	sketch_list_rank(list);
	return complete;
}

static void describe_key(const struct sketch_entry *entry, struct text *json)
{
	scoped_text struct text shown = { 0 };

	readable_add(&shown, sketch_entry_key(entry), REPEATED_KEY_CHARACTERS);
	text_adds(json, "{\"key\":");
	text_add_json(json, bytes_of(shown.data, shown.size));
	text_addf(json, ",\"key_kind\":\"%s\",\"count\":%llu,\"error\":%llu}",
		  once_key_kind_word(entry->kind),
		  (unsigned long long)entry->count,
		  (unsigned long long)entry->error);
}

static uint64_t unlisted_most(const struct sketch_list *list)
{
	return list->count > REPEATED_SHOWN
		       ? list->entries[REPEATED_SHOWN].count
		       : list->lowest;
}

void repeated_describe(struct repeated *repeated, size_t route,
		       const char *name, struct text *json)
{
	struct sketch_list list = { 0 };

	if (!add_up(repeated, route, &list))
		sketch_list_fini(&list);
	text_adds(json, "{\"route\":");
	text_add_json(json, bytes_text(name));
	text_addf(json, ",\"total\":%llu,\"unlisted_most\":%llu,\"keys\":[",
		  (unsigned long long)list.total,
		  (unsigned long long)unlisted_most(&list));
	for (size_t i = 0; i < list.count && i < REPEATED_SHOWN; i++) {
		text_adds(json, i == 0 ? "" : ",");
		describe_key(&list.entries[i], json);
	}
	text_adds(json, "]}");
	sketch_list_fini(&list);
}
