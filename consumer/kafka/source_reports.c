/* What lanes say. A report from an older assignment only brings its parcel
 * home. */
#include "source_impl.h"

#include "clock.h"
#include "log.h"

#include <stdlib.h>

/* Until Kafka has taken it, what it says is old. */
static void rewind_offset(struct source *source,
			  struct source_partition *partition, int64_t offset)
{
	source_rewind_offset(source, partition, offset);
	partition->committed_next = -1;
	partition->sent_next = -1;
}

static void take_opened(struct source *source,
			struct source_partition *partition,
			const struct once_position *position)
{
	partition->busy = false; /* what its lane had came home with this */
	partition->topic_known = position->topic_known != 0;
	if (position->next_offset < 0) {
		partition->retry_at_ms = 0;
		partition_enter(partition, PARTITION_RESOLVING);
		return;
	}
	if (partition->first_next < 0 ||
	    position->next_offset < partition->first_next)
		partition->first_next = position->next_offset;
	if (position->next_offset < partition->committed_next)
		rewind_offset(source, partition, position->next_offset);
	partition->fetch_next = position->next_offset;
	partition->handled_next = position->next_offset;
	partition->opened_next = partition->state == PARTITION_CREATING
					 ? -1
					 : position->next_offset;
	source_start_proof(partition, position);
	source_expect_identity(source, partition, position);
	partition_enter(partition, PARTITION_READY);
}

static void take_lost(struct source *source, struct source_partition *partition)
{
	partition->busy = false;
	if (partition->state == PARTITION_RUNNING ||
	    partition->state == PARTITION_READY)
		source_open(source, partition);
}

static void take_handled(struct source *source,
			 struct source_partition *partition,
			 const struct report *report)
{
	partition->handled_next = report->next_offset;
	if (report->parcel == NULL) {
		partition->busy_since_ms = clock_ms();
		return;
	}
	partition->busy = false;
	source_fit_parcel(source, partition, report->parcel->count);
}

static void take_report(struct source *source, const struct report *report)
{
	struct source_partition *partition = report->address.partition;

	if (report->address.epoch != partition->epoch)
		return;
	switch (report->kind) {
	case REPORT_OPENED:
		if (partition_is_opening(partition))
			take_opened(source, partition, &report->position);
		break;
	case REPORT_HANDLED:
		take_handled(source, partition, report);
		break;
	case REPORT_LOST:
		take_lost(source, partition);
		break;
	case REPORT_HALTED:
		if (partition_is_held(partition))
			source_halt(source, partition, report->reason);
		break;
	case REPORT_DROPPED:
		partition->busy = false;
		if (partition->state == PARTITION_DROPPING)
			partition_enter(partition, PARTITION_IDLE);
		break;
	}
}

void source_take_reports(struct source *source)
{
	struct mail *mail = mailbox_take(&source->reports, 0);

	while (mail != NULL) {
		struct report *report = (struct report *)mail;

		mail = mail->next;
		take_report(source, report);
		source_free_parcel(source, &report->address, report->parcel);
		free(report);
	}
}
