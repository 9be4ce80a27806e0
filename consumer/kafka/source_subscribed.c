/*
 * Is each topic of the configuration there, and may it be seen? librdkafka
 * reads what it can and tells of the rest once, newer versions not at all; so
 * each topic is asked for in turn, and what is wrong stands in /readyz for as
 * long as it lasts. One that isn't there keeps nothing else from being read.
 *
 * Asking waits, but for half a second at most, for a twentieth of the time, and
 * only while brokers answer, or have until lately: one that is away may have
 * been the only one that was asked anything.
 */
#include "source_impl.h"

#include "clock.h"
#include "error.h"
#include "log_event.h"
#include "scope.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum {
	ROUND_MS = 4000, /* all topics once */
	LEAST_MS = 100,
	ASK_MS = 500,
	LATER_MS = 5000,  /* after one that had no answer */
	TAKES_SHARE = 20, /* of the time: one in so many parts */
	LATELY_MS = 12000,
	SURE_AFTER = 2 /* answers: a new topic isn't known at once */
};

enum once_status source_list_topics(struct source *source,
				    struct once_error *err)
{
	const struct config *cfg = source->options.cfg;
	size_t count = 0;

	for (size_t i = 0; i < cfg->route_count; i++)
		count += cfg->routes[i].topic_count;
	source->topics = calloc(count, sizeof(*source->topics));
	if (source->topics == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < cfg->route_count; i++)
		for (size_t k = 0; k < cfg->routes[i].topic_count; k++)
			source->topics[source->topic_count++].name =
				cfg->routes[i].topics[k];
	return ONCE_OK;
}

/* ---- what is said of them ---- */

/* NULL: nothing is wrong. */
static const char *remedy_for(rd_kafka_resp_err_t error)
{
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		return NULL;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		return "it may not be read; grant this user READ on it";
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
		return "Kafka has no such topic, or hides it from this user; "
		       "create it, grant READ on it, or correct "
		       "handlers[].topics";
	default:
		return "Kafka doesn't take its name; correct "
		       "handlers[].topics";
	}
}

static struct source_topic *find(struct source *source, const char *name)
{
	for (size_t i = 0; i < source->topic_count; i++)
		if (strcmp(source->topics[i].name, name) == 0)
			return &source->topics[i];
	return NULL;
}

static void set_error(struct source *source, struct source_topic *topic,
		      rd_kafka_resp_err_t error)
{
	const char *remedy = remedy_for(error);
	char name[300];

	if (topic->error == error)
		return;
	pthread_mutex_lock(&source->mutex);
	topic->error = error;
	pthread_mutex_unlock(&source->mutex);
	snprintf(name, sizeof(name), "topic %s", topic->name);
	if (remedy == NULL)
		log_event_leave(&topic->lacking,
				LOG_FIELDS(LOG_TEXT("topic", topic->name)),
				"the topic is there, and may be read");
	else
		log_event_meet(&topic->lacking, name, LOG_LEVEL_ERROR,
			       LOG_FIELDS(LOG_TEXT("topic", topic->name)), "%s",
			       remedy);
}

void source_note_topic(struct source *source, const char *name,
		       rd_kafka_resp_err_t error, bool sure)
{
	struct source_topic *topic = find(source, name);

	if (topic == NULL)
		return;
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		topic->refused = 0;
	else if (++topic->refused < SURE_AFTER && !sure)
		return;
	set_error(source, topic, error);
}

/* ---- asking ---- */

static bool is_of_topic(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR_NO_ERROR ||
	       error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
	       error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
	       error == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
}

/* false: no answer. */
static bool ask(struct source *source, const char *name)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(source->rk, name, NULL);
	const struct rd_kafka_metadata *metadata;
	bool answered = topic != NULL &&
			rd_kafka_metadata(source->rk, 0, topic, &metadata,
					  ASK_MS) == RD_KAFKA_RESP_ERR_NO_ERROR;

	if (answered) {
		source_note_answer(source);
		if (metadata->topic_cnt == 1 &&
		    is_of_topic(metadata->topics[0].err))
			source_note_topic(source, name, metadata->topics[0].err,
					  false);
		rd_kafka_metadata_destroy(metadata);
	}
	if (topic != NULL)
		rd_kafka_topic_destroy(topic);
	return answered;
}

void source_ask_for_topics(struct source *source)
{
	int64_t pause_ms = ROUND_MS / (int64_t)source->topic_count;
	int64_t began_ms = clock_ms();
	int64_t least_ms;

	if (began_ms < source->ask_topic_at_ms ||
	    began_ms - source->answered_at_ms > LATELY_MS)
		return;
	source->asked_topic = (source->asked_topic + 1) % source->topic_count;
	if (!ask(source, source->topics[source->asked_topic].name)) {
		source->ask_topic_at_ms = clock_ms() + LATER_MS;
		return;
	}
	least_ms = LEAST_MS + TAKES_SHARE * (clock_ms() - began_ms);
	source->ask_topic_at_ms =
		clock_ms() + (pause_ms > least_ms ? pause_ms : least_ms);
}

/* ---- Threads: any ---- */

bool source_are_topics_good(struct source *source, struct text *why)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&source->mutex);
	bool good = !atomic_load(&source->group_denied);

	(void)held;
	if (!good)
		text_addf(why,
			  "Kafka doesn't let this user read in the group "
			  "\"%s\"; grant READ on the group\n",
			  source->options.cfg->kafka.group);
	for (size_t i = 0; i < source->topic_count; i++) {
		const char *remedy = remedy_for(source->topics[i].error);

		if (remedy == NULL)
			continue;
		text_addf(why, "topic \"%s\": %s\n", source->topics[i].name,
			  remedy);
		good = false;
	}
	return good;
}
