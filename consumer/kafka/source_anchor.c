/*
 * Is this the log that we were in? librdkafka reads on silently in a topic that
 * was deleted and made again, and in a log that was cut. So a partition is read
 * from one message early, from the one that was handled last: another message
 * at its offset means another log. If retention has removed it, that proves
 * nothing; if it is missing in the middle of the log: source_absent.c.
 */
#include "source_impl.h"

#include "kafka_record.h"
#include "log.h"
#include "numbers.h"

#include <stdio.h>

/* NULL: none that says anything. A row that was moved by hand has an anchor
 * from elsewhere. */
static const struct once_anchor *choose_anchor(
	const struct source_partition *partition,
	const struct once_position *position)
{
	const struct once_anchor *witness = &partition->witness;
	const struct once_anchor *anchor = &position->anchor;

	if (witness->offset >= 0 && witness->offset < position->next_offset)
		return witness; /* the database's may be of another log */
	if (anchor->offset < 0 || anchor->offset + 1 != position->next_offset ||
	    anchor->offset == partition->gone_anchor)
		return NULL;
	return anchor;
}

/* A commit of ours makes Kafka know the group again. So what it acknowledges
 * while the log is in doubt is no witness. */
void source_take_witness(struct source_partition *partition,
			 const struct once_anchor *pulled)
{
	if (partition->state == PARTITION_RUNNING && !partition->suspected &&
	    !partition->proving && pulled->offset >= 0)
		partition->witness = *pulled;
}

static void end_proof(struct source_partition *partition)
{
	partition->proving = false;
	partition->absent = false;
	partition->suspected = false;
}

void source_start_proof(struct source_partition *partition,
			const struct once_position *position)
{
	const struct once_anchor *anchor = choose_anchor(partition, position);

	if (anchor == NULL) {
		end_proof(partition);
		return;
	}
	partition->proving = true;
	partition->absent = false;
	partition->anchor = *anchor;
}

void source_keep_anchor(struct source_partition *partition,
			const rd_kafka_message_t *rkm)
{
	kafka_record_anchor(rkm, &partition->pulled);
}

static void note_gone(struct source *source, struct source_partition *partition)
{
	end_proof(partition);
	partition->gone_anchor = partition->anchor.offset;
	partition->witness.offset = -1;
	numbers_anchor_gone(source->options.numbers, partition->topic);
	log_info(PARTITION_FIELDS(partition),
		 "the message handled last, at offset %lld, can't be read any "
		 "more: that this is the same log isn't proven; going on at "
		 "%lld",
		 (long long)partition->anchor.offset,
		 (long long)partition->fetch_next);
}

/* What was handled of the new log has left its anchor in the database. Without
 * a word there, a restart or a rebalance would go on from it. */
void source_halt_other_log(struct source *source,
			   struct source_partition *partition, const char *what)
{
	char why[PARTITION_WHY_SIZE];

	snprintf(why, sizeof(why),
		 "this is another log: %s; the topic was made again, or its "
		 "log was cut; to read it from its beginning, stop the group, "
		 "run: onced seek --topic %s --partition %d --to earliest, and "
		 "start it again",
		 what, partition->topic, (int)partition->number);
	source_halt(source, partition, why);
	if (partition->witness.offset >= 0)
		source_order(partition, ORDER_DISOWN, NULL);
}

static void halt_by_anchor(struct source *source,
			   struct source_partition *partition)
{
	char what[120];

	snprintf(what, sizeof(what),
		 "at offset %lld there is another message than the one that "
		 "was handled",
		 (long long)partition->anchor.offset);
	source_halt_other_log(source, partition, what);
}

bool source_prove(struct source *source, struct source_partition *partition,
		  const rd_kafka_message_t *rkm)
{
	struct once_anchor found;

	if (rkm->offset < partition->anchor.offset)
		return true; /* from before we were moved */
	if (rkm->offset > partition->anchor.offset) {
		partition->absent = true; /* it was in range, and is missing */
		return false;
	}
	kafka_record_anchor(rkm, &found);
	if (!once_anchors_equal(&found, &partition->anchor)) {
		halt_by_anchor(source, partition);
		return false;
	}
	end_proof(partition);
	return true;
}

void source_open_past_anchor(struct source *source,
			     struct source_partition *partition)
{
	note_gone(source, partition);
	source_open(source, partition);
}

void source_suspect(struct source *source, struct source_partition *partition,
		    const char *why)
{
	if (partition->state != PARTITION_RUNNING || partition->suspected)
		return;
	log_warning(
		PARTITION_FIELDS(partition),
		"%s: it may be another log by now; reading what was handled "
		"last again",
		why);
	partition->suspected = true;
	if (!partition->busy)
		source_open(source, partition);
}
