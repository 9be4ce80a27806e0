/* What other threads may know: a copy, made a few times a second. */
#include "source_impl.h"

#include "bytes.h"
#include "clock.h"
#include "log.h"
#include "numbers.h"
#include "scope.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	PUBLISH_EVERY_MS = 250,
	STUCK_AFTER_MS = 30000
};

/* By the end that the last fetch told; no request is made. What a broker that
 * is away said last isn't known to be so. */
static int64_t lag_of(struct source *source,
		      const struct source_partition *partition)
{
	int64_t first;
	int64_t end;
	int64_t next;

	if (!atomic_load(&source->connected) ||
	    partition->state != PARTITION_RUNNING ||
	    partition->watched == PARTITION_SILENT ||
	    partition->watched == PARTITION_DENIED ||
	    rd_kafka_get_watermark_offsets(source->rk, partition->topic,
					   partition->number, &first, &end) !=
		    RD_KAFKA_RESP_ERR_NO_ERROR ||
	    end < 0)
		return -1;
	next = source_ended_next(source, partition);
	return end > next ? end - next : 0;
}

static bool is_stuck(enum partition_watched watched)
{
	return watched == PARTITION_STALLED || watched == PARTITION_SILENT ||
	       watched == PARTITION_DENIED;
}

static bool has_reason(const struct source_partition *partition)
{
	return partition->state == PARTITION_HALTED ||
	       (is_stuck(partition->watched) && partition_is_held(partition));
}

static void fill_view(struct source *source,
		      const struct source_partition *partition,
		      struct partition_view *view)
{
	view->topic = partition->topic;
	view->number = partition->number;
	view->state = partition->state;
	view->handled_next = partition->handled_next;
	view->committed_next = partition->committed_next;
	view->lag = lag_of(source, partition);
	view->busy_ms =
		partition->busy ? clock_ms() - partition->busy_since_ms : 0;
	snprintf(view->why, sizeof(view->why), "%s",
		 has_reason(partition) ? partition->why : "");
	view->watched = partition->state == PARTITION_RUNNING
				? partition->watched
				: PARTITION_FLOWS;
	numbers_partition_set(
		source->options.numbers, view->topic, view->number, view->lag,
		(double)view->busy_ms / 1e3, view->state == PARTITION_HALTED);
}

void source_publish(struct source *source)
{
	struct partition_view *views;
	size_t count = 0;

	for (const struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		count += partition_is_held(at);
	views = calloc(count + 1, sizeof(*views));
	if (views == NULL)
		return;
	count = 0;
	for (const struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (partition_is_held(at))
			fill_view(source, at, &views[count++]);

	pthread_mutex_lock(&source->mutex);
	free(source->views);
	source->views = views;
	source->view_count = count;
	pthread_mutex_unlock(&source->mutex);
}

void source_publish_on_timer(struct source *source)
{
	int64_t now_ms = clock_ms();

	atomic_store(&source->moved_at_ms, now_ms);
	if (now_ms - source->published_at_ms < PUBLISH_EVERY_MS)
		return;
	source->published_at_ms = now_ms;
	source_publish(source);
}

void source_set_trouble(struct source *source, const char *text)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&source->mutex);

	(void)held;
	snprintf(source->trouble, sizeof(source->trouble), "%s", text);
}

void source_flow_is_back(struct source *source)
{
	source_set_trouble(source, "");
}

/* ---- Threads: admin ---- */

bool source_is_alive(struct source *source, struct text *why)
{
	int64_t still_ms = clock_ms() - atomic_load(&source->moved_at_ms);

	if (still_ms < STUCK_AFTER_MS)
		return true;
	text_addf(why, "the source thread hasn't moved for %lld s\n",
		  (long long)(still_ms / 1000));
	return false;
}

static const char *state_word(const struct partition_view *view)
{
	if (view->watched == PARTITION_STALLED)
		return "stalled";
	if (view->watched == PARTITION_SILENT)
		return "silent";
	if (view->watched == PARTITION_DENIED)
		return "denied";
	if (view->watched == PARTITION_HELD_BACK)
		return "held back by an open transaction";
	return partition_state_word(view->state);
}

static bool is_view_ready(const struct partition_view *view, struct text *why)
{
	if (view->state == PARTITION_RUNNING && !is_stuck(view->watched))
		return true;
	text_addf(why, "%s[%d] is %s%s%s\n", view->topic, (int)view->number,
		  state_word(view), view->why[0] == '\0' ? "" : ": ",
		  view->why);
	return false;
}

bool source_is_ready(struct source *source, struct text *why)
{
	scoped_lock pthread_mutex_t *held = NULL;
	bool ready = !source_tell_away(source, why);

	ready = source_are_topics_good(source, why) && ready;
	held = scope_locked(&source->mutex);
	(void)held;
	if (!atomic_load(&source->joined)) {
		text_adds(why, "the group hasn't assigned partitions yet\n");
		ready = false;
	}
	if (source->trouble[0] != '\0') {
		text_addf(why, "%s\n", source->trouble);
		ready = false;
	}
	for (size_t i = 0; i < source->view_count; i++)
		ready = is_view_ready(&source->views[i], why) && ready;
	return ready;
}

static void describe_view(const struct partition_view *view, struct text *json)
{
	text_adds(json, "{\"topic\":");
	text_add_json(json, bytes_text(view->topic));
	text_addf(json,
		  ",\"partition\":%d,\"state\":\"%s\",\"next_offset\":%lld,"
		  "\"committed\":%lld,\"in_flight_ms\":%lld,\"lag\":",
		  (int)view->number, state_word(view),
		  (long long)view->handled_next,
		  (long long)view->committed_next, (long long)view->busy_ms);
	if (view->lag < 0)
		text_adds(json, "null");
	else
		text_addf(json, "%lld", (long long)view->lag);
	if (view->why[0] != '\0') {
		text_adds(json, ",\"why\":");
		text_add_json(json, bytes_text(view->why));
	}
	text_adds(json, "}");
}

void source_describe(struct source *source, struct text *json)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&source->mutex);

	(void)held;
	text_adds(json, "[");
	for (size_t i = 0; i < source->view_count; i++) {
		text_adds(json, i == 0 ? "" : ",");
		describe_view(&source->views[i], json);
	}
	text_adds(json, "]");
}
