/*
 * From a partition's queue into parcels. Back-pressure is not pulling: a
 * partition whose lane still has a parcel is left alone, but for one message
 * that is looked at because errors come the same way.
 */
#include "source_impl.h"

#include "clock.h"
#include "fault.h"
#include "kafka_range.h"
#include "kafka_record.h"
#include "log_event.h"
#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	AT_FIRST = 20, /* are asked for, while their size isn't known */
	AT_ONCE = 200, /* at most: memory and `max_bytes` are kept by so many */
	SLOW_MS = 100
};

/* ---- errors of a partition ---- */

static const char how_to_seek[] =
	"stop the group, run: onced seek --topic %s --partition %d --to %s, "
	"and start it again";

static void halt_at_range(struct source *source,
			  struct source_partition *partition, int64_t first,
			  int64_t end)
{
	char why[PARTITION_WHY_SIZE];
	int used =
		snprintf(why, sizeof(why),
			 "offset %lld isn't there, Kafka has %lld to %lld%s; ",
			 (long long)partition->fetch_next, (long long)first,
			 (long long)end,
			 partition->fetch_next > end
				 ? ": the topic was made again, or its log "
				   "was cut"
				 : ": what lies between was removed before "
				   "it was handled");

	snprintf(why + used, sizeof(why) - (size_t)used, how_to_seek,
		 partition->topic, (int)partition->number, "earliest");
	source_halt(source, partition, why);
}

/* What is asked for and what is there may be two moments, too. */
static void meet_out_of_range(struct source *source,
			      struct source_partition *partition)
{
	int64_t first;
	int64_t end;

	if (kafka_ask_range(source->rk, partition->topic, partition->number,
			    1000, &first, &end) != RD_KAFKA_RESP_ERR_NO_ERROR) {
		log_often("offset unknown", LOG_OFTEN, LOG_LEVEL_WARNING,
			  PARTITION_FIELDS(partition),
			  "offset %lld isn't there, and Kafka doesn't say "
			  "what is; opening the partition again",
			  (long long)partition_start_offset(partition));
		source_open(source, partition);
	} else if (first > partition->fetch_next ||
		   end < partition->fetch_next) {
		halt_at_range(source, partition, first, end);
	} else if (partition->proving && first > partition->anchor.offset) {
		source_open_past_anchor(source, partition);
	} else if (partition->proving) {
		source_open(source, partition);
	} else {
		source_suspect(source, partition,
			       "its next offset was out of range for a moment");
	}
}

static void halt_unreadable(struct source *source,
			    struct source_partition *partition,
			    const rd_kafka_message_t *rkm)
{
	char why[PARTITION_WHY_SIZE];
	int used = snprintf(why, sizeof(why),
			    "the batch at offset %lld can't be read: %s; "
			    "repair it and restart; or, to go on at the first "
			    "offset behind it, ",
			    (long long)partition->fetch_next,
			    rd_kafka_message_errstr(rkm));

	snprintf(why + used, sizeof(why) - (size_t)used, how_to_seek,
		 partition->topic, (int)partition->number, "OFFSET");
	source_halt(source, partition, why);
}

static bool is_unreadable(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR__BAD_MSG ||
	       error == RD_KAFKA_RESP_ERR__BAD_COMPRESSION ||
	       error == RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED ||
	       error == RD_KAFKA_RESP_ERR__INCONSISTENT ||
	       error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
}

/* What was handled need not be readable any more. */
static void meet_unreadable(struct source *source,
			    struct source_partition *partition,
			    const rd_kafka_message_t *rkm)
{
	if (partition->proving)
		source_open_past_anchor(source, partition);
	else
		halt_unreadable(source, partition, rkm);
}

/* Until 2.13.2 librdkafka counts an error as a message that was read, and an
 * incremental rebalance has it go on from there: behind a message that never
 * came. So it is told again where to read. */
static void read_again(struct source *source,
		       struct source_partition *partition)
{
	if (source->incremental)
		partition_enter(partition, PARTITION_READY);
}

