/*
 * Does any broker answer? librdkafka reconnects by itself and says of most
 * outages nothing that a program could wait for: a frozen broker is silent for
 * a minute. So
 *
 *	away = no broker has answered anything for AWAY_AFTER_MS since one was
 *	       asked
 *
 * Time counts from the first question that has no answer, not from the last
 * answer: when this thread was kept from asking, Kafka wasn't away. A question
 * that failed is asked again, so one lost answer is no outage; and an answer
 * that refuses is an answer.
 *
 * What is asked anyway (commits, the group's offsets, the topics) is answered
 * more often than every ASK_AFTER_MS. Only when it isn't, there is a question
 * of our own: DescribeConfigs, which goes to any broker (with KRaft), waits on
 * a queue, and takes its time where the others are given up soon. What would go
 * to the group's coordinator that way aborts librdkafka 2.0.2 when that is
 * away. A question that is open when we stop dies with its queue.
 */
#include "source_impl.h"

#include "clock.h"
#include "kafka_policy.h"
#include "log_event.h"
#include "numbers.h"
#include "scope.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ASK_AFTER_MS = 3400, /* source_look.c asks every 3 s */
	ASK_AGAIN_MS = 1000,
	ANSWER_MS = 9000,
	TELL_AGAIN_MS = 5000,  /* the log makes one line a minute of it */
	AWAY_AFTER_MS = 9500,  /* with ASK_AFTER_MS: within 15 s */
	KEPT_MS = 5000,        /* from asking: by a rebalance */
	WORDS_COUNT_MS = 60000 /* librdkafka repeats itself each 30 s */
};

/* ---- what librdkafka said last ---- */

/* "…: Receive failed: Invalid response size 3000069 (0..1000512): increase
 * receive.message.max.bytes" */
static void note_too_large(struct source *source, const char *text)
{
	const char *size = strstr(text, "response size ");

	if (strstr(text, "receive.message.max.bytes") == NULL)
		return;
	source->too_large_at_ms = clock_ms();
	source->too_large_bytes =
		size == NULL
			? 0
			: strtoul(size + strlen("response size "), NULL, 10);
}

void source_note_last_words(struct source *source, const char *text)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&source->mutex);

	(void)held;
	snprintf(source->last_words, sizeof(source->last_words), "%s", text);
	source->said_at_ms = clock_ms();
	note_too_large(source, text);
}

/* What it said long before the outage isn't its cause. */
static void forget_old_words(struct source *source)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&source->mutex);

	(void)held;
	if (source->said_at_ms + WORDS_COUNT_MS < source->answered_at_ms)
		source->last_words[0] = '\0';
}

/* ---- away, or not ---- */

void source_note_question(struct source *source)
{
	if (source->unanswered_since_ms == 0)
		source->unanswered_since_ms = clock_ms();
}

static void set_connected(struct source *source)
{
	if (atomic_load(&source->connected))
		return;
	atomic_store(&source->connected, true);
	numbers_kafka_connected_set(source->options.numbers, true);
}

void source_note_answer(struct source *source)
{
	int64_t since_ms = atomic_load(&source->away_since_ms);
	int64_t now_ms = clock_ms();

	source->answered_at_ms = now_ms;
	source->unanswered_since_ms = 0;
	set_connected(source);
	if (since_ms == 0)
		return;
	atomic_store(&source->away_since_ms, 0);
	log_event_leave(&source->outage, NULL, "Kafka answers again");
}

/* Why is what librdkafka has said by now. */
static void tell_outage(struct source *source)
{
	scoped_text struct text why = { 0 };

	source->told_outage_ms = clock_ms();
	if (source_tell_away(source, &why) && !why.broken)
		log_event_meet(&source->outage, "kafka", LOG_LEVEL_ERROR, NULL,
			       "%.*s", (int)why.size - 1, why.data);
}

static void begin_outage(struct source *source)
{
	int64_t since_ms = source->answered_at_ms != 0
				   ? source->answered_at_ms
				   : source->unanswered_since_ms;

	forget_old_words(source);
	atomic_store(&source->connected, false);
	numbers_kafka_connected_set(source->options.numbers, false);
	source_publish(source); /* the lags that aren't known now */
	atomic_store(&source->away_since_ms, since_ms);
	tell_outage(source);
}

void source_judge_contact(struct source *source)
{
	if (atomic_load(&source->away_since_ms) != 0) {
		if (clock_ms() - source->told_outage_ms >= TELL_AGAIN_MS)
			tell_outage(source);
	} else if (source->unanswered_since_ms != 0 &&
		   clock_ms() - source->unanswered_since_ms >= AWAY_AFTER_MS) {
		begin_outage(source);
	}
}

/* ---- asking ---- */

/* What has no answer is said by librdkafka itself, in negative numbers. */
static bool is_answer(rd_kafka_event_t *event)
{
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);

	return error >= RD_KAFKA_RESP_ERR_NO_ERROR ||
	       error == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
}

static void take_answer(struct source *source)
{
	rd_kafka_event_t *event = rd_kafka_queue_poll(source->contacts, 0);
	bool answered;

	if (event == NULL)
		return;
	answered = is_answer(event);
	rd_kafka_event_destroy(event);
	source->asking = false;
	source->ask_contact_at_ms = clock_ms() + ASK_AGAIN_MS;
	if (answered)
		source_note_answer(source);
}

static void ask(struct source *source)
{
	if (source->contacts == NULL)
		source->contacts = source_make_queue(source);
	source_note_question(source);
	source->asking = true;
	kafka_policy_ask(source->rk, source->topics[0].name, ANSWER_MS,
			 source->contacts);
}

/* A question that failed before couldn't be asked again. */
static void forgive_silence(struct source *source)
{
	if (!source->asking &&
	    clock_ms() - source->kept_contact_at_ms >= KEPT_MS)
		source->unanswered_since_ms = 0;
	source->kept_contact_at_ms = clock_ms();
}

void source_keep_contact(struct source *source)
{
	if (source->asking)
		take_answer(source);
	forgive_silence(source);
	if (!source->asking && clock_ms() >= source->ask_contact_at_ms &&
	    clock_ms() - source->answered_at_ms >= ASK_AFTER_MS)
		ask(source);
	source_judge_contact(source);
}

/* ---- Threads: any ---- */

bool source_is_connected(struct source *source)
{
	return atomic_load(&source->connected);
}

bool source_tell_away(struct source *source, struct text *why)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&source->mutex);
	int64_t since_ms = atomic_load(&source->away_since_ms);

	(void)held;
	if (since_ms == 0)
		return false;
	text_addf(why,
		  "Kafka has been away for %lld s: %s; look at the brokers, at "
		  "the network, and at kafka.brokers and kafka.properties "
		  "(user, password, certificates)\n",
		  (long long)((clock_ms() - since_ms) / 1000),
		  source->last_words[0] == '\0'
			  ? "no broker answers, and no connection fails: it "
			    "is frozen, or the network drops what is sent"
			  : source->last_words);
	return true;
}
