/*
 * The message that was handled last isn't in the log, and later ones are. In a
 * log that isn't compacted that can't be: what was handled had been committed,
 * and retention begins at the other end. So it is another log, where at this
 * offset a transaction's marker stands, or an aborted message. Whether it is
 * compacted the broker is asked, one topic at a time, and nothing of the
 * partition is pulled until it has answered.
 */
#include "source_impl.h"

#include "clock.h"
#include "kafka_policy.h"
#include "log.h"
#include "log_event.h"

#include <stdio.h>
#include <string.h>

enum {
	ANSWER_MS = 5000,
	AGAIN_MS = 1000
};

static void halt(struct source *source, struct source_partition *partition)
{
	char what[200];

	snprintf(what, sizeof(what),
		 "the message that was handled last, at offset %lld, isn't in "
		 "it, and without compaction nothing vanishes from the middle "
		 "of a log",
		 (long long)partition->anchor.offset);
	source_halt_other_log(source, partition, what);
}

static void judge(struct source *source, struct source_partition *partition,
		  enum kafka_policy policy)
{
	if (policy == KAFKA_POLICY_WHOLE) {
		halt(source, partition);
		return;
	}
	if (policy == KAFKA_POLICY_HIDDEN)
		log_warning(PARTITION_FIELDS(partition),
			    "could not read the topic's cleanup.policy, so "
			    "whether the topic was made again isn't verified; "
			    "grant DESCRIBE_CONFIGS on the topic");
	source_open_past_anchor(source, partition);
}

static bool waits_for_judgement(const struct source_partition *partition)
{
	return partition->absent && partition->state == PARTITION_RUNNING;
}

static void take_answer(struct source *source)
{
	rd_kafka_event_t *event = rd_kafka_queue_poll(source->policies, 0);
	enum kafka_policy policy;

	if (event == NULL)
		return;
	policy = kafka_policy_take(event);
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next)
		if (policy != KAFKA_POLICY_UNANSWERED &&
		    waits_for_judgement(at) &&
		    strcmp(at->topic, source->policy_of) == 0)
			judge(source, at, policy);
	if (policy == KAFKA_POLICY_UNANSWERED)
		log_often("cleanup.policy", 1, LOG_LEVEL_WARNING,
			  LOG_FIELDS(LOG_TEXT("topic", source->policy_of),
				     LOG_NUMBER("next_ms", AGAIN_MS)),
			  "could not read the topic's cleanup.policy");
	source->policy_of = NULL;
	source->ask_policy_at_ms = clock_ms() + AGAIN_MS;
}

static void ask(struct source *source)
{
	struct source_partition *at = source->partitions;

	while (at != NULL && !waits_for_judgement(at))
		at = at->next;
	if (at == NULL || clock_ms() < source->ask_policy_at_ms)
		return;
	if (source->policies == NULL)
		source->policies = source_make_queue(source);
	source->policy_of = at->topic;
	kafka_policy_ask(source->rk, at->topic, ANSWER_MS, source->policies);
}

void source_judge_absent(struct source *source)
{
	if (source->policy_of != NULL)
		take_answer(source);
	if (source->policy_of == NULL)
		ask(source);
}