static void meet_error(struct source *source,
		       struct source_partition *partition,
		       const rd_kafka_message_t *rkm)
{
	if (rkm->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
		meet_out_of_range(source, partition);
	else if (is_unreadable(rkm->err))
		meet_unreadable(source, partition, rkm);
	else if (rkm->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
		source_note_denied(partition);
		read_again(source, partition);
	} else {
		log_often("partition error", LOG_OFTEN, LOG_LEVEL_WARNING,
			  PARTITION_FIELDS(partition), "%s",
			  rd_kafka_message_errstr(rkm));
		read_again(source, partition);
	}
}

/* ---- messages ---- */

/* Is it a message, and one that we haven't had? */
static bool is_next(struct source *source, struct source_partition *partition,
		    const rd_kafka_message_t *rkm)
{
	if (rkm->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		meet_error(source, partition, rkm);
		return false;
	}
	if (partition->proving && !source_prove(source, partition, rkm))
		return false;
	return rkm->offset >= partition->fetch_next;
}

static bool may_pull(const struct source_partition *partition)
{
	return partition->state == PARTITION_RUNNING && !partition->absent &&
	       !partition->unidentified &&
	       (!partition->suspected || partition->proving);
}

/* Good messages, at most so many; 0: none now. What is behind an error that
 * stops the partition isn't needed: it will be read again. */
static size_t pull_some(struct source *source,
			struct source_partition *partition,
			rd_kafka_message_t **ret_messages, size_t most)
{
	ssize_t count;
	size_t good = 0;

	if (!may_pull(partition))
		return 0;
	source_check_position(source, partition);
	count = rd_kafka_consume_batch_queue(partition->queue, 0, ret_messages,
					     most);
	for (ssize_t i = 0; i < count; i++) {
		rd_kafka_message_t *rkm = ret_messages[i];

		if (may_pull(partition) && is_next(source, partition, rkm)) {
			partition->fetch_next = rkm->offset + 1;
			partition->believed = true;
			ret_messages[good++] = rkm;
		} else {
			rd_kafka_message_destroy(rkm);
		}
	}
	return good;
}

/* One block: the deliveries, and behind them all their headers. */
static struct parcel *make_parcel(const struct source_partition *partition,
				  rd_kafka_message_t *const *pulled,
				  size_t count)
{
	struct parcel *parcel;
	struct once_header *headers;
	size_t header_count = 0;
	size_t size = sizeof(*parcel) + count * sizeof(struct delivery);

	for (size_t i = 0; i < count; i++)
		header_count += kafka_record_count_headers(pulled[i]);
	parcel = malloc(size + header_count * sizeof(*headers));
	if (parcel == NULL)
		return NULL;
	parcel->count = count;
	parcel->ended = 0;
	headers = (struct once_header *)(void *)&parcel->deliveries[count];
	for (size_t i = 0; i < count; i++) {
		struct delivery *delivery = &parcel->deliveries[i];
		size_t own = kafka_record_count_headers(pulled[i]);

		delivery->owner = pulled[i];
		kafka_record_fill(&delivery->record, partition->topic,
				  pulled[i], headers, own);
		headers += own;
	}
	return parcel;
}

/* How many more a parcel may have, by the size of those that it has. */
static size_t room_for(const struct source *source,
		       const struct source_partition *partition, size_t count,
		       size_t bytes)
{
	size_t room = partition->parcel_size - count;
	size_t most = source->memory.parcel_memory;
	size_t used = bytes + count * KAFKA_MESSAGE_COST;
	size_t fit = AT_FIRST;

	if (bytes >= source->options.cfg->batch.max_bytes || used >= most)
		return 0;
	if (count > 0)
		fit = (most - used) * count / used + 1;
	if (fit > AT_ONCE)
		fit = AT_ONCE;
	return fit < room ? fit : room;
}

/* What was looked at ahead, and what is there. */
static size_t pull_messages(struct source *source,
			    struct source_partition *partition)
{
	rd_kafka_message_t **pulled = source->pulled;
	size_t count = partition->ahead != NULL;
	size_t added = count;
	size_t bytes = 0;

	pulled[0] = partition->ahead;
	partition->ahead = NULL;
	do {
		size_t room;

		for (size_t i = count - added; i < count; i++)
			bytes += pulled[i]->len + pulled[i]->key_len;
		room = room_for(source, partition, count, bytes);
		if (room == 0)
			break;
		added = pull_some(source, partition, pulled + count, room);
		count += added;
	} while (added > 0);
	if (count > 0)
		partition->message_size = bytes / count;
	return count;
}

static void send_parcel(struct source *source,
			struct source_partition *partition)
{
	size_t count = pull_messages(source, partition);
	struct parcel *parcel;

	if (count == 0)
		return;
	parcel = make_parcel(partition, source->pulled, count);
	if (parcel == NULL)
		abort(); /* these messages would be skipped */
	fault_point("after_pull");
	source_keep_anchor(partition, source->pulled[count - 1]);
	partition->busy = true;
	partition->busy_since_ms = clock_ms();
	partition->sent_ms = partition->busy_since_ms;
	parcel->lane = partition->lane;
	parcel->lane->parcels++;
	source->parcels_out++;
	numbers_consumed(source->options.numbers, partition->route,
			 partition->topic, count);
	source_order(partition, ORDER_HANDLE, parcel);
}

/* Errors come on the partition's own queue, behind its messages. */
static void look_ahead(struct source *source,
		       struct source_partition *partition)
{
	rd_kafka_message_t *rkm;

	if (partition->ahead == NULL &&
	    pull_some(source, partition, &rkm, 1) == 1)
		partition->ahead = rkm;
}

/* Errors are met, but by one that is halted. */
static bool is_message(struct source *source,
		       struct source_partition *partition,
		       const rd_kafka_message_t *rkm)
{
	if (partition->state == PARTITION_HALTED)
		return rkm->err == RD_KAFKA_RESP_ERR_NO_ERROR;
	return may_pull(partition) && is_next(source, partition, rkm);
}

void source_drop_queued(struct source *source,
			struct source_partition *partition)
{
	rd_kafka_message_t *pulled[AT_ONCE];
	enum partition_state state = partition->state;
	ssize_t count;

	while (partition->state == state &&
	       (count = rd_kafka_consume_batch_queue(partition->queue, 0,
						     pulled, AT_ONCE)) > 0)
		for (ssize_t i = 0; i < count; i++) {
			if (is_message(source, partition, pulled[i]))
				partition->rested_next = pulled[i]->offset + 1;
			rd_kafka_message_destroy(pulled[i]);
		}
}

/* A lane that ends what it is given at once is given more: for as long as a
 * parcel is on its way, it has nothing of this partition to do. */
void source_fit_parcel(const struct source *source,
		       struct source_partition *partition, size_t count)
{
	size_t least = source->options.cfg->batch.max_messages;
	int64_t took_ms = clock_ms() - partition->sent_ms;

	if (took_ms > SLOW_MS)
		partition->parcel_size = least;
	else if (count == partition->parcel_size &&
		 count < PARCEL_MOST_BATCHES * least)
		partition->parcel_size = 2 * count;
}

static void pull_all(struct source *source)
{
	for (struct source_partition *at = source->partitions; at != NULL;
	     at = at->next) {
		if (at->state != PARTITION_RUNNING || at->absent ||
		    at->unidentified || at->resting)
			continue;
		if (at->busy)
			look_ahead(source, at);
		else if (!may_pull(at))
			source_open(source, at);
		else
			send_parcel(source, at);
	}
}

void source_pull(struct source *source)
{
	size_t parcels_out = source->parcels_out;
	int64_t began_ns = clock_ns();

	pull_all(source);
	if (source->parcels_out > parcels_out)
		numbers_fetch_took(source->options.numbers,
				   clock_ns() - began_ns);
}

void source_free_parcel(struct source *source, const struct address *address,
			struct parcel *parcel)
{
	int64_t began_ns = clock_ns();

	if (parcel == NULL)
		return;
	numbers_returned(source->options.numbers, address->route,
			 address->topic, parcel->count - parcel->ended);
	for (size_t i = 0; i < parcel->count; i++)
		rd_kafka_message_destroy(parcel->deliveries[i].owner);
	parcel->lane->parcels--;
	source->parcels_out--;
	free(parcel);
	numbers_fetch_took(source->options.numbers, clock_ns() - began_ns);
}

void source_forget_ahead(struct source_partition *partition)
{
	if (partition->ahead != NULL)
		rd_kafka_message_destroy(partition->ahead);
	partition->ahead = NULL;
}
