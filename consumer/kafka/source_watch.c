/*
 * A partition that has data and gets none, without any error: some batches that
 * can't be decoded make no event. The end that the last fetch told doesn't show
 * it, for an open transaction holds its messages back; so the broker is asked,
 * which answers with the last stable offset. Rarely, and one at a time: asking
 * waits.
 */
#include "source_impl.h"

#include "clock.h"
#include "kafka_range.h"
#include "log.h"

#include <stdio.h>

enum {
	STILL_MS = 5000,
	ASK_EVERY_MS = 1000, /* all partitions together */
	ASK_TIMEOUT_MS = 500,
	TRY_AGAIN_MS = 3000,     /* to commit, where that is denied */
	TOO_LARGE_FOR_MS = 60000 /* librdkafka repeats it each 30 s */
};

/* ---- does it move? ---- */

/* Offsets that nobody handles are passed, too. */
static int64_t position_of(struct source *source,
			   const struct source_partition *partition)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	int64_t offset = -1;

	rd_kafka_topic_partition_list_add(list, partition->topic,
					  partition->number);
	if (rd_kafka_position(source->rk, list) == RD_KAFKA_RESP_ERR_NO_ERROR)
		offset = list->elems[0].offset;
	rd_kafka_topic_partition_list_destroy(list);
	return offset > partition->fetch_next ? offset : partition->fetch_next;
}

static void set_watched(struct source_partition *partition,
			enum partition_watched watched)
{
	if (watched == PARTITION_FLOWS &&
	    (partition->watched == PARTITION_STALLED ||
	     partition->watched == PARTITION_SILENT ||
	     partition->watched == PARTITION_DENIED))
		log_info(PARTITION_FIELDS(partition), "it moves again");
	partition->watched = watched;
}

static void note_moved(struct source_partition *partition, int64_t at)
{
	if (at != partition->watched_at ||
	    partition->watched == PARTITION_SILENT)
		set_watched(partition, PARTITION_FLOWS);
	partition->watched_at = at;
	partition->still_since_ms = clock_ms();
}

static bool are_answers_too_large(const struct source *source)
{
	return source->too_large_at_ms != 0 &&
	       clock_ms() - source->too_large_at_ms < TOO_LARGE_FOR_MS;
}

/* By the end that the last fetch told. Where all are too large since, none
 * has. */
static bool lacks_data(struct source *source,
		       const struct source_partition *partition, int64_t at)
{
	int64_t first;
	int64_t end;

	if (are_answers_too_large(source))
		return true;
	if (rd_kafka_get_watermark_offsets(source->rk, partition->topic,
					   partition->number, &first, &end) !=
		    RD_KAFKA_RESP_ERR_NO_ERROR ||
	    end < 0)
		return false;
	return end > at || end < partition->handled_next;
}

/* What made it stall is gone, such as by retention; nothing will come. */
static bool has_all(struct source *source,
		    const struct source_partition *partition, int64_t at)
{
	int64_t first;
	int64_t end;

	return !are_answers_too_large(source) &&
	       rd_kafka_get_watermark_offsets(
		       source->rk, partition->topic, partition->number, &first,
		       &end) == RD_KAFKA_RESP_ERR_NO_ERROR &&
	       end >= 0 && end <= at && end >= partition->handled_next;
}

static bool is_still(struct source *source, struct source_partition *partition)
{
	int64_t at;

	if (partition->state != PARTITION_RUNNING || partition->busy ||
	    partition->absent || partition->unidentified ||
	    partition->ahead != NULL || partition->resting) {
		partition->still_since_ms = clock_ms();
		return false;
	}
	at = position_of(source, partition);
	if (at != partition->watched_at || !lacks_data(source, partition, at))
		note_moved(partition, at);
	if (partition->watched == PARTITION_STALLED &&
	    has_all(source, partition, at))
		set_watched(partition, PARTITION_FLOWS);
	if (partition->watched == PARTITION_DENIED)
		partition->still_since_ms = clock_ms();
	return clock_ms() - partition->still_since_ms > STILL_MS;
}

/* ---- why not? ---- */

static void note_stalled(struct source *source,
			 struct source_partition *partition, int64_t end)
{
	bool again = partition->watched == PARTITION_STALLED;

	set_watched(partition, PARTITION_STALLED);
	if (end < partition->handled_next)
		snprintf(partition->why, sizeof(partition->why),
			 "its log ends at %lld, before its position %lld: the "
			 "topic was made again, or its log was cut; stop the "
			 "group, run: onced seek --topic %s --partition %d "
			 "--to earliest, and start it again",
			 (long long)end, (long long)partition->handled_next,
			 partition->topic, (int)partition->number);
	else
		snprintf(partition->why, sizeof(partition->why),
			 "it stalls at offset %lld: Kafka has data up to %lld, "
			 "and nothing comes; if the batch there can't be "
			 "repaired, stop the group, run: onced seek --topic %s "
			 "--partition %d --to OFFSET, with one behind it, and "
			 "start it again",
			 (long long)partition->watched_at, (long long)end,
			 partition->topic, (int)partition->number);
	if (again)
		return;
	log_error(PARTITION_FIELDS(partition), "%s", partition->why);
	source_open(source, partition); /* once: it may be ours */
}

