/* Orders of the source, obeyed between two batches: so nothing that is dropped
 * is ever in flight. */
#include "lane_work.h"

#include "log_event.h"

#include <stdio.h>
#include <stdlib.h>

void lane_work_report(struct lane_work *work, enum report_kind kind,
		      const struct address *address, struct parcel *parcel,
		      int64_t next_offset, const char *reason)
{
	struct report *report = calloc(1, sizeof(*report));

	if (report == NULL)
		abort(); /* the source would wait for it for ever */
	report->kind = kind;
	report->address = *address;
	report->parcel = parcel;
	report->next_offset = next_offset;
	if (reason != NULL)
		snprintf(report->reason, sizeof(report->reason), "%s", reason);
	mailbox_put(work->options->reports, report);
}

static void free_order(struct order *order)
{
	free(order->offsets);
	free(order);
}

/* ---- openings ---- */

static void add_opening(struct lane_work *work, struct order *order)
{
	struct order **link = &work->openings;

	while (*link != NULL)
		link = (struct order **)&(*link)->mail.next;
	order->mail.next = NULL;
	*link = order;
}

static struct order *next_opening(const struct order *order)
{
	return (struct order *)order->mail.next;
}

void lane_work_forget_orders(struct lane_work *work)
{
	while (work->openings != NULL) {
		struct order *order = work->openings;

		work->openings = next_opening(order);
		free_order(order);
	}
}

/* What is known of the log stays true. */
static void forget_openings(struct lane_work *work,
			    const struct address *address)
{
	struct order **link = &work->openings;

	while (*link != NULL) {
		struct order *order = *link;

		if (order->address.partition != address->partition ||
		    order->kind == ORDER_DISOWN) {
			link = (struct order **)&order->mail.next;
			continue;
		}
		*link = next_opening(order);
		free_order(order);
	}
}

static enum once_status ask_position(struct lane_work *work,
				     const struct order *order,
				     struct once_position *ret_position,
				     struct once_error *err)
{
	const char *group = work->options->cfg->kafka.group;
	const struct address *address = &order->address;
	enum once_status status = ONCE_OK;

	if (order->kind == ORDER_CREATE)
		status = once_session_create_positions(
			work->session, group, address->topic, order->offsets,
			order->offset_count, err);
	if (status == ONCE_OK)
		status = once_session_take_position(
			work->session, group, address->topic, address->number,
			ret_position, err);
	return status;
}

/* A partition that is opened again has one, without a parcel. */
static struct parcel *forget_strand(struct lane_work *work,
				    const struct address *address)
{
	struct strand *strand = strands_find(&work->strands, address);

	return strand == NULL ? NULL : lane_work_remove(work, strand);
}

static void add_strand(struct lane_work *work, const struct address *address,
		       const struct once_position *position)
{
	struct strand *strand =
		strands_add(&work->strands, address,
			    work->options->cfg->kafka.group, position);

	if (strand == NULL)
		abort(); /* the partition would stand still for ever */
	if (!position->crashed)
		return;
	/* About as many as may have been on their way when it died: behind more
	 * known ones it dies once more, with the position moved. */
	strand->careful =
		PARCEL_MOST_BATCHES * work->options->cfg->batch.max_messages;
	if (work->options->prefilter == NULL)
		strand->careful /= PARCEL_MOST_BATCHES;
	log_often("crashed reader", LOG_OFTEN, LOG_LEVEL_WARNING,
		  LOG_FIELDS(LOG_TEXT("topic", address->topic),
			     LOG_NUMBER("partition", address->number)),
		  "its last reader has died; taking the next %zu messages "
		  "one at a time",
		  strand->careful);
}

static void report_opened(struct lane_work *work, const struct address *address,
			  const struct once_position *position)
{
	struct report *report = calloc(1, sizeof(*report));
	struct parcel *parcel = forget_strand(work, address);

	if (report == NULL)
		abort(); /* see add_strand() */
	if (position->next_offset >= 0)
		add_strand(work, address, position);
	report->kind = REPORT_OPENED;
	report->address = *address;
	report->parcel = parcel;
	report->position = *position;
	mailbox_put(work->options->reports, report);
}

