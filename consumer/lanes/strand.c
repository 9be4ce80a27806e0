/* A short list: a lane has a handful of partitions. */
#include "strand.h"

#include <stdlib.h>

struct strand *strands_find(struct strands *strands,
			    const struct address *address)
{
	struct strand *strand = strands->first;

	while (strand != NULL &&
	       (strand->address.partition != address->partition ||
		strand->address.epoch != address->epoch))
		strand = strand->next;
	return strand;
}

struct strand *strands_add(struct strands *strands,
			   const struct address *address, const char *group,
			   const struct once_position *position)
{
	struct strand *strand = calloc(1, sizeof(*strand));

	if (strand == NULL)
		return NULL;
	strand->address = *address;
	strand->position.group = group;
	strand->position.topic = address->topic;
	strand->position.partition = address->number;
	strand->position.next_offset = position->next_offset;
	strand->position.attempts = position->attempts;
	strand->position.tenure = position->tenure;
	strand->log_generation = position->log_generation;
	strand->next = strands->first;
	strands->first = strand;
	return strand;
}

struct parcel *strands_remove(struct strands *strands, struct strand *strand)
{
	struct strand **link = &strands->first;
	struct parcel *parcel = strand->parcel;

	while (*link != strand)
		link = &(*link)->next;
	*link = strand->next;
	log_event_forget(&strand->waiting);
	free(strand);
	return parcel;
}

void strands_rotate(struct strands *strands)
{
	struct strand *first = strands->first;
	struct strand **link = &strands->first;

	if (first == NULL || first->next == NULL)
		return;
	strands->first = first->next;
	while (*link != NULL)
		link = &(*link)->next;
	*link = first;
	first->next = NULL;
}

bool strand_is_ready(const struct strand *strand, int64_t now_ms)
{
	return strand->parcel != NULL && !strand->halted &&
	       strand->not_before_ms <= now_ms;
}