/* A broker that hangs makes no error of its own for a minute. What answers
 * meanwhile are others: this is of the partition alone. */
static void note_no_answer(struct source_partition *partition,
			   rd_kafka_resp_err_t error)
{
	if (partition->watched == PARTITION_SILENT ||
	    partition->watched == PARTITION_STALLED)
		return;
	set_watched(partition, PARTITION_SILENT);
	snprintf(partition->why, sizeof(partition->why),
		 "Kafka has more than offset %lld, nothing comes, and its "
		 "broker doesn't say why: it doesn't answer (%s)",
		 (long long)partition->watched_at, rd_kafka_err2str(error));
	log_warning(PARTITION_FIELDS(partition), "%s", partition->why);
}

static void judge(struct source *source, struct source_partition *partition,
		  int64_t end)
{
	if (partition->watched == PARTITION_SILENT) {
		/* It has just come back; what it has is on its way. */
		set_watched(partition, PARTITION_FLOWS);
	} else if (end > partition->watched_at ||
		   end < partition->handled_next) {
		note_stalled(source, partition, end);
	} else if (partition->watched != PARTITION_HELD_BACK) {
		set_watched(partition, PARTITION_HELD_BACK);
		log_info(PARTITION_FIELDS(partition),
			 "held back at offset %lld by an open transaction of a "
			 "producer",
			 (long long)end);
	}
}

/* It is this one's or another's of the same broker: the answer was for all. */
static void note_too_large(const struct source *source,
			   struct source_partition *partition)
{
	char least[64] = "a larger value";

	if (partition->watched == PARTITION_STALLED)
		return;
	set_watched(partition, PARTITION_STALLED);
	if (source->too_large_bytes > 0)
		snprintf(least, sizeof(least), "%zu or more",
			 source->too_large_bytes);
	snprintf(partition->why, sizeof(partition->why),
		 "nothing comes from offset %lld on: what Kafka has there, or "
		 "in another partition of this broker, is more than may be "
		 "received at once; write receive.message.max.bytes=%s under "
		 "kafka.properties, and restart",
		 (long long)partition->watched_at, least);
	log_error(PARTITION_FIELDS(partition), "%s", partition->why);
}

/* A broker whose answers are too large may answer nothing else. */
static void judge_large(struct source *source,
			struct source_partition *partition,
			rd_kafka_resp_err_t error, int64_t end)
{
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR || end > partition->watched_at)
		note_too_large(source, partition);
	else if (end >= partition->handled_next)
		set_watched(partition, PARTITION_FLOWS); /* it has all */
}

/* Who doesn't answer keeps the source from all its work meanwhile: others are
 * asked later. */
static void ask_why(struct source *source, struct source_partition *partition)
{
	int64_t end = -1;
	rd_kafka_resp_err_t error;

	partition->still_since_ms = clock_ms();
	error = kafka_ask_end(source->rk, partition->topic, partition->number,
			      ASK_TIMEOUT_MS, &end);
	partition->still_since_ms = clock_ms();
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		source->ask_after_ms = clock_ms() + STILL_MS;
	if (are_answers_too_large(source))
		judge_large(source, partition, error, end);
	else if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		judge(source, partition, end);
	else
		note_no_answer(partition, error);
}

/* ---- may it be read? ---- */

/* The library tells it once, and never that it is over; but who may not read a
 * topic may not commit its offsets either, so that is tried. */
void source_note_denied(struct source_partition *partition)
{
	if (partition->watched == PARTITION_DENIED ||
	    partition->state != PARTITION_RUNNING)
		return;
	partition->watched = PARTITION_DENIED;
	partition->retry_at_ms = clock_ms() + TRY_AGAIN_MS;
	snprintf(partition->why, sizeof(partition->why),
		 "Kafka doesn't let this user read it; grant READ on the "
		 "topic \"%s\"",
		 partition->topic);
	log_error(PARTITION_FIELDS(partition), "%s", partition->why);
}

void source_note_allowed(struct source_partition *partition)
{
	if (partition->watched == PARTITION_DENIED)
		set_watched(partition, PARTITION_FLOWS);
}

static void try_denied(struct source *source,
		       struct source_partition *partition)
{
	if (partition->watched != PARTITION_DENIED ||
	    partition->state != PARTITION_RUNNING ||
	    clock_ms() < partition->retry_at_ms)
		return;
	partition->retry_at_ms = clock_ms() + TRY_AGAIN_MS;
	source_rewind_offset(source, partition,
			     source_ended_next(source, partition));
}

void source_watch_on_timer(struct source *source)
{
	struct source_partition *still = NULL;

	if (clock_ms() - source->watched_at_ms < ASK_EVERY_MS)
		return;
	source->watched_at_ms = clock_ms();
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next) {
		try_denied(source, at);
		if (is_still(source, at) &&
		    (still == NULL ||
		     at->still_since_ms < still->still_since_ms))
			still = at;
	}
	if (still != NULL && clock_ms() >= source->ask_after_ms)
		ask_why(source, still);
}