static enum once_status disown(struct lane_work *work,
			       const struct order *order,
			       struct once_error *err)
{
	const struct address *address = &order->address;

	return once_session_disown_log(
		work->session, work->options->cfg->kafka.group, address->topic,
		address->number, order->next_offset, err);
}

static enum once_status open_one(struct lane_work *work,
				 const struct order *order,
				 struct once_error *err)
{
	struct once_position position;
	enum once_status status;

	if (order->kind == ORDER_DISOWN)
		return disown(work, order, err);
	if (order->kind == ORDER_NAME)
		return once_session_name_log(
			work->session, work->options->cfg->kafka.group,
			order->address.topic, order->address.number,
			order->log_id, err);
	status = ask_position(work, order, &position, err);
	if (status == ONCE_OK)
		report_opened(work, &order->address, &position);
	return status;
}

enum once_status lane_work_open(struct lane_work *work, struct once_error *err)
{
	while (work->openings != NULL) {
		struct order *order = work->openings;
		enum once_status status = open_one(work, order, err);

		if (status != ONCE_OK)
			return status;
		work->openings = next_opening(order);
		free_order(order);
	}
	return ONCE_OK;
}

/* ---- a new session ---- */

static enum once_status verify(struct lane_work *work, struct strand *strand,
			       struct once_error *err)
{
	struct address address = strand->address;
	struct once_position position;
	enum once_status status = once_session_read_position(
		work->session, work->options->cfg->kafka.group, address.topic,
		address.number, &position, err);

	if (status != ONCE_OK ||
	    position.next_offset == strand->position.next_offset)
		return status;
	log_often("position moved", LOG_OFTEN, LOG_LEVEL_WARNING,
		  LOG_FIELDS(LOG_TEXT("topic", address.topic),
			     LOG_NUMBER("partition", address.number)),
		  "the database's position is %lld, ours was %lld; reading "
		  "from there",
		  (long long)position.next_offset,
		  (long long)strand->position.next_offset);
	lane_work_report(work, REPORT_LOST, &address,
			 lane_work_remove(work, strand), -1, NULL);
	return ONCE_OK;
}

enum once_status lane_work_verify(struct lane_work *work,
				  struct once_error *err)
{
	struct strand *strand = work->strands.first;

	while (strand != NULL) {
		struct strand *next = strand->next;
		enum once_status status = verify(work, strand, err);

		if (status != ONCE_OK)
			return status;
		strand = next;
	}
	return ONCE_OK;
}

/* ---- parcels ---- */

static void take_parcel(struct lane_work *work, const struct address *address,
			struct parcel *parcel)
{
	struct strand *strand = strands_find(&work->strands, address);

	if (strand == NULL) {
		lane_work_report(work, REPORT_LOST, address, parcel, -1, NULL);
		return;
	}
	strand->parcel = parcel;
	strand->at = 0;
}

static void drop(struct lane_work *work, const struct address *address)
{
	struct parcel *parcel = NULL;
	struct strand *strand;

	forget_openings(work, address);
	lane_work_forget_unsettled(work);
	strand = strands_find(&work->strands, address);
	if (strand != NULL)
		parcel = lane_work_remove(work, strand);
	lane_work_report(work, REPORT_DROPPED, address, parcel, -1, NULL);
}

void lane_work_obey(struct lane_work *work, struct order *order)
{
	switch (order->kind) {
	case ORDER_OPEN:
	case ORDER_CREATE:
	case ORDER_DISOWN:
	case ORDER_NAME:
		add_opening(work, order);
		return;
	case ORDER_HANDLE:
		take_parcel(work, &order->address, order->parcel);
		break;
	case ORDER_DROP:
		drop(work, &order->address);
		break;
	case ORDER_STOP:
		return; /* the lane's own, never freed */
	}
	free_order(order);
}
