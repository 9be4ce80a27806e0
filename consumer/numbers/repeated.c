/* A lane takes its lock once for each batch; it is free but while somebody
 * reads. */
#include "repeated.h"

#include "bytes.h"
#include "readable.h"
#include "scope.h"
#include "sketch.h"

struct repeated_lane {
	pthread_mutex_t mutex;
	struct sketch **sketches; /* by route; NULL: nothing was repeated yet;
				     mutex */
};

struct repeated {
	size_t routes;
	unsigned count;
	struct repeated_lane lanes[];
};

struct repeated *repeated_create(size_t routes, unsigned lanes)
{
	struct repeated *repeated = calloc(
		1, sizeof(*repeated) + lanes * sizeof(struct repeated_lane));

	if (repeated == NULL)
		return NULL;
	repeated->routes = routes;
	for (; repeated->count < lanes; repeated->count++) {
		struct repeated_lane *lane = &repeated->lanes[repeated->count];

		lane->sketches = calloc(routes, sizeof(struct sketch *));
		if (lane->sketches == NULL) {
			repeated_destroy(repeated);
			return NULL;
		}
		pthread_mutex_init(&lane->mutex, NULL);
	}
	return repeated;
}

static void fini_lane(struct repeated_lane *lane, size_t routes)
{
	for (size_t i = 0; i < routes; i++)
		sketch_destroy(lane->sketches[i]);
	free(lane->sketches);
	pthread_mutex_destroy(&lane->mutex);
}

void repeated_destroy(struct repeated *repeated)
{
	if (repeated == NULL)
		return;
	for (unsigned i = 0; i < repeated->count; i++)
		fini_lane(&repeated->lanes[i], repeated->routes);
	free(repeated);
}

struct repeated_lane *repeated_hold(struct repeated *repeated, unsigned lane)
{
	pthread_mutex_lock(&repeated->lanes[lane].mutex);
	return &repeated->lanes[lane];
}

void repeated_release(struct repeated_lane *lane)
{
	pthread_mutex_unlock(&lane->mutex);
}

void repeated_count(struct repeated_lane *lane, const struct once_item *item)
{
	struct sketch **sketch = &lane->sketches[item->route];

	if (*sketch == NULL)
		*sketch = sketch_create();
	if (*sketch != NULL)
		sketch_offer(*sketch, item->key_kind,
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

	for (unsigned i = 0; i < repeated->count && complete; i++) {
		struct repeated_lane *lane = &repeated->lanes[i];
		scoped_lock pthread_mutex_t *held = scope_locked(&lane->mutex);

		(void)held;
		if (lane->sketches[route] != NULL)
			complete = sketch_list_add(list, lane->sketches[route]);
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
